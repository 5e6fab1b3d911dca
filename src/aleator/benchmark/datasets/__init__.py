"""The data sets of the paper.

`load` reads the files that each publisher distributes, or a packed copy of them. `generated` makes
random data of the same shape, to measure speed without files; `small` makes a small data set of the
same kind with classes that can be learned.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets import (
    cwru,
    images,
    mimic3,
    mimic3_demo,
    physionet2012,
    tabular,
    timeseries,
    ucr,
)
from aleator.benchmark.datasets.cache import through_cache
from aleator.benchmark.datasets.catalog import DATASETS, DOMAINS, DatasetInfo
from aleator.benchmark.datasets.held_out import hold_out, training_groups
from aleator.benchmark.datasets.split import UNLABELED, Split
from aleator.benchmark.datasets.synthetic import SMALL_SAMPLES, generated, small

__all__ = [
    "DATASETS",
    "DatasetInfo",
    "SMALL_SAMPLES",
    "Split",
    "data_folder",
    "domains",
    "generated",
    "hold_out",
    "load",
    "small",
    "training_groups",
]

_READERS: dict[str, Callable[[Path], Split]] = {
    "har": timeseries.har,
    "epilepsy": timeseries.epilepsy,
    "har-5881": partial(timeseries.fewer_rows, reader=timeseries.har, count=5881),
    "epilepsy-7360": partial(timeseries.fewer_rows, reader=timeseries.epilepsy, count=7360),
    "mimic3": mimic3.mimic3,
    "mimic3-demo": mimic3_demo.mimic3_demo,
    **{name: partial(timeseries.fault, name=name) for name in DOMAINS["fault"]},
    "income": tabular.income,
    "theorem": tabular.theorem,
    "hepmass": tabular.hepmass,
    "kvasir": images.kvasir,
    "cifar10": images.cifar10,
    "kvasir-v1": images.kvasir_v1,
    "physionet2012": physionet2012.physionet2012,
    **{name: partial(ucr.ucr, name=name) for name in ("gunpoint", "japanese-vowels")},
    **{
        name: partial(cwru.cwru, name=name)
        for group in ("cwru-load", "cwru-size")
        for name in DOMAINS[group]
    },
}


def domains(name: str) -> list[str]:
    """List the domains of a data set, for transfer between them.

    Parameters
    ----------
    name : str
        A data set with several domains.

    Returns
    -------
    names : list of str
        One data set per domain.

    Examples
    --------
    >>> domains("fault")
    ['fault-a', 'fault-b', 'fault-c', 'fault-d']
    """
    if name not in DOMAINS:
        raise ValueError(f"{name!r} has no domains; data sets with domains: {', '.join(DOMAINS)}")
    return list(DOMAINS[name])


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the data sets.

    Parameters
    ----------
    folder : path-like or None, default=None
        The folder; None uses the environment variable ``ALEATOR_DATA``.

    Returns
    -------
    folder : Path
        The folder.

    Examples
    --------
    >>> data_folder("data").name
    'data'
    """
    chosen = folder or os.environ.get("ALEATOR_DATA")
    if not chosen:
        raise ValueError("set the folder of the data sets with --data FOLDER or ALEATOR_DATA")
    return Path(chosen)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Split:
    """Read a data set.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    folder : path-like or None, default=None
        Folder of the data sets; None uses the environment variable ``ALEATOR_DATA``.

    Returns
    -------
    split : Split
        Training and test part.

    Raises
    ------
    ValueError
        If there is no such data set, or the files do not contain it.
    FileNotFoundError
        If a file is missing; the message says where to get it.
    """
    if name in DOMAINS:
        raise ValueError(f"{name!r} has several domains; use one of {', '.join(DOMAINS[name])}")
    if name not in _READERS:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(_READERS)}")
    info, path = DATASETS[name], data_folder(folder)

    def read() -> Split:
        split = _READERS[name](path)
        _check(info, split, path)
        return split

    return through_cache(name, info.paths(path), read)


def _check(info: DatasetInfo, split: Split, folder: Path) -> None:
    """Raise an error for unexpected counts, shapes, classes or missing values."""
    classes, counts = np.unique(split.y_train[split.y_train != UNLABELED], return_counts=True)
    sizes = len(split.X_train), len(split.X_test)
    if (
        {split.X_train.shape[1:], split.X_test.shape[1:]} != {info.shape}
        or (info.train and sizes != (info.train, info.test))
        or (len(split.y_train), len(split.y_test)) != sizes
        or (info.train and len(classes) != info.classes)
    ):
        raise ValueError(
            f"{info.title} must have {info.train} + {info.test} samples of shape "
            f"{info.shape} in {info.classes} classes; the files in {folder} give "
            f"{split.X_train.shape} and {split.X_test.shape} with {len(split.y_train)} and "
            f"{len(split.y_test)} labels in {len(classes)} classes: are they complete?"
        )
    if info.balanced and len(set(counts)) > 1:
        raise ValueError(
            f"{info.title} must have the same number of training samples in every class; the "
            f"files in {folder} have from {counts.min()} to {counts.max()}: were they modified?"
        )
    for X in (split.X_train, split.X_test):
        if isinstance(X, np.ndarray) and not np.isfinite(X).all():
            raise ValueError(
                f"{info.title} must not have missing values, but the files in {folder} do: were "
                "they modified?"
            )
