"""How the learning rate moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

SCHEDULES = ("constant", "cosine")
# Warm-up starts at this share of the rate (the MIMIC-III recipe: from 1e-5 to 1e-3).
_WARMUP_START = 0.01


@dataclass(frozen=True)
class Schedule:
    """Share of the full learning rate at every step: linear warm-up, then constant or a cosine.

    >>> schedule = Schedule("cosine", total=110, warmup=10)
    >>> [round(schedule.share(step), 3) for step in (0, 5, 10, 60, 110)]
    [0.01, 0.505, 1.0, 0.5, 0.0]
    """

    kind: str
    total: int
    warmup: int = 0

    def share(self, step: int) -> float:
        """The factor on the learning rate for the update number `step`, counted from zero."""
        if step < self.warmup:
            return _WARMUP_START + (1 - _WARMUP_START) * step / self.warmup
        if self.kind == "constant":
            return 1.0
        done = (step - self.warmup) / max(1, self.total - self.warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    @property
    def moves(self) -> bool:
        """Whether the rate ever changes."""
        return self.kind != "constant" or self.warmup > 0
