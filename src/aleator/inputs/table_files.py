"""Tables in files: Parquet, Arrow and CSV, read through pyarrow."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from aleator.atomic_io import json_digest
from aleator.inputs.arrow_datasets import check_not_filtered, open_dataset, versions_of_dataset
from aleator.inputs.arrow_pieces import Piece, copy_to_arrow, pieces_of_dataset
from aleator.inputs.arrow_schemas import conformed
from aleator.inputs.arrow_values import (
    common_type,
    fill_rows,
    import_pyarrow,
    number_type,
    rows_of_table,
)
from aleator.inputs.csv_files import pieces_of_csv
from aleator.inputs.files import CSV, NPY, find_files, naming, naming_all
from aleator.inputs.frames.arrow_frame import ArrowFrame
from aleator.inputs.frames.base import listed
from aleator.inputs.pieces import BUFFER_SIZE, PiecewiseSource, pieces_of
from aleator.inputs.sources import ArraySource, Schema
from aleator.validation import check_int

# Pieces of about this size are quick to read, and not too many. The buffer holds several.
_PIECE_BYTES, _LEAST_PIECES = 4 << 20, 8


class TableFiles(PiecewiseSource):
    """Columns of a table in files, read when they are needed.

    Made by `open_table`; see there. It can be passed to estimators as X.

    Parameters
    ----------
    pieces : list of Piece
        Row groups or record batches.
    schema : pyarrow.Schema
        All columns.
    columns : sequence of str
        Those that are features.
    buffer_size : int
        Bytes of the buffer in which rows are mixed.
    versions : list
        Names, sizes and times of change of the files, as JSON values.
    conflicts : mapping of str to str, default=None
        Columns whose types in the files do not agree, and how; they cannot be read.

    Attributes
    ----------
    feature_names : list of str
        Names of the features.
    arrow_schema : pyarrow.Schema
        All columns of the table.
    holds_only_numbers : bool
        Whether all features are numbers or truth values; if not, estimators make features of them.
    """

    feature_names: list[str]

    def __init__(
        self,
        pieces: list[Piece],
        schema: Any,
        columns: Sequence[str],
        buffer_size: int,
        versions: list[Any],
        conflicts: Mapping[str, str] | None = None,
    ) -> None:
        self._conflicts = conflicts or {}
        self.check_types(columns)
        self.arrow_schema = schema
        self.feature_names = list(columns)
        self._pieces = pieces
        self._versions = versions
        self._last_frame: tuple[int, ArrowFrame] | None = None
        kinds = [schema.field(name).type for name in columns]
        self.holds_only_numbers = all(_is_number(kind) for kind in kinds)
        sample = Schema((len(kinds),), common_type(kinds))
        super().__init__(sample, [piece.rows for piece in pieces], buffer_size)

    def select(self, columns: Sequence[str]) -> Self:
        """Return the same table with other features.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns.

        Returns
        -------
        TableFiles
        """
        chosen = _choose(self.arrow_schema, columns, None)
        return type(self)(
            self._pieces,
            self.arrow_schema,
            chosen,
            self.buffer_size,
            self._versions,
            self._conflicts,
        )

    def check_types(self, columns: Sequence[str]) -> None:
        """Raise ValueError if the files have columns in types that do not agree.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns.
        """
        for name in columns:
            if name in self._conflicts:
                raise ValueError(
                    f"{self._conflicts[name]}: write the files with one type, or leave the column "
                    f"out with aleator.open_table(path, exclude=[{name!r}])"
                )

    def read_piece(self, piece: int) -> np.ndarray:
        """Read a row group or a record batch as numbers; text is an error."""
        _check_numbers(self.arrow_schema, self.feature_names)
        part = self._pieces[piece]
        rows = np.empty((part.rows, *self.schema.shape), self.schema.dtype)
        start = 0
        with naming(part.file):
            for batch in self._batches(part, self.feature_names):
                if start + batch.num_rows <= part.rows:
                    fill_rows(rows[start : start + batch.num_rows], batch)
                start += batch.num_rows
            _check_rows(start, part)
        return rows

    def read_frame(self, piece: int) -> ArrowFrame:
        """Read a row group or a record batch as it is."""
        part = self._pieces[piece]
        with naming(part.file):
            return ArrowFrame(self._table_of(part, self.feature_names))

    def frame_at(self, index: np.ndarray) -> ArrowFrame:
        """Return the rows at positions that are sorted, as they are."""
        pa = import_pyarrow()
        if not self._pieces:
            schema = pa.schema([self.arrow_schema.field(name) for name in self.feature_names])
            return ArrowFrame(schema.empty_table())
        found = []
        owner = pieces_of(index, self.starts)
        for piece in np.unique(owner).tolist():
            if self._last_frame is None or self._last_frame[0] != piece:
                self._last_frame = piece, self.read_frame(piece)
            rows = self._last_frame[1].rows(index[owner == piece] - self.starts[piece])
            found.append(rows.native)
        return ArrowFrame(pa.concat_tables(found))

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return the rows at sorted positions as bytes, to compare them."""
        if self.holds_only_numbers:
            return super().row_bytes(index)
        return self.frame_at(index).row_bytes()

    def read_columns(self, columns: Sequence[str], start: int, stop: int) -> Any:
        """Read columns of any type as they are.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns.
        start, stop : int
            First row, and the one after the last.

        Returns
        -------
        pyarrow.Table
        """
        pa = import_pyarrow()
        self.check_types(columns)
        found = []
        wanted = pa.schema([self.arrow_schema.field(name) for name in columns])
        first, last = np.searchsorted(self.starts, [start, stop - 1], side="right") - 1
        for number in range(first, last + 1):
            piece, begin = self._pieces[number], int(self.starts[number])
            with naming(piece.file):
                table = self._table_of(piece, columns, exact=True).cast(wanted)
            low = max(0, start - begin)
            found.append(table.slice(low, min(stop - begin, piece.rows) - low))
        return pa.concat_tables(found)

    def describe_row(self, row: int) -> str:
        """Name a row by its file."""
        number = int(np.searchsorted(self.starts, row, side="right")) - 1
        piece = self._pieces[number]
        return f"row {row - int(self.starts[number]) + piece.first_row} of {piece.file}"

    def fingerprint(self) -> str:
        """Return a digest of the files and the features."""
        return json_digest([self._versions, self.feature_names])

    def _batches(
        self, piece: Piece, columns: Sequence[str], *, exact: bool = False
    ) -> Iterator[Any]:
        for batch in piece.read(list(columns)):
            yield conformed(batch, self.arrow_schema, exact=exact)

    def _table_of(self, piece: Piece, columns: Sequence[str], *, exact: bool = False) -> Any:
        batches = self._batches(piece, columns, exact=exact)
        table = import_pyarrow().Table.from_batches(batches)
        _check_rows(len(table), piece)
        return table


