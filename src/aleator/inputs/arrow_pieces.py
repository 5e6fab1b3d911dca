"""Row groups of Parquet files and record batches of Arrow files, as pieces that can be read.

Text files and Parquet files whose row groups do not fit into the buffer are copied, once, into a
temporary Arrow file of small batches. It is in the folder for temporary files (environment variable
TMPDIR) and vanishes with the source.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.files import naming, naming_all

# Columns that have no values have no buffers, and any number of rows.
_MOST_EMPTY_ROWS = 1 << 24
_BATCH_ROWS = 1 << 15
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a file.

    Parameters
    ----------
    file : str
        Name of the file.
    first_row : int
        Position of the first row in the file.
    rows : int
        Number of rows.
    read : callable
        Function of a list of column names that yields record batches with these columns.
    """

    file: str
    first_row: int
    rows: int
    read: Callable[[list[str]], Iterator[Any]]


def pieces_of_dataset(
    dataset: Any, schema: Any, names: Callable[[str], str], rows_per_piece: int
) -> list[Piece]:
    """Return the pieces of a pyarrow dataset, in order.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The dataset.
    schema : pyarrow.Schema
        Types of its columns. Those of a file may be others.
    names : callable
        How messages name a file.
    rows_per_piece : int
        Row groups that are smaller are read together, and batches that are larger in parts.

    Returns
    -------
    list of Piece
    """
    pieces: list[Piece] = []
    for fragment in dataset.get_fragments():
        file = names(getattr(fragment, "path", "the dataset"))
        with naming(file):
            if hasattr(fragment, "row_groups"):
                found = _row_groups(fragment, file, rows_per_piece)
            elif fragment.format.default_extname in ("ipc", "feather", "arrow"):
                source = fragment.filesystem.open_input_file(fragment.path)
                found = _ArrowFile(source, trusted=False).pieces(file, rows_per_piece)
            else:
                found = None
                batches = fragment.to_batches(schema=schema, use_threads=False)
        if found is None:
            pieces += copy_to_arrow(naming_all(file, batches), schema, file, rows_per_piece)
        else:
            pieces += [_with_all_columns(piece, fragment, schema) for piece in found]
    return pieces


def _with_all_columns(piece: Piece, fragment: Any, schema: Any) -> Piece:
    """Return a piece that also has the columns of the schema that are not in its file.

    Their value is in the names of folders, or missing.
    """
    pa = import_pyarrow()
    in_file = set(fragment.physical_schema.names)
    if in_file.issuperset(schema.names):
        return piece
    in_folders = pa.dataset.get_partition_keys(fragment.partition_expression)

    def read(columns: list[str]) -> Iterator[Any]:
        for batch in piece.read([name for name in columns if name in in_file]):
            arrays = [
                batch.column(name)
                if name in in_file
                else pa.repeat(pa.scalar(in_folders.get(name)), batch.num_rows)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, columns)

    return replace(piece, read=read)


def copy_to_arrow(
    batches: Iterable[Any], schema: Any, file: str, rows_per_piece: int
) -> list[Piece]:
    """Copy record batches into a temporary Arrow file, and return its pieces.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The rows. What goes wrong while they are read names the file already: see `naming_all`.
    schema : pyarrow.Schema
        Their columns.
    file : str
        Name of the file that is copied.
    rows_per_piece : int
        Largest number of rows of a piece.

    Returns
    -------
    list of Piece

    Raises
    ------
    OSError
        If the copy cannot be written.
    """
    try:
        copy = _written(batches, schema, rows_per_piece)
    except OSError as error:  # errors of reading are a DamagedFileError
        raise OSError(
            f"{file} cannot be copied to {tempfile.tempdir or 'a temporary folder'}, which is "
            f"needed to read it in any order: {error}; the environment variable TMPDIR chooses "
            "another folder"
        ) from error
    return copy.pieces(file, rows_per_piece)


