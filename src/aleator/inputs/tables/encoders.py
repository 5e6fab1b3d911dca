"""What becomes of the values of one column: features, as a function that is stored as data."""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from aleator.inputs.frames import Frame
from aleator.inputs.frames.base import INSTANT
from aleator.inputs.tables.values import Place, instants_of, numbers_of, texts_of

# A model that was saved has no more categories per column than this.
MOST_CATEGORIES = 1 << 12


class ColumnEncoder(ABC):
    """Makes features of one column. A row without a value has NaN, or a feature of its own.

    Attributes
    ----------
    treatment : str
        Name of the class in saved models.
    """

    treatment: ClassVar[str]

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of features."""

    @abstractmethod
    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return the features of a column as float64 of shape (n, n_outputs)."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What is done, in words."""

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays of what was learned."""
        return {}

    @classmethod
    @abstractmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
        """Make an encoder of what `to_dict` and `arrays` returned; ValueError if it cannot be."""


@dataclass(frozen=True)
class LeftOut(ColumnEncoder):
    """A column without any value: no features."""

    treatment: ClassVar[str] = "left out"
    n_outputs: ClassVar[int] = 0
    description: ClassVar[str] = "left out"

    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return no features."""
        return np.empty((len(frame), 0))

    @classmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LeftOut:
        """Make an encoder; nothing is stored."""
        return cls()


@dataclass(frozen=True)
class Numbers(ColumnEncoder):
    """The number itself.

    Parameters
    ----------
    from_text : bool, default=False
        Whether the training data held text, of which all was numbers; other text is missing then.
    """

    treatment: ClassVar[str] = "number"
    n_outputs: ClassVar[int] = 1

    from_text: bool = False

    @property
    def description(self) -> str:
        """What is done, in words."""
        return "number, read from text" if self.from_text else "number"

    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return the numbers."""
        return numbers_of(frame, column, place, strict=not self.from_text)[:, None]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"from_text": self.from_text}

    @classmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Numbers:
        """Make an encoder of what `to_dict` returned."""
        return cls(_checked(stored["from_text"], bool))


@dataclass(frozen=True)
class TimesOfDay(ColumnEncoder):
    """The part of the day that is over, and its position on a circle."""

    treatment: ClassVar[str] = "time of day"
    n_outputs: ClassVar[int] = 3
    description: ClassVar[str] = "part of the day, and its sine and cosine"

    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return the part of the day, its sine and its cosine."""
        part = numbers_of(frame, column, place, strict=True)
        return np.column_stack([part, _on_circle(part * 1440, 1440)])

    @classmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TimesOfDay:
        """Make an encoder; nothing is stored."""
        return cls()


@dataclass(frozen=True)
class Dates(ColumnEncoder):
    """Days since 1970-01-01, parts of the date, and positions in the year and in the day.

    Parameters
    ----------
    format : str or None, default=None
        Format of dates that are text in the training data.
    """

    treatment: ClassVar[str] = "date"
    n_outputs: ClassVar[int] = 10

    format: str | None = None

    @property
    def description(self) -> str:
        """What is done, in words."""
        text = "" if self.format is None else f", read from text ({self.format})"
        return f"days, year, month, day, weekday, season, hour{text}"

    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return the parts of the dates."""
        instants = instants_of(frame, column, self.format)
        missing = np.isnat(instants)
        instants = np.where(missing, np.datetime64(0, "us"), instants)
        date = instants.astype("datetime64[D]")
        month, year = date.astype("datetime64[M]"), date.astype("datetime64[Y]")
        of_month = (date - month.astype("datetime64[D]")).astype(np.int64)
        of_year = (date - year.astype("datetime64[D]")).astype(np.int64)
        since = date.astype(np.int64)
        microseconds = (instants - date.astype(INSTANT)).astype(np.int64)
        parts = [
            since + microseconds / 86_400_000_000,
            1970 + year.astype(np.int64),
            1 + month.astype(np.int64) % 12,
            1 + of_month,
            (since + 3) % 7,  # 1970-01-01 was a Thursday; Monday is 0
            _on_circle(of_year, 366),
            microseconds / 3_600_000_000,
            _on_circle(microseconds // 60_000_000, 1440),
        ]
        features = np.column_stack(parts)
        features[missing] = np.nan
        return features

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"format": self.format}

    @classmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Dates:
        """Make an encoder of what `to_dict` returned."""
        format = stored["format"]
        if format is not None:
            # Whatever is no format cannot be read again from what it writes.
            when = datetime.datetime(2000, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
            datetime.datetime.strptime(when.strftime(_checked(format, str)), format)
        return cls(format)


@dataclass(frozen=True)
class Categories(ColumnEncoder):
    """One feature per category, which is 1 where the row has it.

    A category that was not in the training data, or was rare there, has none.

    Parameters
    ----------
    categories : tuple of str
        The categories.
    missing : bool, default=False
        Whether a missing value is a category, too; else it has no feature.
    rare : int, default=0
        Number of categories that are too rare to have a feature.
    """

    treatment: ClassVar[str] = "categories"

    categories: tuple[str, ...]
    missing: bool = False
    rare: int = 0
    _positions: dict[str | None, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known: Sequence[str | None] = [*self.categories, *([None] if self.missing else [])]
        positions = {category: position for position, category in enumerate(known)}
        object.__setattr__(self, "_positions", positions)

    @property
    def n_outputs(self) -> int:
        """Number of features."""
        return len(self.categories) + self.missing

    @property
    def description(self) -> str:
        """What is done, in words."""
        rare = f", {self.rare} rare ones without" if self.rare else ""
        missing = ", and one if it is missing" if self.missing else ""
        return f"one feature per category ({len(self.categories)}{rare}){missing}"

    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return an indicator per category."""
        texts = texts_of(frame, column)
        found = np.array([self._positions.get(text, -1) for text in texts], np.int64)
        features = np.zeros((len(found), self.n_outputs))
        rows = np.flatnonzero(found >= 0)
        features[rows, found[rows]] = 1
        return features

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"categories": list(self.categories), "missing": self.missing, "rare": self.rare}

    @classmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Categories:
        """Make an encoder of what `to_dict` returned."""
        categories = [_checked(item, str) for item in _checked(stored["categories"], list)]
        if len(set(categories)) != len(categories) or len(categories) > MOST_CATEGORIES:
            raise ValueError("the categories of a column are repeated, or too many")
        return cls(
            tuple(categories), _checked(stored["missing"], bool), _checked(stored["rare"], int)
        )


def _on_circle(position: np.ndarray, period: int) -> np.ndarray:
    """Return sine and cosine of a whole position in a period; NaN stays NaN."""
    # From a table, since the sine of NumPy may depend on the place of a value in an array.
    angles = [2 * math.pi * step / period for step in range(period)]
    table = np.array([[math.sin(angle), math.cos(angle)] for angle in angles])
    known = np.nan_to_num(np.floor(position)).astype(np.int64) % period
    found = table[known]
    found[np.isnan(position)] = np.nan
    return found


def _checked(value: Any, kind: type) -> Any:
    """Return a stored value if it is of a type; True is no number."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{value!r:.40} should be {kind.__name__}")
    return value
