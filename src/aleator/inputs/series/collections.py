"""Series in data frames, as sktime and aeon have them: in cells, or under two levels of index."""

from __future__ import annotations

from typing import Any

import numpy as np

from aleator.inputs.series.source import SeriesSource, checked_series


def series_of_frame(X: Any, *, asked: bool = False) -> SeriesSource | None:
    """Return the series of a frame whose cells are series; None for any other frame.

    Parameters
    ----------
    X : data frame
        A row per series and a column per channel, or, in pandas, rows under an index of series and
        time.
    asked : bool, default=False
        Whether X is said to be series. Only then is a frame with an index of two levels taken for
        them, since it may as well be a table.

    Returns
    -------
    SeriesSource or None

    Examples
    --------
    >>> import pandas as pd
    >>> nested = pd.DataFrame({"a": [pd.Series([1.0, 2.0]), pd.Series([3.0])]})
    >>> [one.tolist() for one in series_of_frame(nested).gather(np.arange(2))]
    [[[1.0, 2.0]], [[3.0]]]
    """
    index = getattr(X, "index", None)
    if asked and getattr(index, "nlevels", 1) == 2:
        return _of_two_levels(X)
    columns = _cells(X)
    if not columns or not all(_are_series(cells) for cells in columns.values()):
        return None
    series = []
    for row, cells in enumerate(zip(*columns.values(), strict=True)):
        series.append(
            _joined(
                [
                    np.zeros(0) if cell is None else checked_series(cell, f"row {row}")[0]
                    for cell in cells
                ]
            )
        )
    return SeriesSource(series, None, list(columns))


def _joined(channels: list[np.ndarray]) -> np.ndarray:
    """Channels of different lengths as one array; shorter ones continue with NaN."""
    longest = max(len(channel) for channel in channels)
    whole = np.full((len(channels), longest), np.nan)
    for row, channel in enumerate(channels):
        whole[row, : len(channel)] = channel
    return whole


def _cells(X: Any) -> dict[str, list[Any]]:
    """Columns as lists of cells, if all of them may hold series; else none."""
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow":
        if not all(str(field.type).startswith(("list", "large_list")) for field in X.schema):
            return {}
        return {name: X.column(name).to_pylist() for name in X.column_names}
    if library == "polars":
        if not all(str(dtype).startswith(("List", "Array")) for dtype in X.dtypes):
            return {}
        return {name: X[name].to_list() for name in X.columns}
    if not hasattr(X, "iloc") or len(X) == 0:
        return {}
    if any(str(dtype) != "object" for dtype in X.dtypes):
        return {}
    return {str(name): X.iloc[:, k].tolist() for k, name in enumerate(X.columns)}


def _are_series(cells: list[Any]) -> bool:
    known = [cell for cell in cells if cell is not None]
    if not known:
        return False
    return all(
        isinstance(cell, list) or (hasattr(cell, "shape") and len(cell.shape) == 1)
        for cell in known
    )


def _of_two_levels(X: Any) -> SeriesSource:
    """Rows under an index of series and time, in the order of both."""
    ids = X.index.get_level_values(0)
    names = [str(name) for name in X.columns]
    values = np.stack([np.asarray(X.iloc[:, k], np.float64) for k in range(len(names))])
    _, first, inverse = np.unique(np.asarray(ids), return_index=True, return_inverse=True)
    order = np.argsort(first)  # series in the order in which they appear
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rows = np.lexsort((np.asarray(X.index.get_level_values(1)), rank[inverse]))
    ends = np.cumsum(np.bincount(rank[inverse]))
    parts = np.split(values[:, rows], ends[:-1], axis=1)
    return SeriesSource(parts, None, names)
