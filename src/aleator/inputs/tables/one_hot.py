"""Categories that were one-hot encoded before: groups of columns of which one is always set."""

from __future__ import annotations

from typing import Any

import numpy as np

# Columns of fewer rows have two values at most, whatever they are.
_FEWEST_ROWS = 3


def one_hot_groups(values: np.ndarray) -> list[slice]:
    """Find neighboring columns of which every row has set exactly one.

    Columns are indicators if they have two values, the larger of which means that they are set. A
    constant column between indicators is one of a category that the rows do not have.

    Parameters
    ----------
    values : ndarray of shape (n, columns)
        Rows of a table of numbers.

    Returns
    -------
    list of slice
        Groups of at least two columns, which do not overlap, from left to right.

    Examples
    --------
    >>> one_hot_groups(np.array([[0.5, 1, 0, 0], [0.1, 0, 0, 1], [0.9, 1, 0, 0]]))
    [slice(1, 4, None)]
    """
    if len(values) < _FEWEST_ROWS:
        return []
    lowest, highest = values.min(axis=0), values.max(axis=0)
    is_set = (values == highest) & (lowest < highest)
    is_indicator = (is_set | (values == lowest)).all(axis=0)
    # How many columns before each one a row has set; groups are differences of two of them.
    before = np.zeros((len(values), values.shape[1] + 1), np.int32)
    np.cumsum(is_set & is_indicator, axis=1, out=before[:, 1:])
    groups: list[slice] = []
    for start in np.flatnonzero(is_indicator & (lowest < highest)).tolist():
        if groups and start < groups[-1].stop:
            continue
        end = _end_of_group(before, start, _end_of_run(is_indicator, start))
        if end is not None:
            groups.append(slice(start, end))
    return groups


def read_groups(stored: Any, n_columns: int) -> list[slice]:
    """Make groups of the bounds in a saved model; ValueError if they are not groups of columns.

    Parameters
    ----------
    stored : list of list of int
        Start and stop of every group.
    n_columns : int
        Number of columns.

    Returns
    -------
    list of slice

    Examples
    --------
    >>> read_groups([[1, 4]], 4)
    [slice(1, 4, None)]
    """
    groups: list[slice] = []
    if not isinstance(stored, list):
        raise ValueError("the groups of columns are wrong")
    for bounds in stored:
        whole = isinstance(bounds, list) and all(type(bound) is int for bound in bounds)
        if not whole or len(bounds) != 2:
            raise ValueError("the groups of columns are wrong")
        start, stop = bounds
        if not (groups[-1].stop if groups else 0) <= start < stop <= n_columns:
            raise ValueError("the groups of columns overlap, or there are no such columns")
        groups.append(slice(start, stop))
    return groups


def _end_of_run(is_indicator: np.ndarray, start: int) -> int:
    """Position after the last of the indicators that begin at a column."""
    others = np.flatnonzero(~is_indicator[start:])
    return start + int(others[0]) if len(others) else len(is_indicator)


def _end_of_group(before: np.ndarray, start: int, stop: int) -> int | None:
    """First position up to which every row has set a column, if none has set two; else None."""
    low, high = start, stop
    while low < high:  # the least number of set columns grows with the position
        middle = (low + high) // 2
        if (before[:, middle] - before[:, start]).min() >= 1:
            high = middle
        else:
            low = middle + 1
    counts = before[:, low] - before[:, start]
    return low if low > start + 1 and (counts == 1).all() else None
