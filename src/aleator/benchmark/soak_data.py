"""Small data of every kind for `aleator.benchmark.soak`: of one shape, with other values each time.

Numbers of samples and their lengths do not depend on the seed, so that rounds need as much memory
as each other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_ROWS = 40
_RATE = 4000  # samples of audio per second
_ROWS_OF_FILE, _ROWS_PER_GROUP, _GROUPS_IN_BUFFER = 200, 25, 2.5


def _array(*shape: int) -> Callable[[np.random.Generator, Path], Any]:
    return lambda rng, place: rng.random(shape, dtype=np.float32)


def _series_of_different_lengths(rng: np.random.Generator, place: Path) -> Any:
    found = [rng.random((2, 12 + row % 9), dtype=np.float32) for row in range(_ROWS)]
    for row in range(0, _ROWS, 3):
        found[row][0, 4:7] = np.nan
    return found


def _texts(rng: np.random.Generator, place: Path) -> Any:
    words = np.array("the a free late call me back see you at home now".split())
    return [" ".join(rng.choice(words, 3 + row % 6)) for row in range(_ROWS)]


def _graphs(rng: np.random.Generator, place: Path) -> Any:
    from aleator.inputs.graphs.graph import Graph

    found = []
    for row in range(_ROWS):
        ring = np.arange(4 + row % 5)
        source, target = np.concatenate([ring, ring]), rng.integers(0, len(ring), 2 * len(ring))
        nodes = {"size": rng.random((len(ring), 2)), "kind": rng.integers(0, 3, len(ring))}
        both = np.concatenate([source, target]), np.concatenate([target, source])
        found.append(Graph(len(ring), *both, nodes))
    return found


def _audio(rng: np.random.Generator, place: Path) -> Any:
    from aleator import open_audio

    clips = [rng.uniform(-0.5, 0.5, _RATE // 4 + 100 * (row % 7)) for row in range(_ROWS)]
    return open_audio([clip.astype(np.float32) for clip in clips], rate=_RATE)


def _frame(rng: np.random.Generator) -> Any:
    import pandas as pd

    number = rng.random(_ROWS)
    number[::5] = np.nan
    days = pd.Timestamp(2020, 1, 1) + pd.to_timedelta(rng.integers(0, 900, _ROWS), unit="D")
    kinds = rng.permutation(["x", "y", "z", "y"] * (_ROWS // 4))
    return pd.DataFrame({"number": number, "kind": kinds, "day": days})


def _parts(rng: np.random.Generator, place: Path) -> Any:
    signal = rng.random((_ROWS, 2, 16), dtype=np.float32)
    return {"record": _frame(rng), "signal": signal, "note": _texts(rng, place)}


def _file(rng: np.random.Generator, place: Path) -> Any:
    """Open a table that does not fit into the buffer, so that row groups are read in turn."""
    import pyarrow as pa
    from pyarrow import parquet

    from aleator import open_table

    columns = rng.random((5, _ROWS_OF_FILE), dtype=np.float32)
    path = place / "larger-than-the-buffer.parquet"
    parquet.write_table(
        pa.table(list(columns), names=list("abcde")), path, row_group_size=_ROWS_PER_GROUP
    )
    buffer_size = int(_GROUPS_IN_BUFFER * _ROWS_PER_GROUP * len(columns) * 8)
    opened = open_table(path, buffer_size=buffer_size)
    if opened.fits_buffer:
        raise RuntimeError(f"{path} fits into a buffer of {buffer_size} bytes")
    return opened


_MAKERS: dict[str, Callable[[np.random.Generator, Path], Any]] = {
    "table": _array(60, 5),
    "series": _array(40, 2, 24),
    "image": _array(24, 3, 12, 10),
    "series of different lengths": _series_of_different_lengths,
    "text": _texts,
    "graph": _graphs,
    "audio": _audio,
    "parts": _parts,
    "file": _file,
}
ARRAYS = ("table", "series", "image")
OTHERS = tuple(kind for kind in _MAKERS if kind not in ARRAYS)


def make_data(kind: str, seed: tuple[int, ...], place: Path) -> tuple[Any, np.ndarray]:
    """Make the data of a case.

    Parameters
    ----------
    kind : str
        One of `ARRAYS` and `OTHERS`.
    seed : tuple of int
        Other values for every seed.
    place : Path
        Folder for files.

    Returns
    -------
    X : object
        What can be passed to `fit`.
    y : ndarray of shape (n,)
        Labels of three classes.

    Examples
    --------
    >>> X, y = make_data("text", (0, 1), Path())
    >>> [len(text.split()) for text in X[:3]], y[:4].tolist()
    ([3, 4, 5], [0, 1, 2, 0])
    """
    X = _MAKERS[kind](np.random.default_rng(seed), place)
    rows = len(X["record"]) if kind == "parts" else len(X)
    return X, np.arange(rows) % 3
