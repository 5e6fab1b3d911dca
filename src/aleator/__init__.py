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
    from aleator import diversity, evaluation, losses, networks, views
    from aleator.estimators import (
        DACL,
        DIET,
        LFR,
        SCARF,
        TSTCC,
        Autoencoder,
        LogReg,
        RandomEncoder,
        SimCLR,
        SimSiam,
        STab,
        Supervised,
    )
    from aleator.modelfiles import load

__all__ = [
    "Autoencoder", "DACL", "DIET", "LFR", "LogReg", "RandomEncoder", "SCARF", "STab", "SimCLR",
    "SimSiam", "Supervised", "TSTCC", "load", "diversity", "evaluation", "losses",
    "networks", "views",
    "__version__",
]  # fmt: skip

# torch and scikit-learn take seconds to import, so a name pulls them in when it is first used.
_HOMES = {
    "Autoencoder": "aleator.estimators",
    "DACL": "aleator.estimators",
    "DIET": "aleator.estimators",
    "LFR": "aleator.estimators",
    "LogReg": "aleator.estimators",
    "RandomEncoder": "aleator.estimators",
    "SCARF": "aleator.estimators",
    "STab": "aleator.estimators",
    "SimCLR": "aleator.estimators",
    "SimSiam": "aleator.estimators",
    "Supervised": "aleator.estimators",
    "TSTCC": "aleator.estimators",
    "load": "aleator.modelfiles",
    "diversity": "aleator.diversity",
    "evaluation": "aleator.evaluation",
    "losses": "aleator.losses",
    "networks": "aleator.networks",
    "views": "aleator.views",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'aleator' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = home if _HOMES[name] == f"aleator.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
