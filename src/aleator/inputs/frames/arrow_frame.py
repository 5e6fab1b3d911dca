"""Tables of pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.frames.base import INSTANT, Frame, Kind, days, number_of


class ArrowFrame(Frame):
    """Columns of a pyarrow Table.

    Parameters
    ----------
    table : pyarrow.Table
        The table; it is not copied.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = ArrowFrame(pa.table({"city": ["Rome", None]}))
    >>> frame.kind(0).value, frame.texts(0)
    ('text', ['Rome', None])
    """

    def __init__(self, table: Any) -> None:
        super().__init__(table.column_names)
        self._table = table

    @classmethod
    def of(cls, X: Any) -> ArrowFrame:
        """Return a table or a record batch as a frame."""
        pa = import_pyarrow()
        return cls(pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X)

    def __len__(self) -> int:
        return self._table.num_rows

    def select(self, positions: Sequence[int]) -> ArrowFrame:
        """Return the columns at `positions`, in that order."""
        return ArrowFrame(self._table.select(list(positions)))

    def rows(self, index: slice | np.ndarray) -> ArrowFrame:
        """Return the rows of a slice, or those at an array of positions."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            return ArrowFrame(self._table.slice(start, max(0, stop - start)))
        # Only the chunks that have the rows: a take costs time for every chunk of its table.
        first, last = int(index.min(initial=len(self))), int(index.max(initial=-1))
        near = self._table.slice(first, max(0, last + 1 - first))
        return ArrowFrame(_without_views(near).take(index - first))

    def kind(self, column: int) -> Kind:
        """Return what the values of a column are."""
        types = import_pyarrow().types
        dtype = self._table.schema.types[column]
        if types.is_dictionary(dtype):
            return Kind.CATEGORY
        if types.is_boolean(dtype):
            return Kind.BOOLEAN
        if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
            return Kind.NUMBER
        if types.is_string(dtype) or types.is_large_string(dtype) or str(dtype) == "string_view":
            return Kind.TEXT
        if types.is_date(dtype) or types.is_timestamp(dtype):
            return Kind.DATE
        if types.is_time(dtype):
            return Kind.TIME
        if types.is_duration(dtype):
            return Kind.DURATION
        if types.is_null(dtype):
            return Kind.EMPTY
        raise self._cannot_be_used(column, f"{dtype} values")

    def numbers(self, column: int) -> np.ndarray:
        """Return a numeric column as float64; NaN where a value is missing."""
        pa = import_pyarrow()
        values = self._table.column(column)
        if pa.types.is_duration(values.type):
            return days(values.to_numpy())
        if pa.types.is_time(values.type):
            unit = np.dtype(f"timedelta64[{values.type.unit}]")
            whole = pa.int32() if values.type.bit_width == 32 else pa.int64()
            counts = values.cast(whole).fill_null(0).to_numpy().astype(np.int64)
            found = days(counts.astype(unit))
            found[values.is_null().to_numpy()] = np.nan
            return found
        if pa.types.is_decimal(values.type):
            return np.array([number_of(value) for value in values.to_pylist()], np.float64)
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        # NumPy has the gaps of whole numbers as float64, and rounds large numbers like all frames.
        return np.array(values.to_numpy(), np.float64)

    def instants(self, column: int) -> np.ndarray:
        """Return a column of dates as datetime64[us]; NaT where a value is missing."""
        values = self._table.column(column)
        return values.to_numpy().astype(INSTANT)

    def objects(self, column: int) -> list[Any]:
        """Return the values of a column as Python objects; None where missing."""
        try:
            values = self._table.column(column).to_pylist()
        except OverflowError as error:
            raise ValueError(
                f"column {self.names[column]!r} holds a date or time that Python does not have, "
                f"such as one after the year 9999: replace it by a missing value ({error})"
            ) from error
        if import_pyarrow().types.is_floating(self._table.schema.types[column]):
            values = [None if value != value else value for value in values]
        return values

    def has_gaps(self, column: int) -> bool:
        """Whether a value of the column is missing."""
        values = self._table.column(column)
        if import_pyarrow().types.is_floating(values.type):
            return bool(np.isnan(self.numbers(column)).any())
        return values.null_count > 0

    @property
    def native(self) -> Any:
        """The frame as an object of its library."""
        return self._table

    @property
    def nbytes(self) -> int:
        """Bytes that the table takes."""
        return int(self._table.nbytes)


def _without_views(table: Any) -> Any:
    """Copy views of text and bytes, of which pyarrow cannot choose rows."""
    pa = import_pyarrow()
    copied = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if copied.keys().isdisjoint(table.schema.types):
        return table
    fields = [field.with_type(copied.get(field.type, field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))