def open_table(
    path: Any,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    buffer_size: int = BUFFER_SIZE,
) -> TableFiles:
    r"""Open a table in files, which may be larger than memory, to fit or transform it.

    Nothing is read yet but the description of the files. Estimators read row groups in random
    order, mix the rows of those that are in the buffer, and read the next one in the background.
    A table that fits into the buffer is read once, and its order is the same as in memory.

    Estimators make features of columns that are text or dates, and of gaps, as they do with data
    frames. What should not become a feature, such as an identifier, must be left out, by `columns`
    or `exclude`. The methods `gather` and `chunks` of the result are for numbers, truth values,
    dates (days since 1970-01-01) and times of day (the part of the day).

    Parameters
    ----------
    path : str, path-like or pyarrow.dataset.Dataset
        A Parquet, Arrow or CSV file, a folder of such files, or a URL of one that fsspec knows,
        such as ``s3://bucket/folder``. The files of a folder are sorted by path, numbers in it by
        their value. CSV files, and Parquet files whose row groups are larger than the buffer, are
        copied to a temporary Arrow file first.
    columns : sequence of str, default=None
        Columns that are features, in this order; None is all.
    exclude : sequence of str, default=None
        Columns that are not features, if `columns` is not given.
    buffer_size : int, default=268435456
        Bytes of the row groups that are mixed. More mixes the rows better; about as much again may
        be needed while a row group is read.

    Returns
    -------
    TableFiles
        It can be passed to `fit`, `transform` and `transform_to` of every estimator.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import aleator
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("name,age,joined\nAda,36,2024-02-01\nBo,41,2024-02-02\n")
    ...     table = aleator.open_table(path, exclude=["name"])
    ...     table.feature_names, table.gather(np.array([1])).tolist()
    (['age', 'joined'], [[41.0, 19755.0]])
    """
    pa = import_pyarrow()
    check_int("buffer_size", buffer_size, minimum=1)
    conflicts: dict[str, str] = {}
    if isinstance(path, pa.dataset.Dataset):
        check_not_filtered(path)
        dataset, schema, versions = path, path.schema, versions_of_dataset(path)
        name: Callable[[str], str] = str
    else:
        files = find_files(path)
        if files.format == NPY:
            raise ValueError(f"{str(path)!r} has no columns: pass the path to the estimator")
        name, versions = files.name, files.versions()
        if files.format == CSV:
            pieces, schema = pieces_of_csv(
                files, lambda found: _rows_per_piece(found.types, buffer_size)
            )
            chosen = _choose(schema, columns, exclude)
            return TableFiles(pieces, schema, chosen, buffer_size, versions)
        dataset, schema, conflicts = open_dataset(files)
    chosen = _choose(schema, columns, exclude)
    kinds = [schema.field(column).type for column in chosen]
    pieces = pieces_of_dataset(dataset, schema, name, _rows_per_piece(kinds, buffer_size))
    pieces = _divide_large(pieces, schema, _bytes_per_row(kinds), buffer_size)
    return TableFiles(pieces, schema, chosen, buffer_size, versions, conflicts)


