"""`aleator.open_series`: series in files, lists and frames of observations as a source."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from aleator.inputs.frames import Frame, Kind, as_frame, is_frame
from aleator.inputs.frames.base import INSTANT, NUMERIC
from aleator.inputs.series.events import EventSeries
from aleator.inputs.series.source import SeriesSource, as_series, series_of_list
from aleator.inputs.series.ts_files import is_ts_path, read_ts
from aleator.inputs.sources import Source
from aleator.validation import check_optional_number


def open_series(
    data: Any,
    *,
    id: Any = None,
    time: Any = None,
    variable: Any = None,
    value: Any = None,
    bin_width: float | None = None,
    start: float | None = None,
) -> SeriesSource | EventSeries:
    """Open a collection of series, a file of them, or a frame of observations.

    The result can be passed to `fit` and `transform` of all estimators that take series of
    different lengths and with gaps.

    Parameters
    ----------
    data : data frame, path, or list of arrays
        A frame of pandas, polars or pyarrow with a row per observation (`id` is given) or a cell
        per series; a file that ends in ``.ts`` or ``.ts.gz``; or a list of arrays of shape
        (channels, time) or (time,).
    id : str, default=None
        Column that says which series an observation belongs to.
    time : str, default=None
        Column of times: numbers, dates or durations. None takes rows as they come, one step each.
    variable : str, default=None
        Column that names what was observed, if `value` is the column of its value. None: every
        other column is a variable.
    value : str, default=None
        Column of values.
    bin_width : float, default=None
        Width of the steps on which observations are put, in the unit of `time`; in seconds if times
        are dates, and in days if they are durations. None learns it in `fit`: the upper quartile of
        the distances of two successive times of a series, but wide enough for the longest series to
        have 512 steps.
    start : float, default=None
        Time at which all series begin, if times are numbers. None is the first time of each series.

    Returns
    -------
    SeriesSource or EventSeries
        ``series[index]`` is a part of it. `ids` are the identifiers of observations, in the order
        of the embeddings; `labels` are those of a file; `channel_names` are the variables.

    Examples
    --------
    >>> import pandas as pd
    >>> stays = pd.DataFrame({"stay": [7, 7, 7, 9], "minute": [0, 5, 60, 0],
    ...                       "what": ["pulse", "pulse", "temperature", "pulse"],
    ...                       "value": [80.0, 90.0, 37.2, 65.0]})
    >>> series = open_series(stays, id="stay", time="minute", variable="what", value="value")
    >>> len(series), series.ids.tolist(), series.channel_names
    (2, [7, 9], ['pulse', 'temperature'])
    """
    check_optional_number("bin_width", bin_width, 0, include_low=False)
    check_optional_number("start", start, -np.inf)
    if id is None:
        given = {"time": time, "variable": variable, "value": value, "bin_width": bin_width}
        if named := [name for name, choice in given.items() if choice is not None]:
            raise ValueError(f"{named[0]} is given, but no id: name the column of identifiers")
        return _open_collection(data)
    if not is_frame(data):
        raise ValueError(
            f"id is given, but data is {type(data).__name__}: observations are read from a data "
            "frame of pandas or polars, or a table of pyarrow"
        )
    frame = as_frame(data)
    frame.check_names()
    if (variable is None) != (value is None):
        raise ValueError("variable and value belong together: give both columns, or none")
    if len(frame) == 0:
        raise ValueError("the frame has no rows: 0 sample(s)")
    ids, series = _identifiers(frame, str(id))
    times, dates = _times(frame, time, series)
    if dates and start is not None:
        raise ValueError("start is a number, but times are dates: leave it out")
    if variable is not None:
        names, which = _names(frame, str(variable))
        known = _values(frame, str(value))
        all_named = False
    else:
        others = [n for n in frame.names if n not in (str(id), None if time is None else str(time))]
        if not others:
            raise ValueError("the frame has no column besides id and time: there are no variables")
        columns = [_values(frame, name) for name in others]
        names, known, all_named = others, np.concatenate(columns), True
        which = np.repeat(np.arange(len(others)), len(frame))
        series, times = np.tile(series, len(others)), np.tile(times, len(others))
    observed = ~np.isnan(known)
    return EventSeries(
        ids, series[observed], times[observed], which[observed], known[observed], names,
        None if bin_width is None else float(bin_width), None if start is None else float(start),
        dates, all_named,
    )  # fmt: skip


def _open_collection(data: Any) -> SeriesSource | EventSeries:
    if isinstance(data, (str, os.PathLike)):
        if is_ts_path(data):
            return read_ts(data)
        raise ValueError(
            f"{os.fspath(data)!r} does not end in .ts or .ts.gz: read it as a data frame, and name "
            "its columns as open_series(frame, id=…, time=…)"
        )
    if isinstance(data, np.ndarray) and data.ndim in (1, 3):
        data = list(data)
    if isinstance(data, (list, tuple)) and len(data):
        return series_of_list(data)
    found: Source | None = as_series(data, asked=True)
    if not isinstance(found, (SeriesSource, EventSeries)):
        raise ValueError(
            f"{type(data).__name__} is not a collection of series: give a list of arrays, a path "
            "that ends in .ts, or a data frame and id=the column of identifiers"
        )
    return found


def _column(frame: Frame, name: str, role: str) -> int:
    if name not in frame.names:
        raise ValueError(
            f"{role}={name!r}, but there is no such column; there are {', '.join(frame.names[:8])}"
        )
    return frame.names.index(name)


def _factorized(values: list[Any], role: str) -> tuple[list[Any], np.ndarray]:
    """Distinct values in the order in which they appear, and the position of each value."""
    position: dict[Any, int] = {}
    found = np.fromiter(
        (position.setdefault(value, len(position)) for value in values), np.int64, len(values)
    )
    if None in position:
        row = int(np.flatnonzero(found == position[None])[0])
        raise ValueError(f"the column {role} has no value in row {row}")
    return list(position), found


def _identifiers(frame: Frame, name: str) -> tuple[np.ndarray, np.ndarray]:
    distinct, series = _factorized(frame.objects(_column(frame, name, "id")), f"id={name!r}")
    return np.array(distinct), series


def _names(frame: Frame, name: str) -> tuple[list[str], np.ndarray]:
    distinct, which = _factorized(
        frame.texts(_column(frame, name, "variable")), f"variable={name!r}"
    )
    # In alphabetical order, so that channels do not depend on the order of rows.
    order = sorted(range(len(distinct)), key=distinct.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return [distinct[k] for k in order], rank[which]


def _times(frame: Frame, name: Any, series: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return times as numbers, and whether they are dates, which become seconds."""
    if name is None:  # the rank of a row within its series
        order = np.argsort(series, kind="stable")
        first = np.searchsorted(series[order], series[order])
        times = np.empty(len(series))
        times[order] = np.arange(len(series)) - first
        return times, False
    column = _column(frame, str(name), "time")
    kind = frame.kind(column)
    if kind is Kind.DATE:
        instants = frame.instants(column)
        times = instants.astype(INSTANT).astype(np.int64) / 1e6
        times[np.isnat(instants)] = np.nan
    elif kind in NUMERIC:
        times = frame.numbers(column)
    else:
        raise ValueError(
            f"time={str(name)!r} holds {kind.value} values, but times are numbers, dates or "
            "durations: convert the column, for example with pandas.to_datetime"
        )
    if not np.isfinite(times).all():
        row = int(np.flatnonzero(~np.isfinite(times))[0])
        raise ValueError(f"the column time={str(name)!r} has no time in row {row}")
    return times, kind is Kind.DATE


def _values(frame: Frame, name: str) -> np.ndarray:
    column = _column(frame, name, "value")
    kind = frame.kind(column)
    if kind is Kind.EMPTY:
        return np.full(len(frame), np.nan)
    if kind not in NUMERIC:
        raise ValueError(
            f"column {name!r} holds {kind.value} values, but what was observed must be numbers: "
            "encode it, or leave the column out"
        )
    return frame.numbers(column)
