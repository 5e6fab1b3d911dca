"""Data frames of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aleator.inputs.frames.base import INSTANT, Frame, Kind, days, instant_of, number_of

# What pandas.api.types.infer_dtype calls the values of a column of Python objects.
_OBJECTS = {
    "string": Kind.TEXT, "mixed": Kind.TEXT, "mixed-integer": Kind.TEXT,
    "boolean": Kind.BOOLEAN, "integer": Kind.NUMBER, "floating": Kind.NUMBER,
    "mixed-integer-float": Kind.NUMBER, "decimal": Kind.NUMBER, "integer-na": Kind.NUMBER,
    "date": Kind.DATE, "datetime": Kind.DATE, "datetime64": Kind.DATE,
    "time": Kind.TIME, "timedelta": Kind.DURATION, "timedelta64": Kind.DURATION,
    "categorical": Kind.CATEGORY, "empty": Kind.EMPTY,
}  # fmt: skip
_CONTAINERS = (bytes, bytearray, list, tuple, dict, set, np.ndarray, complex)


class PandasFrame(Frame):
    """Columns of a pandas DataFrame.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame; it is not copied.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = PandasFrame(pd.DataFrame({"city": ["Rome", None]}))
    >>> frame.kind(0).value, frame.texts(0)
    ('text', ['Rome', None])
    """

    def __init__(self, frame: Any) -> None:
        super().__init__(frame.columns)
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def select(self, positions: Sequence[int]) -> PandasFrame:
        """Return the columns at `positions`, in that order."""
        return PandasFrame(self._frame.iloc[:, list(positions)])

    def rows(self, index: slice | np.ndarray) -> PandasFrame:
        """Return the rows of a slice, or those at an array of positions."""
        return PandasFrame(self._frame.iloc[index])

    def kind(self, column: int) -> Kind:
        """Return what the values of a column are."""
        import pandas as pd

        series = self._frame.iloc[:, column]
        dtype = series.dtype
        types = pd.api.types
        if isinstance(dtype, pd.SparseDtype):
            dtype = dtype.subtype
        if types.is_object_dtype(dtype):
            return self._kind_of_objects(column, series)
        if isinstance(dtype, pd.CategoricalDtype):
            return Kind.CATEGORY
        if isinstance(dtype, pd.PeriodDtype) or types.is_datetime64_any_dtype(dtype):
            return Kind.DATE
        if types.is_timedelta64_dtype(dtype):
            return Kind.DURATION
        if types.is_bool_dtype(dtype):
            return Kind.BOOLEAN
        if types.is_complex_dtype(dtype):
            raise self._cannot_be_used(column, "complex numbers")
        if types.is_numeric_dtype(dtype):
            return Kind.NUMBER
        if types.is_string_dtype(dtype):
            return Kind.TEXT
        return self._kind_of_objects(column, series.astype(object))

    def numbers(self, column: int) -> np.ndarray:
        """Return a numeric column as float64; NaN where a value is missing."""
        import pandas as pd

        series = self._frame.iloc[:, column]
        dtype = series.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            return series.to_numpy().astype(np.float64)
        if isinstance(dtype, np.dtype) and dtype.kind == "m":
            return days(series.to_numpy())
        is_number = pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
        if is_number and not isinstance(dtype, np.dtype) and "decimal" not in str(dtype):
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.array([number_of(value) for value in self.objects(column)], np.float64)

    def instants(self, column: int) -> np.ndarray:
        """Return a column of dates as datetime64[us]; NaT where a value is missing."""
        import pandas as pd

        series = self._frame.iloc[:, column]
        if isinstance(series.dtype, pd.PeriodDtype):
            series = series.dt.to_timestamp()
        if isinstance(series.dtype, pd.DatetimeTZDtype):
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        if isinstance(series.dtype, np.dtype) and series.dtype.kind == "M":
            return series.to_numpy().astype(INSTANT)
        return np.array([instant_of(value) for value in self.objects(column)], INSTANT)

    def objects(self, column: int) -> list[Any]:
        """Return the values of a column as Python objects; None where missing."""
        import pandas as pd

        series = self._frame.iloc[:, column]
        if isinstance(series.dtype, pd.CategoricalDtype):
            categories = [*series.cat.categories.tolist(), None]  # the code of a gap is -1
            return [categories[code] for code in series.cat.codes.tolist()]
        missing = series.isna().to_numpy()
        values = series.astype(object).tolist()
        if missing.any():
            values = [
                None if gap else value for value, gap in zip(values, missing.tolist(), strict=True)
            ]
        return values

    def has_gaps(self, column: int) -> bool:
        """Whether a value of the column is missing."""
        return bool(self._frame.iloc[:, column].isna().any())

    @property
    def native(self) -> Any:
        """The frame as an object of its library."""
        return self._frame

    @property
    def nbytes(self) -> int:
        """Bytes that the frame takes."""
        return int(self._frame.memory_usage(index=False, deep=True).sum())

    def _kind_of_objects(self, column: int, series: Any) -> Kind:
        import pandas as pd

        found = pd.api.types.infer_dtype(series, skipna=True)
        if found == "mixed":
            for value in series:
                if isinstance(value, _CONTAINERS):
                    raise self._cannot_be_used(column, f"values such as {value!r:.40}")
        kind = _OBJECTS.get(found)
        if kind is None:
            raise self._cannot_be_used(column, f"{found} values")
        return kind
