"""CSV files, copied to temporary Arrow files, all with the types that fit the values of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any, TypeVar

from aleator.exceptions import DamagedFileError
from aleator.inputs.arrow_pieces import Piece, copy_to_arrow
from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.csv_types import widened_types
from aleator.inputs.files import Files, naming, naming_all

_BLOCK_BYTES = 1 << 20
_LARGEST_BLOCK_BYTES = 1 << 29
# How pyarrow says that a row, or the first one, is not within a block.
_TOO_LONG = ("straddling object", "cannot infer number of columns")

_Made = TypeVar("_Made")


def pieces_of_csv(files: Files, rows_per_piece: Callable[[Any], int]) -> tuple[list[Piece], Any]:
    """Copy CSV files to Arrow files.

    The types of a column are those that it would have if the files were one.

    Parameters
    ----------
    files : Files
        The files. Columns of the first one must be in all; others are not read.
    rows_per_piece : callable
        Function of a schema.

    Returns
    -------
    pieces : list of Piece
        Parts of the files, in order.
    schema : pyarrow.Schema
        Their columns.
    """
    pa = import_pyarrow()
    parts = [_CsvFile(files, path) for path in files.paths]
    names, types = _types_of_first_blocks(parts)
    # Values after the first blocks may need wider types, also in the files before.
    while stale := [part for part in parts if part.types != types]:
        for part in stale:
            types = part.copy(names, types, rows_per_piece)
    schema = pa.schema(list(zip(names, types, strict=True)))
    return [piece for part in parts for piece in part.pieces], schema


def _types_of_first_blocks(parts: list[_CsvFile]) -> tuple[list[str], list[Any]]:
    """Return the columns of the first file, and types that fit the first block of every file."""
    types_of = import_pyarrow().types
    first = parts[0].first_schema()
    names, types = first.names, list(first.types)
    for part in parts[1:]:
        found = part.first_schema()
        if missing := [name for name in names if name not in found.names]:
            raise DamagedFileError(
                f"{part.name} cannot be read: it has no column {missing[0]!r}, which "
                f"{parts[0].name} has"
            )
        kinds = [found.types[found.names.index(name)] for name in names]
        types = [
            kind if types_of.is_null(known) else known
            for known, kind in zip(types, kinds, strict=True)
        ]
        if any(
            kind != known and not types_of.is_null(kind)
            for known, kind in zip(types, kinds, strict=True)
        ):
            types = part.widened(names, types, blocks=1)
    return names, types


class _CsvFile:
    """A text file, and its copy.

    Attributes
    ----------
    name : str
        How messages name it.
    types : list of pyarrow.DataType or None
        Types of the columns in the copy, if there is one.
    pieces : list of Piece
        Pieces of the copy.
    """

    def __init__(self, files: Files, path: str) -> None:
        self.name = files.name(path)
        self.types: list[Any] | None = None
        self.pieces: list[Piece] = []
        self._files, self._path = files, path
        self._block_bytes = _BLOCK_BYTES

    def first_schema(self) -> Any:
        """Return the columns, with the types that pyarrow finds in the first block."""
        return self._read({}, lambda schema, batches: schema)

    def widened(self, names: list[str], types: list[Any], blocks: int | None = None) -> list[Any]:
        """Return types that fit the values, too, of the first blocks or of all."""
        as_bytes = dict.fromkeys(names, import_pyarrow().binary())
        before = None
        while types != before:  # a type that fits a later value may not fit one of a block before
            before = types
            types = self._read(
                as_bytes,
                lambda schema, batches: widened_types(islice(batches, blocks), before),  # noqa: B023
            )
        return types

    def copy(
        self, names: list[str], types: list[Any], rows_per_piece: Callable[[Any], int]
    ) -> list[Any]:
        """Copy the columns, and return their types: wider ones if values do not fit these."""

        def copied(schema: Any, batches: Iterator[Any]) -> list[Piece]:
            return copy_to_arrow(batches, schema, self.name, rows_per_piece(schema))

        while True:
            try:
                self.pieces = self._read(dict(zip(names, types, strict=True)), copied)
            except DamagedFileError as error:
                if not isinstance(error.__cause__, import_pyarrow().ArrowInvalid):
                    raise
                wider = self.widened(names, types)
                if wider == types:
                    raise
                types = wider
            else:
                self.types = types
                return types

    def _read(self, types: dict[str, Any], use: Callable[[Any, Iterator[Any]], _Made]) -> _Made:
        """Return what a function makes of the schema and the batches of the columns in `types`.

        It begins anew, with larger blocks, if a row is not within a block.
        """
        while True:
            with ExitStack() as opened:
                try:
                    with naming(self.name):
                        reader = self._open(types, opened)
                    return use(reader.schema, naming_all(self.name, reader))
                except DamagedFileError as error:
                    if not any(text in str(error.__cause__) for text in _TOO_LONG):
                        raise
                    if self._block_bytes >= _LARGEST_BLOCK_BYTES:
                        raise DamagedFileError(
                            f"{self.name} cannot be read: a row is longer than "
                            f"{_LARGEST_BLOCK_BYTES >> 20} MiB; perhaps a quote is not closed"
                        ) from error
            self._block_bytes *= 8

    def _open(self, types: dict[str, Any], opened: ExitStack) -> Any:
        csv = import_pyarrow().csv
        # Several threads do not read blocks faster, and their errors do not name the row.
        read = csv.ReadOptions(use_threads=False, block_size=self._block_bytes)
        parse = csv.ParseOptions(
            delimiter="\t" if ".tsv" in self._path.lower() else ",", newlines_in_values=True
        )
        convert = csv.ConvertOptions(column_types=types, include_columns=list(types))
        source = opened.enter_context(self._files.open(self._path))
        ending = os.path.splitext(self._path)[1]
        compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(ending)
        if compression is not None:
            pa = import_pyarrow()
            # Not all files of fsspec say how they were opened.
            source = pa.CompressedInputStream(pa.PythonFile(source, mode="r"), compression)
        return csv.open_csv(source, read, parse, convert)
