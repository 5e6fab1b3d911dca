"""Schedules of the learning rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

SCHEDULES = ("constant", "cosine")
# Warm-up starts at this share of the learning rate (the MIMIC-III recipe: from 1e-5 to 1e-3).
_WARMUP_START = 0.01


@dataclass(frozen=True)
class Schedule:
    """Factor on the learning rate: linear warm-up, then constant or a cosine.

    Parameters
    ----------
    kind : {"constant", "cosine"}
        What follows the warm-up.
    total : int
        Number of steps, including the warm-up.
    warmup : int, default=0
        Steps of warm-up.

    Examples
    --------
    >>> schedule = Schedule("cosine", total=110, warmup=10)
    >>> [round(schedule.factor(step), 3) for step in (0, 5, 10, 60, 110)]
    [0.01, 0.505, 1.0, 0.5, 0.0]
    """

    kind: str
    total: int
    warmup: int = 0

    def factor(self, step: int) -> float:
        """Factor on the learning rate at a step, counted from zero."""
        if step < self.warmup:
            return _WARMUP_START + (1 - _WARMUP_START) * step / self.warmup
        if self.kind == "constant":
            return 1.0
        done = (step - self.warmup) / max(1, self.total - self.warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    @property
    def is_constant(self) -> bool:
        """Whether the factor is always one."""
        return self.kind == "constant" and self.warmup == 0
