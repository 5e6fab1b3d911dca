"""Observations at irregular times, and the grid of steps on which they are put.

Every step of the grid has the mean of what was observed of a variable within it, and NaN if nothing
was. A variable that does not change, such as an age, may be observed once, at the beginning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from aleator.inputs.series.source import SeriesSource
from aleator.inputs.sources import Schema, Source, chosen_rows

# The longest series of irregular times has about so many steps, unless a width is given.
_MOST_STEPS = 512
_QUANTILE = 0.75
# Times of which this share are equally far apart are regular, and are not thinned out.
_REGULAR_SHARE, _TOLERANCE = 0.9, 0.01
# Times are rounded: what is closer to the next step than this share of it is in the next step.
_ROUNDING = 1e-6
_CHUNK_VALUES = 1 << 22


@dataclass(frozen=True)
class Grid:
    """Steps of equal width.

    Parameters
    ----------
    width : float
        Width of a step: in the unit of the times, or in seconds if they are dates.
    start : float or None
        Time at which all series begin; None is the first time of each.
    dates : bool, default=False
        Whether times are dates.

    Examples
    --------
    >>> print(Grid(60.0, None))
    steps of 60 from the first time of a series; a step is the mean of what was observed in it
    """

    width: float
    start: float | None
    dates: bool = False

    def __str__(self) -> str:
        unit = " seconds" if self.dates else ""
        begin = "the first time of a series" if self.start is None else f"time {self.start:g}"
        return (
            f"steps of {self.width:g}{unit} from {begin}; a step is the mean of what was observed "
            "in it"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as a JSON value."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Make a grid from what `to_dict` returned; ValueError if it cannot be."""
        width, start, dates = stored["width"], stored["start"], stored["dates"]
        wrong = not isinstance(width, float) or not math.isfinite(width) or width <= 0
        wrong |= start is not None and not (isinstance(start, float) and math.isfinite(start))
        if wrong or not isinstance(dates, bool):
            raise ValueError("the grid of the series is wrong")
        return cls(width, start, dates)


class EventSeries(Source):
    """Observations of variables at any times, of several series.

    Made by `open_series`; see there. It can be passed to estimators as X.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        Identifiers of the series.
    series : ndarray of shape (m,), int64
        Series of every observation, as a position in `ids`.
    time : ndarray of shape (m,), float64
        Its time.
    variable : ndarray of shape (m,), int64
        Its variable, as a position in `channel_names`.
    value : ndarray of shape (m,), float64
        Its value; observations without one are left out.
    channel_names : list of str
        Names of the variables.
    width : float, default=None
        Width of the steps of the grid; None learns it.
    start : float, default=None
        Time at which all series begin; None is the first time of each.
    dates : bool, default=False
        Whether times are dates, in seconds.
    all_named : bool, default=False
        Whether a variable that is not among `channel_names` is an error, not a gap: columns.

    Attributes
    ----------
    ids : ndarray of shape (n,)
        Identifiers of the series, in the order of their embeddings.
    channel_names : list of str
        Names of the variables.

    Examples
    --------
    >>> one = np.zeros(4, np.int64)
    >>> events = EventSeries(np.array(["a"]), one, np.array([0.0, 10, 20, 40]), one,
    ...                      np.array([1.0, 2, 3, 4]), ["pulse"])
    >>> grid = events.learn_grid()
    >>> events.on_grid(grid, ["pulse"]).gather(np.array([0]))[0].tolist()
    [[1.0, 2.0, 3.0, nan, 4.0]]
    """

    modality = SeriesSource.modality
    in_memory = True
    labels: np.ndarray | None = None

    def __init__(
        self,
        ids: np.ndarray,
        series: np.ndarray,
        time: np.ndarray,
        variable: np.ndarray,
        value: np.ndarray,
        channel_names: list[str],
        width: float | None = None,
        start: float | None = None,
        dates: bool = False,
        all_named: bool = False,
    ) -> None:
        self.ids = ids
        self.channel_names = channel_names
        self.schema = Schema((), np.dtype(object))
        self._width, self._start, self._dates, self._all_named = width, start, dates, all_named
        order = np.lexsort((time, series))  # stable
        self._series, self._time = series[order], time[order]
        self._variable, self._value = variable[order], value[order]
        self._first = np.searchsorted(self._series, np.arange(len(ids) + 1))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: Any) -> Self:
        """Return some of the series: those of a slice, a mask or positions."""
        chosen = chosen_rows(len(self), index)
        parts = [np.arange(self._first[row], self._first[row + 1]) for row in chosen]
        events = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        series = np.repeat(np.arange(len(chosen)), [len(part) for part in parts])
        return type(self)(
            self.ids[chosen], series, self._time[events], self._variable[events],
            self._value[events], self.channel_names, self._width, self._start, self._dates,
            self._all_named,
        )  # fmt: skip

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the observations of series: an array of arrays (3, m) of times, variables, values.

        Estimators read them by way of `on_grid`.
        """
        found = np.empty(len(index), object)
        for position, row in enumerate(np.asarray(index).tolist()):
            events = slice(self._first[row], self._first[row + 1])
            parts = (self._time[events], self._variable[events], self._value[events])
            found[position] = np.stack([np.asarray(part, np.float64) for part in parts])
        return found

    def describe_row(self, row: int) -> str:
        """Name a series by its identifier."""
        return f"series {self.ids[row]}"

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return the observations of series as bytes, to compare them."""
        return b"\n".join(one.tobytes() for one in self.gather(index))

    def learn_grid(self) -> Grid:
        """Choose the grid: the width that was given, or the usual distance of two times.

        The width is the upper quartile of the distances of two successive times at which anything
        was observed, so that most steps have an observation; but wide enough for the longest series
        to have 512 steps, unless times are regular.

        Returns
        -------
        Grid
        """
        if self._width is not None:
            return Grid(float(self._width), self._start, self._dates)
        gaps = np.diff(self._time)[np.diff(self._series) == 0]
        gaps = gaps[gaps > 0]
        if len(gaps) == 0:
            return Grid(1.0, self._start, self._dates)
        width = float(np.quantile(gaps, _QUANTILE, method="lower"))
        regular = np.mean(np.abs(gaps / width - 1) < _TOLERANCE) >= _REGULAR_SHARE
        spans = self._since_start(self._start)
        longest = float(spans.max()) if len(spans) else 0.0
        if not regular:
            width = max(width, longest / _MOST_STEPS)
        return Grid(width, self._start, self._dates)

    def on_grid(self, grid: Grid, names: list[str]) -> GriddedSeries:
        """Put the observations on a grid.

        Parameters
        ----------
        grid : Grid
            The steps.
        names : list of str
            Variables, in the order of the channels. Others are left out.

        Returns
        -------
        GriddedSeries
        """
        if grid.dates != self._dates:
            given, expected = ("dates", "numbers") if self._dates else ("numbers", "dates")
            raise ValueError(
                f"the times of X are {given}, but those of the training are {expected}"
            )
        missing = [name for name in names if name not in self.channel_names]
        if missing and (self._all_named or len(missing) == len(names)):
            raise ValueError(
                f"X has no variable {missing[0]!r}, which the training data had; it has "
                f"{', '.join(self.channel_names[:8])}"
            )
        position = {name: k for k, name in enumerate(names)}
        channel = np.array([position.get(name, -1) for name in self.channel_names], np.int64)
        channel = channel[self._variable] if len(self._variable) else self._variable
        step = np.floor(self._since_start(grid.start) / grid.width + _ROUNDING)
        used = (channel >= 0) & (step >= 0)
        kept = self._series[used], channel[used], step[used].astype(np.int64), self._value[used]
        return GriddedSeries(self, len(names), names, *kept)

    def _since_start(self, start: float | None) -> np.ndarray:
        if start is not None:
            return self._time - start
        filled = self._first[:-1][self._first[1:] > self._first[:-1]]
        first = np.zeros(len(self.ids))
        first[self._series[filled]] = self._time[filled]
        return self._time - first[self._series]


