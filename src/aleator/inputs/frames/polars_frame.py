"""Data frames of polars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aleator.inputs.frames.base import INSTANT, Frame, Kind, days, number_of


class PolarsFrame(Frame):
    """Columns of a polars DataFrame.

    Parameters
    ----------
    frame : polars.DataFrame
        The frame; it is not copied.

    Examples
    --------
    >>> import polars as pl
    >>> frame = PolarsFrame(pl.DataFrame({"pay": [1, None]}))
    >>> frame.kind(0).value, frame.numbers(0).tolist()
    ('number', [1.0, nan])
    """

    def __init__(self, frame: Any) -> None:
        super().__init__(frame.columns)
        self._frame = frame

    def __len__(self) -> int:
        return self._frame.height

    def select(self, positions: Sequence[int]) -> PolarsFrame:
        """Return the columns at `positions`, in that order."""
        return PolarsFrame(self._frame[:, list(positions)])

    def rows(self, index: slice | np.ndarray) -> PolarsFrame:
        """Return the rows of a slice, or those at an array of positions."""
        return PolarsFrame(self._frame[index])

    def kind(self, column: int) -> Kind:
        """Return what the values of a column are."""
        import polars as pl

        dtype = self._frame.dtypes[column]
        if dtype == pl.Boolean:
            return Kind.BOOLEAN
        if dtype.is_numeric():
            return Kind.NUMBER
        if dtype == pl.String:
            return Kind.TEXT
        if dtype in (pl.Categorical, pl.Enum):
            return Kind.CATEGORY
        if dtype in (pl.Date, pl.Datetime):
            return Kind.DATE
        if dtype == pl.Time:
            return Kind.TIME
        if dtype == pl.Duration:
            return Kind.DURATION
        if dtype == pl.Null:
            return Kind.EMPTY
        raise self._cannot_be_used(column, f"{dtype} values")

    def numbers(self, column: int) -> np.ndarray:
        """Return a numeric column as float64; NaN where a value is missing."""
        import polars as pl

        series = self._series(column)
        if series.dtype == pl.Duration:
            return days(series.to_numpy())
        if series.dtype == pl.Time:
            return days(series.to_physical().cast(pl.Float64).to_numpy() // 1000)
        if series.dtype.is_decimal():  # by way of Python, whose rounding is that of all frames
            return np.array([number_of(value) for value in series.to_list()], np.float64)
        # A copy, since polars' own memory cannot be written.
        return np.array(series.cast(pl.Float64).to_numpy(), np.float64)

    def instants(self, column: int) -> np.ndarray:
        """Return a column of dates as datetime64[us]; NaT where a value is missing."""
        import polars as pl

        series = self._series(column)
        if series.dtype == pl.Datetime:
            series = series.dt.replace_time_zone(None) if series.dtype.time_zone is None else (
                series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            )  # fmt: skip
        return series.to_numpy().astype(INSTANT)

    def objects(self, column: int) -> list[Any]:
        """Return the values of a column as Python objects; None where missing."""
        import polars as pl

        series = self._series(column)
        if series.dtype.is_float():
            series = series.fill_nan(None)
        if series.dtype in (pl.Categorical, pl.Enum):
            series = series.cast(pl.String)
        return series.to_list()

    def has_gaps(self, column: int) -> bool:
        """Whether a value of the column is missing."""
        series = self._series(column)
        nan = series.dtype.is_float() and bool(series.is_nan().any())
        return nan or series.null_count() > 0

    @property
    def native(self) -> Any:
        """The frame as an object of its library."""
        return self._frame

    @property
    def nbytes(self) -> int:
        """Bytes that the frame takes."""
        return int(self._frame.estimated_size())

    def _series(self, column: int) -> Any:
        return self._frame.to_series(column)
