"""Synthetic data in the shapes of the real data sets, to measure speed and to test programs."""

from __future__ import annotations

import zlib

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS, DatasetInfo
from aleator.benchmark.datasets.split import Split

# Training samples of a small data set.
SMALL_SAMPLES = 96

_MAX_BYTES = 8 << 30
_SMALL_SHAPES = {
    "kvasir": (3, 32, 40),
    "kvasir-v1": (3, 32, 40),
    **{name: (1, 512) for name in DATASETS if name.startswith(("fault-", "cwru-"))},
}


def generated(name: str, seed: int = 0, rows: int | None = None) -> Split:
    """Make random data in the shape of a data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    seed : int, default=0
        Random seed.
    rows : int or None, default=None
        Number of training samples, and of test samples; None uses those of the data set.

    Returns
    -------
    split : Split
        Uniform values with random labels.

    Raises
    ------
    ValueError
        If the data would need more than 8 GiB of memory.

    Examples
    --------
    >>> generated("theorem").X_train.shape
    (3059, 51)
    >>> generated("mimic3", rows=10).X_test.shape
    (10, 42, 48)
    """
    info = DATASETS[name]
    train, test = (info.train, info.test) if rows is None else (rows, rows)
    size = 4 * (train + test) * int(np.prod(info.shape))
    if size > _MAX_BYTES:
        raise ValueError(
            f"{info.title} would take {size / 2**30:.0f} GiB of memory; set rows to make fewer "
            "samples"
        )
    random = np.random.default_rng(seed)
    X = random.random((train + test, *info.shape), dtype=np.float32)
    y = random.integers(info.classes, size=train + test)
    return Split(X[:train], y[:train], X[train:], y[train:])


def small(name: str, rows: int = SMALL_SAMPLES) -> Split:
    """Make a small data set with the shape of a real one and classes that can be learned.

    Tabular data and series have the shape of the real samples; large images and long series are
    smaller.

    Parameters
    ----------
    name : str
        Name of the data set.
    rows : int, default=96
        Number of training samples; there are half as many test samples.

    Returns
    -------
    split : Split
        The same values in every call.

    Examples
    --------
    >>> split = small("har", 60)
    >>> split.X_train.shape, split.X_test.shape, np.bincount(split.y_test).tolist()
    ((60, 9, 128), (30, 9, 128), [5, 5, 5, 5, 5, 5])
    """
    info = DATASETS[name]
    shape = _SMALL_SHAPES.get(name, info.shape)
    random = np.random.default_rng(zlib.crc32(name.encode()))
    y = np.concatenate([np.arange(rows), np.arange(rows // 2)]) % info.classes
    noise = random.normal(size=(len(y), *shape))
    X = _MAKERS[len(shape)](info, shape, y, random) + noise * (0.1 if len(shape) == 3 else 0.5)
    if len(shape) == 3:
        X = X.clip(0, 1)
    X = X.astype(np.float32)
    return Split(X[:rows], y[:rows], X[rows:], y[rows:])


def _clusters(
    info: DatasetInfo, shape: tuple[int, ...], y: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    return random.normal(size=(info.classes, *shape))[y]


def _waves(
    info: DatasetInfo, shape: tuple[int, ...], y: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Make every class a frequency; the phase of each channel of each sample is random."""
    channels, steps = shape
    phase = random.uniform(0, 2 * np.pi, size=(len(y), channels, 1))
    angle = (2 + 2 * y)[:, None, None] * np.linspace(0, 2 * np.pi, steps)
    return np.sin(angle + phase)


def _patches(
    info: DatasetInfo, shape: tuple[int, ...], y: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Make every class a coarse color pattern of 4 × 4 fields."""
    channels, height, width = shape
    coarse = random.random((info.classes, channels, 4, 4))
    return np.kron(coarse, np.ones((height // 4, width // 4)))[y]


_MAKERS = {1: _clusters, 2: _waves, 3: _patches}
