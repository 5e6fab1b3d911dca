"""An encoder with random weights: the baseline of every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from aleator.estimators import FitContext, RepresentationLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import EncoderSpec, NetworkSpec
from aleator.training.method import Method


@estimator
class RandomEncoder(RepresentationLearner):
    """An encoder with random weights, which any training has to improve on.

    Parameters
    ----------
    {encoder}
    {data}

    Attributes
    ----------
    encoder_ : torch.nn.Module
        The random network, on the CPU.
    {untrained attributes}

    See Also
    --------
    LFR : Trains the same encoder.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import RandomEncoder
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> RandomEncoder(embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    embedding_dim: int | None = None
    encoder: Any = "auto"

    _networks: ClassVar[Mapping[str, NetworkSpec]] = {"encoder": EncoderSpec()}

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        return TrainingSpec(
            Method(networks, phases=[]),
            lambda: {"encoder_": networks["encoder"], **attributes},
        )
