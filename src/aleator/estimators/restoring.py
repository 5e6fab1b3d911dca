"""Fitted estimators made from saved models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aleator import serialization
from aleator.estimators.base import RepresentationLearner
from aleator.estimators.network_specs import NetworkContext
from aleator.inputs import InputAdapter, restore_adapter
from aleator.modalities import modality_of, stored_layout
from aleator.training.local_randomness import LocalRandomness


def restored_estimator(
    cls: type[RepresentationLearner],
    saved: serialization.SavedModel,
    networks: Mapping[str, Any],
) -> RepresentationLearner:
    """Make a fitted estimator from a saved model.

    Parameters
    ----------
    cls : type
        Class of the estimator.
    saved : SavedModel
        What the folder holds.
    networks : mapping of str to module or list of modules
        Networks of the user, which a model folder does not hold.

    Returns
    -------
    RepresentationLearner
    """
    made = cls(**saved.parameters)
    layout = stored_layout(saved.adapter)
    adapter = restore_adapter(layout, cls.__name__, saved.adapter, saved.arrays)
    if isinstance(adapter, InputAdapter) and "feature_names_in_" in saved.common_attributes:
        adapter.names = saved.common_attributes["feature_names_in_"].tolist()
    context = NetworkContext(
        modality_of(adapter), adapter.shape, {**saved.attributes}, saved.counts
    )

    def build(name: str) -> Any:
        return cls._networks[name].build(made, context)

    with LocalRandomness(0):  # all weights are replaced
        attributes = serialization.restored_networks(saved, made, cls._networks, networks, build)
    attributes |= {**saved.attributes, **saved.common_attributes, "adapter_": adapter}
    for name, value in attributes.items():
        setattr(made, name, value)
    return made
