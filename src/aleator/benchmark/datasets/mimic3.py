"""Reader of MIMIC-III, length of stay, as prepared by the programs that the paper cites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.datasets.catalogue import SOURCES
from aleator.benchmark.datasets.files import reading
from aleator.benchmark.datasets.split import UNLABELLED, Split

STEPS = 48
_DAY_ENDS = (24, 48, 72, 96, 120, 144, 168, 192, 336)  # hours; the last class is open


def length_of_stay_class(hours: np.ndarray) -> np.ndarray:
    """Ten classes: each of the first eight days, the rest of two weeks, and longer.

    >>> length_of_stay_class(np.array([3.5, 24.0, 200.0, 1000.0]))
    array([0, 1, 8, 9])
    """
    return np.digitize(hours, _DAY_ENDS).astype(np.int64)


class Windows:
    """The last 48 hours before each of some rows of hourly values, padded with zeros in front.

    Two and a half million of them are 20 GB, so they are cut out when asked for: it has a shape and
    can be sliced, and that is all.

    >>> windows = Windows(np.array([[1.0], [2.0], [3.0]]), np.array([0, 0, 2]), np.array([1, 2]))
    >>> windows.shape, windows[0:2][:, 0, -3:].tolist()
    ((2, 1, 48), [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
    """

    dtype = np.dtype(np.float32)

    def __init__(self, values: np.ndarray, first: np.ndarray, rows: np.ndarray) -> None:
        """`first` is the row in which the stay of each row begins, `rows` are those wanted."""
        self._values = values.astype(np.float32, copy=False)
        self._first, self._rows = first, rows
        self.shape = (len(rows), values.shape[1], STEPS)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, part: slice) -> np.ndarray:
        rows = self._rows[part, None]
        hours = rows + np.arange(1 - STEPS, 1)
        before = hours < self._first[rows]
        cut = self._values[np.where(before, 0, hours)]
        cut[before] = 0
        return np.ascontiguousarray(cut.transpose(0, 2, 1))


def mimic3(folder: Path) -> Split:
    """MIMIC-III: every hour of every stay is a sample, with the 48 hours up to it.

    The first hours of a stay have no label (Harutyunyan et al. 2019); they are kept for learning
    without labels, as in the paper, which counts them. They come last and are marked -1.
    """
    try:
        import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("HDF5 is read with h5py: pip install 'aleator[bench]'") from error
    path = SOURCES["mimic3"].find(folder)
    with reading(path), h5py.File(path, "r") as file:
        return Split(*_part(file, "train"), *_part(file, "test"))


def _part(file: Any, part: str) -> tuple[Any, np.ndarray]:
    """Windows and classes, the samples without a label behind the others."""
    tasks = [t.decode() if isinstance(t, bytes) else str(t) for t in file["labels"].attrs["tasks"]]
    values = file["data"][part][:]
    hours = file["labels"][part][:, tasks.index("los")]
    stays = file["patient_windows"][part][:].astype(np.int64)
    columns = SOURCES["mimic3"].shape[0]
    if values.ndim != 2 or values.shape[1] != columns:
        raise ValueError(f"'data/{part}' has shape {values.shape}; rows of {columns} are expected")
    if not np.isfinite(values).all():
        raise ValueError(f"'data/{part}' has values that are not numbers: is it the scaled file?")
    start, length = stays[:, 0], stays[:, 1] - stays[:, 0] + 1  # the last row belongs to the stay
    follows = np.array_equal(np.cumsum(length) - length, start) and (length > 0).all()
    if not follows or length.sum() != len(values) or len(hours) != len(values):
        raise ValueError(f"'patient_windows/{part}' does not cover 'data/{part}' row by row")
    first = np.repeat(start, length)
    known = ~np.isnan(hours)
    rows = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
    y = np.full(len(rows), UNLABELLED, dtype=np.int64)
    y[: known.sum()] = length_of_stay_class(hours[known])
    return Windows(values, first, rows), y
