"""Columns of a table, such as identifiers, that are copied beside its embedding."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from aleator.inputs import Schema, Source, checksum_of, open_source
from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.frames import as_frame, is_frame
from aleator.inputs.table_files import TableFiles, open_table


class KeptColumns:
    """Columns of a table that are copied beside the embedding.

    Parameters
    ----------
    table : TableFiles, pyarrow.Table or None
        The table; None if there are no columns.
    names : sequence of str
        The columns.
    """

    def __init__(self, table: Any, names: Sequence[str]) -> None:
        self._table = table
        self.names = list(names)
        if not names:
            return
        check_keep(
            names,
            table.arrow_schema.names if isinstance(table, TableFiles) else table.column_names,
        )
        if isinstance(table, TableFiles):
            table.check_types(names)

    def read(self, start: int, stop: int) -> Any:
        """Return the rows from `start` to `stop` as a pyarrow Table."""
        if not self.names:
            return import_pyarrow().table({})
        if isinstance(self._table, TableFiles):
            return self._table.read_columns(self.names, start, stop)
        return self._table.select(self.names).slice(start, stop - start)

    def fingerprint(self) -> Any:
        """Return a JSON value that changes with the files, or with values in memory."""
        if not self.names:
            return None
        if isinstance(self._table, TableFiles):
            return self._table.fingerprint()
        return checksum_of(_KeptRows(self._table.select(self.names)))


class _KeptRows(Source):
    """Rows of a pyarrow Table with columns of any type, to be compared and not to be embedded."""

    in_memory = True

    def __init__(self, table: Any) -> None:
        # What is written about a table, for example by pandas, is not part of its values.
        self._frame = as_frame(table.replace_schema_metadata(None))
        self.schema = Schema((table.num_columns,), np.dtype(object))

    def __len__(self) -> int:
        return len(self._frame)

    def gather(self, index: np.ndarray) -> Any:
        """Return the rows at `index`, in that order."""
        return self._frame.rows(index).native

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return types and values at `index` as bytes; not all types have values in Python."""
        pa = import_pyarrow()
        rows = self.gather(index).combine_chunks()
        written = pa.BufferOutputStream()
        with pa.ipc.new_stream(written, rows.schema) as writer:
            writer.write_table(rows)
        return written.getvalue().to_pybytes()


def separate_kept(
    X: Any, names: Sequence[str] | None, keep: Sequence[str]
) -> tuple[Any, KeptColumns]:
    """Separate the features of a table from the columns that are copied.

    Parameters
    ----------
    X : object
        What the user passed.
    names : sequence of str or None
        Names of the features in training; None if they had none.
    keep : sequence of str
        Columns that are copied.

    Returns
    -------
    features : object
        X, opened if it is a path. Without `names`, the columns that are not copied.
    kept : KeptColumns
        The columns that are copied.
    """
    check_keep(keep, keep)
    if not keep:
        return X, KeptColumns(None, ())
    pa = import_pyarrow()
    if isinstance(X, (str, os.PathLike, pa.dataset.FileSystemDataset)):
        X = open_table(X, columns=names, exclude=None if names is not None else keep)
    if isinstance(X, TableFiles):
        return X, KeptColumns(X, keep)
    # Record batches and lazy frames become frames; a dataset that has no files is in memory.
    X = X.to_table() if isinstance(X, pa.dataset.Dataset) else open_source(X)
    if not is_frame(X):
        raise ValueError(
            f"keep needs columns with names, but X is {type(X).__name__}: pass a data frame, or a "
            "Parquet, Arrow or CSV file"
        )
    frame = as_frame(X)
    check_keep(keep, frame.names)
    kept = KeptColumns(_table_of(frame.select(frame.find(keep)).native), keep)
    if names is None:
        X = frame.select([at for at, name in enumerate(frame.names) if name not in keep]).native
    return X, kept


def _table_of(frame: Any) -> Any:
    """Return a data frame or a table of pyarrow as a pyarrow Table."""
    pa = import_pyarrow()
    if isinstance(frame, pa.Table):
        return frame
    if not hasattr(frame, "iloc"):
        return frame.to_arrow()
    columns = {str(name): frame.iloc[:, at] for at, name in enumerate(frame.columns)}
    found = {}
    for name, values in columns.items():
        try:
            found[name] = pa.Array.from_pandas(values)
        except (pa.ArrowException, OverflowError) as error:
            raise ValueError(
                f"keep contains {name!r}, but column {name!r} of X cannot be written to Parquet: "
                f"{error}; convert it to one type, such as text, first"
            ) from error
    return pa.table(found)


def check_keep(keep: Sequence[str], known: Sequence[str]) -> None:
    """Raise ValueError unless `keep` is a list of columns, each of which is there once.

    Examples
    --------
    >>> check_keep(["id"], ["id", "age"])
    """
    if isinstance(keep, str):
        raise ValueError(f"keep must be a list of names, got {keep!r}")
    keep, known = list(keep), list(known)
    for name in keep:
        if known.count(name) != 1 or keep.count(name) != 1:
            raise ValueError(f"keep={keep}, but there is no column {name!r}, or more than one")


def check_names_differ(keep: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError if a column that is copied has the name of one of the embedding.

    Examples
    --------
    >>> check_names_differ(["id"], ["lfr0", "lfr1"])
    """
    if both := sorted(set(names) & set(keep)):
        raise ValueError(f"keep contains {both[0]!r}, which is also a column of the embedding")