def source_of_table(table: Any) -> ArraySource:
    """Return the rows of a pyarrow Table of numbers as a source in memory."""
    chosen = _choose(table.schema, None, None)
    _check_numbers(table.schema, chosen)
    source = ArraySource(rows_of_table(table.select(chosen)))
    source.feature_names = chosen
    return source


def _choose(schema: Any, columns: Sequence[str] | None, exclude: Sequence[str] | None) -> list[str]:
    """Return the columns that are features."""
    if isinstance(columns, str) or isinstance(exclude, str):
        raise ValueError("columns and exclude must be lists of names, not a single name")
    if columns is not None and exclude is not None:
        raise ValueError("give either columns or exclude, not both")
    unknown = [name for name in [*(columns or []), *(exclude or [])] if name not in schema.names]
    if unknown:
        raise ValueError(f"there is no {listed(unknown)}; the table has {listed(schema.names)}")
    chosen = [name for name in schema.names if name not in (exclude or [])]
    chosen = chosen if columns is None else list(columns)
    for name in chosen:
        if schema.names.count(name) > 1 or chosen.count(name) > 1:
            raise ValueError(f"there is more than one column {name!r}")
    return chosen


def _check_numbers(schema: Any, chosen: Sequence[str]) -> None:
    wrong = [name for name in chosen if number_type(schema.field(name).type) is None]
    if wrong:
        kinds = ", ".join(dict.fromkeys(str(schema.field(name).type) for name in wrong))
        raise ValueError(
            f"{listed(wrong)} of X hold{'s' * (len(wrong) == 1)} {kinds}; only numbers, dates and "
            f"times can be read: leave out with aleator.open_table(path, exclude={wrong}), or name "
            "what to read with columns=[…]"
        )


def _check_rows(found: int, piece: Piece) -> None:
    if found != piece.rows:
        raise ValueError(f"it has {found} rows where there were {piece.rows}")


def _is_number(kind: Any) -> bool:
    types = import_pyarrow().types
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(check(kind) for check in numeric)


def _bytes_per_row(kinds: Sequence[Any]) -> int:
    if all(_is_number(kind) for kind in kinds):
        return max(1, common_type(kinds).itemsize * len(kinds))
    # The features that are made of them, in single precision, if there are as many as there can be.
    return 4 * sum(_most_features(kind) for kind in kinds)


def _most_features(kind: Any) -> int:
    if _is_number(kind):
        return 2
    return 40 if number_type(kind) is None else 11


def _rows_per_piece(kinds: Sequence[Any], buffer_size: int) -> int:
    return max(1, min(_PIECE_BYTES, buffer_size // _LEAST_PIECES) // _bytes_per_row(kinds))


def _divide_large(
    pieces: list[Piece], schema: Any, bytes_per_row: int, buffer_size: int
) -> list[Piece]:
    """Copy row groups that are larger than the buffer to an Arrow file of small batches."""
    divided: list[Piece] = []
    for piece in pieces:
        if piece.rows * bytes_per_row <= buffer_size:
            divided.append(piece)
            continue
        rows = max(1, buffer_size // _LEAST_PIECES // bytes_per_row)
        batches = naming_all(piece.file, piece.read(schema.names))
        first = next(batches, None)
        parts: list[Piece] = []
        if first is not None:
            batches = itertools.chain([first], batches)
            # In the types of its file, which lose nothing.
            parts = copy_to_arrow(batches, first.schema, piece.file, rows)
        with naming(piece.file):
            _check_rows(sum(part.rows for part in parts), piece)
        divided += [
            Piece(part.file, piece.first_row + part.first_row, part.rows, part.read)
            for part in parts
        ]
    return divided
