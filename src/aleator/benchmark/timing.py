"""Seconds per epoch, from the history of an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def by_epoch(history: Sequence[dict[str, Any]]) -> list[float]:
    """Sum the seconds of all phases of every epoch.

    Parameters
    ----------
    history : sequence of dict
        Attribute ``history_`` of an estimator.

    Returns
    -------
    seconds : list of float
        Seconds of every epoch.

    Raises
    ------
    ValueError
        If the history is empty.

    Examples
    --------
    >>> by_epoch([{"epoch": 0, "seconds": 1.0}, {"epoch": 0, "seconds": 0.5}])
    [1.5]
    """
    if not history:
        raise ValueError("the method has no training epochs to time")
    seconds = [0.0] * (1 + max(record["epoch"] for record in history))
    for record in history:
        seconds[record["epoch"]] += record["seconds"]
    return seconds


def steady(seconds: Sequence[float]) -> float:
    """Average over all epochs but the first, which includes graph capture and warm-up.

    Parameters
    ----------
    seconds : sequence of float
        Seconds of every epoch. If there is only one, it is returned.

    Returns
    -------
    mean : float
        Seconds per epoch, rounded to five digits.

    Examples
    --------
    >>> steady([9.0, 1.0, 2.0]), steady([9.0])
    (1.5, 9.0)
    """
    return round(float(np.mean(seconds[1:] or seconds)), 5)
