"""A part of the training samples held out, to compare settings without the test part."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets import timeseries
from aleator.benchmark.datasets.split import Split

_SHARE = 5  # one of so many samples, or groups, is held out
_SEED = 0

# Data sets whose test part has other groups, such as subjects, than the training part.
_GROUP_READERS: dict[str, Callable[[Path], np.ndarray]] = {"har": timeseries.har_subjects}


def training_groups(name: str, folder: str | os.PathLike[str]) -> np.ndarray | None:
    """Read the groups of the training samples, which are held out as a whole.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : path-like
        Folder of the data sets.

    Returns
    -------
    groups : ndarray of shape (n_samples,) or None
        A group per training sample; None for data sets that are split at random.

    Examples
    --------
    >>> training_groups("income", "data") is None
    True
    """
    reader = _GROUP_READERS.get(name)
    return None if reader is None else reader(Path(folder))


def hold_out(split: Split, groups: np.ndarray | None = None) -> Split:
    """Split the training part again; the test part is left out.

    Parameters
    ----------
    split : Split
        A data set.
    groups : ndarray of shape (n_samples,) or None, default=None
        Groups of the training samples. A fifth of the groups, rounded up, is held out. None holds
        out a fifth of the samples of every class.

    Returns
    -------
    split : Split
        Four fifths of the training part, and the held-out fifth in place of the test part. It is
        the same in every call.

    Examples
    --------
    >>> X, y = np.arange(20)[:, None], np.repeat([0, 1], 10)
    >>> held_out = hold_out(Split(X, y, X, y))
    >>> len(held_out.X_train), np.bincount(held_out.y_test).tolist()
    (16, [2, 2])
    """
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(split.y_train))
    if groups is None:
        _, held_out = train_test_split(
            rows, test_size=1 / _SHARE, random_state=_SEED, stratify=split.y_train
        )
    else:
        names = np.unique(groups)
        count = math.ceil(len(names) / _SHARE)
        chosen = np.random.default_rng(_SEED).choice(names, count, replace=False)
        held_out = np.flatnonzero(np.isin(groups, chosen))
    held_out = np.sort(held_out)  # samples without a label stay last
    kept = np.setdiff1d(rows, held_out)
    return Split(
        split.X_train[kept], split.y_train[kept], split.X_train[held_out], split.y_train[held_out]
    )
