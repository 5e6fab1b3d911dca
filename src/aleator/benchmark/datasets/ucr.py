"""Reader of two small data sets of the UCR and UEA archives, in the format .ts of sktime."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import reading
from aleator.benchmark.datasets.split import Split


def ucr(folder: Path, name: str) -> Split:
    """Read a data set of the archives.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.
    name : str
        Name of the data set.

    Returns
    -------
    split : Split
        The publisher's split. Shorter series are continued with their last value.
    """
    info = DATASETS[name]
    n_steps = info.shape[1]
    paths = info.paths(folder)
    parts = [_read_part(path, n_steps) for path in paths]
    classes = sorted(set(parts[0][1]))
    labels = []
    for path, (_, names) in zip(paths, parts, strict=True):
        with reading(path):  # a class that is not in the training set
            labels.append(np.array([classes.index(name) for name in names]))
    return Split(parts[0][0], labels[0], parts[1][0], labels[1])


def _read_part(path: Path, n_steps: int) -> tuple[np.ndarray, list[str]]:
    """Series of a file, and the names of their classes."""
    from aleator.inputs.series.ts_files import read_ts  # which imports torch

    with reading(path):
        found = read_ts(path)
        if found.labels is None:
            raise ValueError("it has no labels")
        samples = [
            np.pad(values, ((0, 0), (0, n_steps - values.shape[1])), mode="edge")
            for values in found.gather(np.arange(len(found)))
        ]
        stacked = np.stack(samples).astype(np.float32)
        if np.isnan(stacked).any():
            raise ValueError("it has missing values")
        return stacked, found.labels.tolist()
