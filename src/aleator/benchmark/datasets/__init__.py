"""The paper's data sets: read from a folder as published, or generated in the same shapes.

`load` wants a folder holding the files that each data set's publisher distributes, or a packed copy
of them. `generated` makes random data of the paper's shapes, on which speed can be measured by
anyone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets import images, series, tables
from aleator.benchmark.datasets.catalogue import SOURCES, Source
from aleator.benchmark.datasets.split import Split

__all__ = ["SOURCES", "Source", "Split", "generated", "load"]

_READERS: dict[str, Callable[[Path], Split]] = {
    "har": series.har,
    "epilepsy": series.epilepsy,
    "income": tables.income,
    "theorem": tables.theorem,
    "hepmass": tables.hepmass,
    "kvasir": images.kvasir,
    "kvasir-v1": images.kvasir_v1,
    "cifar10": images.cifar10,
}


def generated(name: str, seed: int = 0) -> Split:
    """Random data of a data set's shape.

    >>> generated("theorem").X_train.shape
    (3059, 51)
    """
    source = SOURCES[name]
    random = np.random.default_rng(seed)
    X = random.random((source.train + source.test, *source.shape), dtype=np.float32)
    y = random.integers(source.classes, size=source.train + source.test)
    return Split(X[: source.train], y[: source.train], X[source.train :], y[source.train :])


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Split:
    """Read a data set from `folder`, by default the one that `ALEATOR_DATA` names."""
    if name not in _READERS:
        raise ValueError(f"there is no reader for {name!r} yet; known: {', '.join(_READERS)}")
    folder = folder or os.environ.get("ALEATOR_DATA")
    if folder is None:
        raise ValueError(f"to read {name}, name its folder: --data FOLDER or ALEATOR_DATA=FOLDER")
    source, split = SOURCES[name], _READERS[name](Path(folder))
    _check_counts(source, split, Path(folder))
    return split


def _check_counts(source: Source, split: Split, folder: Path) -> None:
    shapes = split.X_train.shape[1:], split.X_test.shape[1:]
    rows = len(split.X_train), len(split.X_test)
    labels = len(split.y_train), len(split.y_test)
    classes = len(np.unique(split.y_train))
    if (
        set(shapes) != {source.shape}
        or rows != (source.train, source.test)
        or labels != rows
        or classes != source.classes
    ):
        raise ValueError(
            f"{source.title} should have {source.train} + {source.test} samples of shape "
            f"{source.shape} in {source.classes} classes; the files in {folder} give "
            f"{split.X_train.shape} and {split.X_test.shape}, {classes} classes: are they complete?"
        )
