"""What all frames have in common: rows, and columns of values that do not depend on the library.

Numbers are float64 with NaN for a missing value, instants are microseconds since 1970-01-01 (in
UTC, if they have a time zone) with NaT, and everything else is a Python object or None. Durations
and times of day are days.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

INSTANT = np.dtype("datetime64[us]")
_MICROSECONDS_PER_DAY = 86_400_000_000


class Kind(StrEnum):
    """What the values of a column are."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    CATEGORY = "category"
    DATE = "date"
    TIME = "time of day"
    DURATION = "duration"
    EMPTY = "empty"


# Kinds whose values `Frame.numbers` returns.
NUMERIC = (Kind.NUMBER, Kind.BOOLEAN, Kind.TIME, Kind.DURATION)


class Frame(ABC):
    """Rows of columns with names.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    """

    def __init__(self, names: Iterable[Any]) -> None:
        self.names = [str(name) for name in names]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def select(self, positions: Sequence[int]) -> Frame:
        """Return the columns at `positions`, in that order."""

    @abstractmethod
    def rows(self, index: slice | np.ndarray) -> Frame:
        """Return the rows of a slice, or those at an array of positions."""

    @abstractmethod
    def kind(self, column: int) -> Kind:
        """Return what the values of a column are, or raise ValueError if they cannot be used."""

    @abstractmethod
    def numbers(self, column: int) -> np.ndarray:
        """Return a numeric column as float64; NaN where a value is missing."""

    @abstractmethod
    def instants(self, column: int) -> np.ndarray:
        """Return a column of dates as datetime64[us]; NaT where a value is missing."""

    @abstractmethod
    def objects(self, column: int) -> list[Any]:
        """Return the values of a column of any kind as Python objects; None where missing."""

    @abstractmethod
    def has_gaps(self, column: int) -> bool:
        """Whether a value of the column is missing."""

    @property
    @abstractmethod
    def native(self) -> Any:
        """The frame as an object of its library."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the frame takes, roughly."""

    def texts(self, column: int) -> list[str | None]:
        """Return the values of a column as text, without spaces around it; None where missing."""
        return [None if value is None else _to_text(value) for value in self.objects(column)]

    def row_bytes(self) -> bytes:
        """Return all values as bytes, to compare them with those of another frame."""
        return b"\n".join(_bytes_of(self.objects(column)) for column in range(len(self.names)))

    def find(self, names: Sequence[str]) -> list[int]:
        """Return the positions of columns; ValueError lists those that there are not."""
        known = {name: position for position, name in enumerate(self.names)}
        if missing := [name for name in names if name not in known]:
            raise ValueError(
                "The feature names should match those that were passed during fit: there is no "
                f"{listed(missing)}; the table has {listed(self.names)}"
            )
        return [known[name] for name in names]

    def check_names(self) -> None:
        """Raise ValueError if two columns have the same name."""
        if repeated := [name for name, count in Counter(self.names).items() if count > 1]:
            raise ValueError(
                f"X has more than one {listed(repeated)}: columns are found by their names, so "
                "rename or drop all but one"
            )

    def _cannot_be_used(self, column: int, what: Any) -> ValueError:
        return ValueError(
            f"column {self.names[column]!r} holds {what}, of which no features can be made: "
            "convert it to numbers, text or dates, or drop it"
        )


def _bytes_of(values: list[Any]) -> bytes:
    """Return values as bytes; as text, numbers with a point would take longer than all others."""
    if {*map(type, values)} <= {float, type(None)}:
        return np.array(values, np.float64).tobytes()
    return repr(values).encode()


def listed(names: Sequence[str]) -> str:
    """Name columns in a message.

    Examples
    --------
    >>> listed(["age", "pay"])
    "columns 'age', 'pay'"
    """
    shown = ", ".join(repr(name) for name in names[:20]) + (", …" if len(names) > 20 else "")
    return f"column{'s' * (len(names) != 1)} {shown}"


def days(microseconds: np.ndarray) -> np.ndarray:
    """Return durations as days: from timedelta64 of any unit, or from whole microseconds."""
    if microseconds.dtype.kind != "m":
        return microseconds / _MICROSECONDS_PER_DAY
    missing = np.isnat(microseconds)
    whole = microseconds.astype("timedelta64[us]").astype(np.int64)
    return np.where(missing, np.nan, whole / _MICROSECONDS_PER_DAY)


def number_of(value: Any) -> float:
    """Return a Python object of a numeric column as a number.

    Examples
    --------
    >>> number_of(datetime.time(6)), number_of(None), number_of(True)
    (0.25, nan, 1.0)
    """
    if value is None:
        return float("nan")
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return (seconds * 1_000_000 + value.microsecond) / _MICROSECONDS_PER_DAY
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1) / _MICROSECONDS_PER_DAY
    return float(value)


def instant_of(value: Any) -> np.datetime64:
    """Return a date or a time stamp; one with a time zone in UTC.

    Examples
    --------
    >>> instant_of(datetime.date(2024, 2, 1))
    np.datetime64('2024-02-01T00:00:00.000000')
    """
    if value is None:
        return np.datetime64("NaT", "us")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # as the same column without a gap would have it
    return str(value).strip()
