"""Columns of Arrow tables as numbers.

Numbers and truth values keep their value. Dates and times become days: dates and timestamps since
1970-01-01 (in UTC, if they have a time zone), times of day since midnight. A missing value becomes
NaN.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

# Rows that are turned from columns into rows at once: few enough to stay in the cache of a core.
_ROWS = 2048
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def import_pyarrow() -> Any:
    """Import pyarrow, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.dataset
        import pyarrow.fs
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "reading and writing tables in files needs pyarrow: pip install 'aleator[parquet]'"
        ) from error
    return pyarrow


def number_type(kind: Any) -> np.dtype | None:
    """Return the NumPy type for the values of a column, or None if they are not numbers.

    Parameters
    ----------
    kind : pyarrow.DataType
        Type of the column.

    Returns
    -------
    numpy.dtype or None
    """
    types = import_pyarrow().types
    if types.is_dictionary(kind):
        return number_type(kind.value_type)
    if types.is_boolean(kind):
        return np.dtype(np.int8)
    if types.is_integer(kind) or types.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    if types.is_null(kind) or types.is_decimal(kind) or _days_per_unit(kind) is not None:
        return np.dtype(np.float64)
    return None


def common_type(kinds: Iterable[Any]) -> np.dtype:
    """Return the floating-point type that holds the values of all columns.

    It is float32 if that is exact for the types of all columns, and float64 otherwise.
    """
    found = [number_type(kind) for kind in kinds]
    common = np.result_type(np.float32, *(dtype for dtype in found if dtype is not None))
    return np.dtype(np.float64) if common.itemsize > 4 else np.dtype(np.float32)


def fill_rows(rows: np.ndarray, batch: Any) -> None:
    """Write the columns of a record batch into the rows of an array.

    Parameters
    ----------
    rows : ndarray of shape (n, n_columns)
        Where to write.
    batch : pyarrow.RecordBatch
        A batch of n rows.
    """
    for field in batch.schema:
        if number_type(field.type) is None:
            raise ValueError(f"column {field.name!r} holds {field.type} in this file")
    values = [_numbers(column) for column in batch.columns]
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        for position, column in enumerate(values):
            part[:, position] = column[start : start + _ROWS]


def rows_of_table(table: Any) -> np.ndarray:
    """Return the values of a whole table, one row per row."""
    rows = np.empty((table.num_rows, table.num_columns), common_type(table.schema.types))
    start = 0
    for batch in table.to_batches():
        fill_rows(rows[start : start + batch.num_rows], batch)
        start += batch.num_rows
    return rows


def _numbers(column: Any) -> np.ndarray:
    """Return the values of a column, in any numeric type; NaN where they are missing."""
    pa = import_pyarrow()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif (units := _days_per_unit(kind)) is not None:
        whole = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        return whole.to_numpy(zero_copy_only=False) / units
    return column.to_numpy(zero_copy_only=False)


def _days_per_unit(kind: Any) -> int | None:
    """Return how many units of a date or time are a day."""
    types = import_pyarrow().types
    if types.is_date(kind):
        return 1 if kind.bit_width == 32 else _PER_DAY["ms"]
    if types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind):
        return _PER_DAY[kind.unit]
    return None