def _written(batches: Iterable[Any], schema: Any, rows_per_piece: int) -> _ArrowFile:
    pa = import_pyarrow()
    handle, path = tempfile.mkstemp(prefix="aleator-", suffix=".arrow")
    os.close(handle)
    try:
        with pa.ipc.new_file(path, schema) as writer:
            for batch in batches:
                for start in range(0, batch.num_rows, rows_per_piece):
                    writer.write_batch(batch.slice(start, rows_per_piece))
        copy = _ArrowFile(pa.OSFile(path), trusted=True)
    except BaseException:
        os.unlink(path)
        raise
    if os.name == "posix":
        os.unlink(path)  # its content stays as long as it is open, and never longer
    else:
        weakref.finalize(copy, os.unlink, path)
    return copy


def _row_groups(fragment: Any, file: str, rows_per_piece: int) -> list[Piece]:
    fragment.ensure_complete_metadata()
    pieces: list[Piece] = []
    together: list[int] = []
    first_row = rows = 0
    for group in fragment.row_groups:
        if together and rows + group.num_rows > rows_per_piece:
            pieces.append(_row_group_piece(fragment, file, together, first_row, rows))
            first_row, rows, together = first_row + rows, 0, []
        together.append(group.id)
        rows += group.num_rows
    if rows:
        pieces.append(_row_group_piece(fragment, file, together, first_row, rows))
    return pieces


def _row_group_piece(
    fragment: Any, file: str, groups: Sequence[int], first_row: int, rows: int
) -> Piece:
    pa = import_pyarrow()
    # Requests to another machine are worth being few and large; a disk is read as it is decoded.
    local = isinstance(fragment.filesystem, pa.fs.LocalFileSystem)
    reading = {"buffer_size": _READ_BYTES} if local else {"pre_buffer": True}

    def read(columns: list[str]) -> Iterator[Any]:
        # In this thread only, since the other cores train; and not by a scan of the fragment, which
        # would decode a row group as a whole before it is copied.
        opened = pa.parquet.ParquetFile(fragment.open(), metadata=fragment.metadata, **reading)
        with opened:
            for batch in opened.iter_batches(
                _BATCH_ROWS, row_groups=list(groups), columns=columns, use_threads=False
            ):
                batch.validate(full=True)  # text may not be UTF-8
                yield batch.select(columns)

    return Piece(file, first_row, rows, read)


class _ArrowFile:
    """An Arrow file that is open for reading batches, by one thread at a time.

    What is read is checked if the file is not `trusted`: pyarrow takes positions of text in buffers
    as they are in the file, and following wrong ones would end the process.
    """

    def __init__(self, source: Any, *, trusted: bool) -> None:
        self._reader = import_pyarrow().ipc.open_file(source)
        self._trusted = trusted
        self._lock = threading.Lock()

    def pieces(self, file: str, rows_per_piece: int) -> list[Piece]:
        """Return its pieces: batches that are not larger than a piece, or parts of them."""
        pieces: list[Piece] = []
        first_row = 0
        for number in range(self._reader.num_record_batches):
            length = self._length(number)
            for start in range(0, length, rows_per_piece):
                rows = min(rows_per_piece, length - start)
                pieces.append(
                    Piece(file, first_row + start, rows, self._read_of(number, start, rows))
                )
            first_row += length
        return pieces

    def _length(self, number: int) -> int:
        batch = self._batch(number)
        if not self._trusted:
            batch.validate()  # that the buffers have so many rows
            # A row that is anywhere takes a bit or more.
            if batch.num_rows > max(_MOST_EMPTY_ROWS, 8 * batch.get_total_buffer_size()):
                raise ValueError(f"batch {number} has {batch.num_rows} rows, and no values")
        return int(batch.num_rows)

    def _read_of(self, number: int, start: int, rows: int) -> Callable[[list[str]], Iterator[Any]]:
        def read(columns: list[str]) -> Iterator[Any]:
            batch = self._batch(number).select(columns).slice(start, rows)
            if not self._trusted:
                batch.validate(full=True)
            yield batch

        return read

    def _batch(self, number: int) -> Any:
        with self._lock:
            return self._reader.get_batch(number)
