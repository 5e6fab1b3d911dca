"""Aleator: representations without labels and without augmentations.

>>> import numpy as np
>>> from aleator import LFR
>>> X = np.random.default_rng(0).normal(size=(64, 5))
>>> LFR(epochs=2, embedding_dim=8, random_state=0).fit_transform(X).shape
(64, 8)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aleator.version import __version__

if TYPE_CHECKING:
    from aleator import diversity, evaluation, losses, modalities, networks, views
    from aleator.describing import describe
    from aleator.inputs.audio.source import open_audio
    from aleator.inputs.graphs.source import open_graphs
    from aleator.inputs.images.source import open_images
    from aleator.inputs.series.opening import open_series
    from aleator.inputs.table_files import open_table
    from aleator.loading import load
    from aleator.methods import (
        BYOL,
        DACL,
        DIET,
        LFR,
        SCARF,
        TSTCC,
        Autoencoder,
        LogReg,
        RandomEncoder,
        RandomFeatures,
        SimCLR,
        SimSiam,
        STab,
        Supervised,
    )

__all__ = [
    "Autoencoder", "BYOL", "DACL", "DIET", "LFR", "LogReg", "RandomEncoder", "RandomFeatures",
    "SCARF", "STab", "SimCLR", "SimSiam", "Supervised", "TSTCC", "describe", "load", "open_audio",
    "open_graphs", "open_images", "open_series", "open_table",
    "diversity", "evaluation", "losses", "modalities", "networks", "views",
    "__version__",
]  # fmt: skip

_MODULES = ("diversity", "evaluation", "losses", "modalities", "networks", "views")


def __getattr__(name: str) -> Any:
    # torch and scikit-learn take seconds to import, so they are imported when a name is first used.
    if name not in __all__:
        raise AttributeError(f"module 'aleator' has no attribute {name!r}")
    if name in _MODULES:
        value: Any = import_module(f"aleator.{name}")
    elif name == "load":
        value = import_module("aleator.loading").load
    elif name == "describe":
        value = import_module("aleator.describing").describe
    elif name == "open_audio":
        value = import_module("aleator.inputs.audio.source").open_audio
    elif name == "open_graphs":
        value = import_module("aleator.inputs.graphs.source").open_graphs
    elif name == "open_images":
        value = import_module("aleator.inputs.images.source").open_images
    elif name == "open_series":
        value = import_module("aleator.inputs.series.opening").open_series
    elif name == "open_table":
        value = import_module("aleator.inputs.table_files").open_table
    else:
        value = getattr(import_module("aleator.methods"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
