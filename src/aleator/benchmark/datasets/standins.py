"""Data made up in the shapes of the real ones: to measure speed on, and to try things out with."""

from __future__ import annotations

import zlib

import numpy as np

from aleator.benchmark.datasets.catalogue import SOURCES, Source
from aleator.benchmark.datasets.split import Split

_MOST_BYTES = 8 << 30
_SMALL_SHAPES = {
    "kvasir": (3, 32, 40),
    "kvasir-v1": (3, 32, 40),
    **{name: (1, 512) for name in SOURCES if name.startswith("fault-")},
}


def generated(name: str, seed: int = 0, rows: int | None = None) -> Split:
    """Random data of a data set's shape, all of its rows or `rows` and as many for the test.

    >>> generated("theorem").X_train.shape
    (3059, 51)
    >>> generated("mimic3", rows=10).X_test.shape
    (10, 42, 48)
    """
    source = SOURCES[name]
    train, test = (source.train, source.test) if rows is None else (rows, rows)
    size = 4 * (train + test) * int(np.prod(source.shape))
    if size > _MOST_BYTES:
        raise ValueError(
            f"{source.title} would take {size / 2**30:.0f} GiB of memory in full: say how many "
            "rows are wanted"
        )
    random = np.random.default_rng(seed)
    X = random.random((train + test, *source.shape), dtype=np.float32)
    y = random.integers(source.classes, size=train + test)
    return Split(X[:train], y[:train], X[train:], y[train:])


def small(name: str, rows: int = 96) -> Split:
    """A little data set of the same kind that can be learned: `rows` to train on, half as many to
    test on. Tables and series keep their width; images and the long series are smaller.

    >>> split = small("har", 60)
    >>> split.X_train.shape, split.X_test.shape, np.bincount(split.y_test).tolist()
    ((60, 9, 128), (30, 9, 128), [5, 5, 5, 5, 5, 5])
    """
    source = SOURCES[name]
    shape = _SMALL_SHAPES.get(name, source.shape)
    random = np.random.default_rng(zlib.crc32(name.encode()))
    y = np.concatenate([np.arange(rows), np.arange(rows // 2)]) % source.classes
    noise = random.normal(size=(len(y), *shape))
    X = _KINDS[len(shape)](source, shape, y, random) + noise * (0.1 if len(shape) == 3 else 0.5)
    if len(shape) == 3:
        X = X.clip(0, 1)
    X = X.astype(np.float32)
    return Split(X[:rows], y[:rows], X[rows:], y[rows:])


def _clusters(
    source: Source, shape: tuple[int, ...], y: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    return random.normal(size=(source.classes, *shape))[y]


def _waves(
    source: Source, shape: tuple[int, ...], y: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """A class is a frequency; each channel of each sample starts anywhere."""
    channels, steps = shape
    phase = random.uniform(0, 2 * np.pi, size=(len(y), channels, 1))
    turns = (2 + 2 * y)[:, None, None] * np.linspace(0, 2 * np.pi, steps)
    return np.sin(turns + phase)


def _patches(
    source: Source, shape: tuple[int, ...], y: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """A class is a coarse pattern of colours, four fields in each direction."""
    channels, height, width = shape
    coarse = random.random((source.classes, channels, 4, 4))
    return np.kron(coarse, np.ones((height // 4, width // 4)))[y]


_KINDS = {1: _clusters, 2: _waves, 3: _patches}