class GriddedSeries(Source):
    """Observations on a grid; a series is made when it is read.

    Parameters
    ----------
    events : EventSeries
        The observations, for messages.
    n_channels : int
        Number of channels.
    channel_names : list of str
        Their names.
    series, channel, step : ndarray of shape (m,), int64
        Place of every observation, in the order of series.
    value : ndarray of shape (m,), float64
        Its value.
    """

    modality = SeriesSource.modality
    in_memory = True

    def __init__(
        self,
        events: EventSeries,
        n_channels: int,
        channel_names: list[str],
        series: np.ndarray,
        channel: np.ndarray,
        step: np.ndarray,
        value: np.ndarray,
    ) -> None:
        self._events = events
        self.n_channels = n_channels
        self.channel_names = channel_names
        self._channel, self._step, self._value = channel, step, value
        self._first = np.searchsorted(series, np.arange(len(events) + 1))
        self.longest = int(step.max()) + 1 if len(step) else 1
        self.schema = Schema((), np.dtype(object))

    def __len__(self) -> int:
        return len(self._events)

    @property
    def rows_per_chunk(self) -> int:
        """Series per chunk if nothing else is asked for."""
        return max(1, _CHUNK_VALUES // max(1, self.n_channels * self.longest))

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the series at `index`: an array of arrays (channels, time)."""
        found = np.empty(len(index), object)
        for position, row in enumerate(np.asarray(index).tolist()):
            part = slice(self._first[row], self._first[row + 1])
            step = self._step[part]
            n_steps = int(step.max()) + 1 if len(step) else 1
            cell = self._channel[part] * n_steps + step
            count = np.bincount(cell, minlength=self.n_channels * n_steps)
            total = np.bincount(cell, self._value[part], minlength=len(count))
            with np.errstate(invalid="ignore"):
                found[position] = (total / count).reshape(self.n_channels, n_steps)
        return found

    def describe_row(self, row: int) -> str:
        """Name a series by its identifier."""
        return self._events.describe_row(row)

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return the series at `index` as bytes, to compare them."""
        return self._events.row_bytes(index)
