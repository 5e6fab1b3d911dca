"""Seconds of an epoch, from an estimator's history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def by_epoch(history: Sequence[dict[str, Any]]) -> list[float]:
    """The seconds of every epoch, over all its phases.

    >>> by_epoch([{"epoch": 0, "seconds": 1.0}, {"epoch": 0, "seconds": 0.5}])
    [1.5]
    """
    if not history:
        raise ValueError("the method trains nothing that could be timed by the epoch")
    seconds = [0.0] * (1 + max(record["epoch"] for record in history))
    for record in history:
        seconds[record["epoch"]] += record["seconds"]
    return seconds


def steady(seconds: Sequence[float]) -> float:
    """Mean of all but the first, which holds capture and warm-up, unless there is no other.

    >>> steady([9.0, 1.0, 2.0]), steady([9.0])
    (1.5, 9.0)
    """
    return round(float(np.mean(seconds[1:] or seconds)), 5)
