"""The paper's data sets: read from a folder as published, or made up in the same shapes.

`load` wants a folder holding the files that each data set's publisher distributes, or a packed copy
of them. `generated` makes random data of the paper's shapes, on which speed can be measured by
anyone; `small` makes a little data set of the same kind that can be learned.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets import images, mimic3, physionet2012, series, tables
from aleator.benchmark.datasets.cache import through_cache
from aleator.benchmark.datasets.catalogue import DOMAINS, SOURCES, Source
from aleator.benchmark.datasets.split import UNLABELLED, Split
from aleator.benchmark.datasets.standins import generated, small

__all__ = ["SOURCES", "Source", "Split", "data_folder", "domains", "generated", "load", "small"]

_READERS: dict[str, Callable[[Path], Split]] = {
    "har": series.har,
    "epilepsy": series.epilepsy,
    "mimic3": mimic3.mimic3,
    **{name: partial(series.fault, name=name) for name in DOMAINS["fault"]},
    "income": tables.income,
    "theorem": tables.theorem,
    "hepmass": tables.hepmass,
    "kvasir": images.kvasir,
    "cifar10": images.cifar10,
    "kvasir-v1": images.kvasir_v1,
    "physionet2012": physionet2012.physionet2012,
}


def domains(name: str) -> list[str]:
    """The data sets that are the domains of one, for transfer between them.

    >>> domains("fault")
    ['fault-a', 'fault-b', 'fault-c', 'fault-d']
    """
    if name not in DOMAINS:
        raise ValueError(f"{name!r} has no domains; these have: {', '.join(DOMAINS)}")
    return list(DOMAINS[name])


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the data sets: the one that is given, else the one that `ALEATOR_DATA` names.

    >>> data_folder("data").name
    'data'
    """
    named = folder or os.environ.get("ALEATOR_DATA")
    if not named:
        raise ValueError(
            "name the folder of the data sets with --data FOLDER or ALEATOR_DATA=FOLDER"
        )
    return Path(named)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Split:
    """Read a data set from `folder`, by default the one that `ALEATOR_DATA` names."""
    if name in DOMAINS:
        raise ValueError(f"{name!r} has several domains; name one: {', '.join(DOMAINS[name])}")
    if name not in _READERS:
        raise ValueError(f"there is no data set {name!r}; known: {', '.join(_READERS)}")
    source, path = SOURCES[name], data_folder(folder)

    def read() -> Split:
        split = _READERS[name](path)
        _check(source, split, path)
        return split

    return through_cache(name, source.paths(path), read)


def _check(source: Source, split: Split, folder: Path) -> None:
    """Refuse what is not the data set: other counts, shapes, classes, or values missing."""
    classes, counts = np.unique(split.y_train[split.y_train != UNLABELLED], return_counts=True)
    if (
        {split.X_train.shape[1:], split.X_test.shape[1:]} != {source.shape}
        or (len(split.X_train), len(split.X_test)) != (source.train, source.test)
        or (len(split.y_train), len(split.y_test)) != (source.train, source.test)
        or len(classes) != source.classes
    ):
        raise ValueError(
            f"{source.title} should have {source.train} + {source.test} samples of shape "
            f"{source.shape} in {source.classes} classes; the files in {folder} give "
            f"{split.X_train.shape} and {split.X_test.shape} with {len(split.y_train)} and "
            f"{len(split.y_test)} labels in {len(classes)} classes: are they complete?"
        )
    if source.balanced and len(set(counts)) > 1:
        raise ValueError(
            f"{source.title} has as many samples of every class; the files in {folder} have from "
            f"{counts.min()} to {counts.max()} to train on: were they altered?"
        )
    for X in (split.X_train, split.X_test):
        if isinstance(X, np.ndarray) and not np.isfinite(X).all():
            raise ValueError(
                f"{source.title} has no missing values, but the files in {folder} do: were they "
                "altered?"
            )
