"""Reader of the bearing vibrations of Case Western Reserve University."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import reading
from aleator.benchmark.datasets.split import Split

# Of the windows of a recording, the first ones are for training, the last ones for testing.
_TRAINING_SHARE = 0.75
_PARTS = ("B", "IR", "OR")  # ball, inner race, outer race


def cwru(folder: Path, name: str) -> Split:
    """Read a domain: the recordings of a load, or those of a size of the fault.

    A domain ``cwru-load-L`` has the normal bearing and nine faulty ones, under a load of L
    horsepower. A domain ``cwru-size-S`` has three faulty ones, in ball, inner race or outer race,
    under all loads; the fault is S thousandths of an inch wide.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.
    name : str
        Name of the domain.

    Returns
    -------
    split : Split
        The first three quarters of every recording, and the rest.
    """
    path = DATASETS[name].find(folder)
    with reading(path), path.open("rb") as file, np.load(file) as packed:
        windows = packed["x"].astype(np.float32)[:, None, :]
        bearing, load = packed["y"].astype(np.int64), packed["load"].astype(np.int64)
        names = [str(text) for text in packed["classes"]]
    kind, _, value = name.removeprefix("cwru-").partition("-")
    if kind == "load":
        domain, labels = load == int(value), bearing
    else:
        size = f"{int(value):03d}"
        domain = np.array([size in text for text in names])[bearing]
        parts = [_part_of(text) for text in names]
        labels = np.array(parts)[bearing]
    is_training = _first_windows(bearing, load)
    train, test = domain & is_training, domain & ~is_training
    return Split(windows[train], labels[train], windows[test], labels[test])


def _part_of(bearing: str) -> int:
    """Index of the faulty part; -1 for a normal bearing."""
    return next((k for k, part in enumerate(_PARTS) if bearing.startswith(part)), -1)


def _first_windows(bearing: np.ndarray, load: np.ndarray) -> np.ndarray:
    """Whether a window belongs to the first part of its recording; windows are in order."""
    is_first = np.zeros(len(bearing), bool)
    for recording in np.unique(np.stack([bearing, load], 1), axis=0):
        rows = np.flatnonzero((bearing == recording[0]) & (load == recording[1]))
        is_first[rows[: int(_TRAINING_SHARE * len(rows))]] = True
    return is_first
