"""Tables in files, of which features are made whenever a piece of them is read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aleator.inputs.adapter_base import AdapterSource
from aleator.inputs.pieces import PiecewiseSource
from aleator.inputs.sources import Schema, Source
from aleator.inputs.table_files import TableFiles
from aleator.inputs.tables.adapted import ROWS_AT_ONCE, Converter, converted


class AdaptedTableFiles(PiecewiseSource, AdapterSource):
    """Rows of a table in files. A piece is converted by the thread that reads it.

    Parameters
    ----------
    files : TableFiles
        The table.
    adapter : Converter
        How to convert its rows.
    dtype : numpy.dtype, default=float32
        Precision of the converted rows.
    """

    def __init__(
        self, files: TableFiles, adapter: Converter, dtype: type[np.floating] = np.float32
    ) -> None:
        super().__init__(
            Schema(adapter.shape, np.dtype(dtype)), np.diff(files.starts), files.buffer_size
        )
        self._files = files
        self._adapter = adapter
        self.feature_names = files.feature_names

    @property
    def raw(self) -> Source:
        """The pieces, with as many bytes as they take when they are converted."""
        return self

    def read_piece(self, piece: int) -> np.ndarray:
        """Read and convert a piece."""
        frame, first_row = self._files.read_frame(piece), int(self.starts[piece])
        rows = np.empty((len(frame), *self.schema.shape), self.schema.dtype)
        convert = self._adapter.convert if self.schema.dtype == np.float64 else self._to_float32
        for start in range(0, len(frame), ROWS_AT_ONCE):
            part = frame.rows(slice(start, start + ROWS_AT_ONCE))
            place = lambda row: self.describe_row(first_row + start + row)  # noqa: B023, E731
            rows[start : start + len(part)] = convert(part, place)
        return rows

    def features(self) -> Iterator[np.ndarray]:
        """Yield all rows in order, in double precision; infinities are an error."""
        exact = AdaptedTableFiles(self._files, self._adapter, np.float64)
        return exact.chunks(ROWS_AT_ONCE)

    def materialize(self) -> np.ndarray:
        """Return all converted rows as one array."""
        whole = np.empty((len(self), *self.schema.shape), self.schema.dtype)
        start = 0
        for chunk in self.chunks():
            whole[start : start + len(chunk)] = chunk
            start += len(chunk)
        return whole

    @property
    def can_be_shared(self) -> bool:
        """Whether there is an array of all rows: never."""
        return False

    def describe_row(self, row: int) -> str:
        """Name a row by its file."""
        return self._files.describe_row(row)

    def fingerprint(self) -> str:
        """Return a digest of the files and the columns."""
        return self._files.fingerprint()

    def _to_float32(self, batch: object, place: object) -> np.ndarray:
        return converted(self._adapter, batch, place)  # type: ignore[arg-type]
