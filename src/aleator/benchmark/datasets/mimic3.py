"""Reader of MIMIC-III, length of stay, as prepared by the programs cited in the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import reading
from aleator.benchmark.datasets.split import UNLABELED, Split

STEPS = 48
_DAY_ENDS = (24, 48, 72, 96, 120, 144, 168, 192, 336)  # hours; the last class has no end


def length_of_stay_class(hours: np.ndarray) -> np.ndarray:
    """Return the class of a length of stay.

    Parameters
    ----------
    hours : ndarray of shape (n_samples,)
        Remaining length of stay.

    Returns
    -------
    classes : ndarray of shape (n_samples,)
        0 to 7 for the first eight days, 8 up to two weeks, 9 for longer stays.

    Examples
    --------
    >>> length_of_stay_class(np.array([3.5, 24.0, 200.0, 1000.0]))
    array([0, 1, 8, 9])
    """
    return np.digitize(hours, _DAY_ENDS).astype(np.int64)


class Windows:
    """Windows of 48 hours that end at given rows of hourly values, padded with zeros in front.

    All windows of MIMIC-III would need 20 GB, so they are made when the object is sliced. It has
    a `shape`, a `dtype` and a length, and supports slicing only.

    Parameters
    ----------
    values : ndarray of shape (n_hours, channels)
        Hourly values of all stays.
    first : ndarray of shape (n_hours,)
        For each row, the first row of its stay.
    rows : ndarray of shape (n_samples,)
        The last row of each window.

    Examples
    --------
    >>> windows = Windows(np.array([[1.0], [2.0], [3.0]]), np.array([0, 0, 2]), np.array([1, 2]))
    >>> windows.shape, windows[0:2][:, 0, -3:].tolist()
    ((2, 1, 48), [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
    """

    dtype = np.dtype(np.float32)

    def __init__(self, values: np.ndarray, first: np.ndarray, rows: np.ndarray) -> None:
        self._values = values.astype(np.float32, copy=False)
        self._first, self._rows = first, rows
        self.shape = (len(rows), values.shape[1], STEPS)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, part: slice) -> np.ndarray:
        rows = self._rows[part, None]
        hours = rows + np.arange(1 - STEPS, 1)
        before = hours < self._first[rows]
        windows = self._values[np.where(before, 0, hours)]
        windows[before] = 0
        return np.ascontiguousarray(windows.transpose(0, 2, 1))


def mimic3(folder: Path) -> Split:
    """Read MIMIC-III: every hour of every stay is a sample of the last 48 hours.

    The first hours of a stay have no label (Harutyunyan et al. 2019). As in the paper, they are
    used for learning without labels. They come last and have the label -1.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        Training and test part; its samples are instances of `Windows`.
    """
    try:
        import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(
            "reading HDF5 needs h5py; install it with pip install 'aleator[bench]'"
        ) from error
    path = DATASETS["mimic3"].find(folder)
    with reading(path), h5py.File(path, "r") as file:
        return Split(*_part(file, "train"), *_part(file, "test"))


def _part(file: Any, part: str) -> tuple[Any, np.ndarray]:
    """Return windows and classes; samples without a label come last."""
    tasks = [t.decode() if isinstance(t, bytes) else str(t) for t in file["labels"].attrs["tasks"]]
    values = file["data"][part][:]
    hours = file["labels"][part][:, tasks.index("los")]
    stays = file["patient_windows"][part][:].astype(np.int64)
    columns = DATASETS["mimic3"].shape[0]
    if values.ndim != 2 or values.shape[1] != columns:
        raise ValueError(f"'data/{part}' has shape {values.shape}; {columns} columns are expected")
    if not np.isfinite(values).all():
        raise ValueError(f"'data/{part}' contains NaN or infinity; is it the scaled file?")
    start, length = stays[:, 0], stays[:, 1] - stays[:, 0] + 1  # the last row belongs to the stay
    contiguous = np.array_equal(np.cumsum(length) - length, start) and (length > 0).all()
    if not contiguous or length.sum() != len(values) or len(hours) != len(values):
        raise ValueError(f"the stays in 'patient_windows/{part}' do not cover 'data/{part}'")
    first = np.repeat(start, length)
    known = ~np.isnan(hours)
    rows = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
    y = np.full(len(rows), UNLABELED, dtype=np.int64)
    y[: known.sum()] = length_of_stay_class(hours[known])
    return Windows(values, first, rows), y
