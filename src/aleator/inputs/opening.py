"""What is a path, a URL or a dataset of pyarrow becomes a source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.audio.source import open_audio, wav_files
from aleator.inputs.files import NPY, find_files, holds_tables, naming
from aleator.inputs.graphs.source import open_graphs
from aleator.inputs.graphs.tu_format import is_tu_folder
from aleator.inputs.images.source import image_files, open_images
from aleator.inputs.npy_files import NpyFilesSource, is_plain
from aleator.inputs.pieces import BUFFER_SIZE
from aleator.inputs.series.ts_files import is_ts_path, read_ts
from aleator.inputs.table_files import TableFiles, open_table


def open_source(X: Any, columns: Sequence[str] | None = None) -> Any:
    """Open paths, URLs and datasets of pyarrow as a source; return anything else as it is.

    Record batches and datasets of pyarrow that are in memory become a table of pyarrow, and lazy
    frames of polars are collected.

    A .npy file that is not larger than the buffer of `open_table` is mapped into memory; a larger
    one and a folder of .npy files are read in pieces, like a table.

    Parameters
    ----------
    X : object
        What a user passed as X.
    columns : sequence of str, default=None
        Names of the features in files; None is all that have been chosen.

    Returns
    -------
    Source, memory map or object

    Examples
    --------
    >>> open_source([[1, 2]])
    [[1, 2]]
    """
    if isinstance(X, (str, os.PathLike)):
        return _open_path(X, columns)
    if isinstance(X, TableFiles):
        return X if columns is None else X.select(columns)
    if type(X).__module__.startswith("polars") and hasattr(X, "collect"):
        return X.collect()
    if not type(X).__module__.startswith("pyarrow"):
        return X
    pyarrow = import_pyarrow()
    if isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    if isinstance(X, pyarrow.dataset.InMemoryDataset):
        return X.to_table()
    return open_table(X, columns=columns) if isinstance(X, pyarrow.dataset.Dataset) else X


def _open_path(path: str | os.PathLike[str], columns: Sequence[str] | None) -> Any:
    root = os.fspath(path)
    if "://" not in root and os.path.isdir(root) and is_tu_folder(root):
        return open_graphs(root)
    if "://" not in root and os.path.isdir(root) and wav_files(root) and not holds_tables(root):
        return open_audio(root)
    if is_ts_path(root) and "://" not in root:
        return read_ts(root)
    if "://" not in root and os.path.isdir(root) and image_files(root) and not holds_tables(root):
        return open_images(root)
    files = find_files(path)
    if files.format != NPY:
        return open_table(path, columns=columns)
    if files.filesystem is None and len(files.paths) == 1:
        only = Path(files.paths[0])
        if only.stat().st_size <= BUFFER_SIZE or not is_plain(str(only)):
            with naming(str(only)):
                return np.load(only, mmap_mode="r")
    return NpyFilesSource(files, BUFFER_SIZE)
