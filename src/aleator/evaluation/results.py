"""What an evaluation returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

# As long as the longest name of a metric, so that tables of several probes line up.
_NAME_WIDTH = 17


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a probe, one value a seed, and the seconds all of it took. Print it to read it.

    `chosen` holds what a probe picked on its validation part, one entry a seed.

    >>> result = Evaluation("linear classifier", {"accuracy": (0.9, 0.92)}, seconds=1.5)
    >>> round(result.mean("accuracy"), 3), round(result.deviation("accuracy"), 4)
    (0.91, 0.0141)
    >>> print(result)
    linear classifier, 2 seeds, 1.5 s
      accuracy           0.910  ± 0.014  0.900  0.920
    """

    probe: str
    metrics: dict[str, tuple[float, ...]]
    seconds: float
    chosen: tuple[dict[str, float], ...] = field(default=())

    @classmethod
    def collected(
        cls,
        probe: str,
        found: Sequence[Mapping[str, float]],
        seconds: float,
        chosen: Sequence[dict[str, float]] = (),
    ) -> Evaluation:
        """From the metrics of every seed.

        >>> Evaluation.collected("ridge", [{"r2": 0.5}, {"r2": 0.7}], seconds=0.1).values("r2")
        (0.5, 0.7)
        """
        if not found:
            raise ValueError("seeds must hold at least one seed")
        metrics = {metric: tuple(one[metric] for one in found) for metric in found[0]}
        return cls(probe, metrics, seconds, tuple(chosen))

    @property
    def main_metric(self) -> str:
        """The one that a table shows: the first."""
        return next(iter(self.metrics))

    def values(self, metric: str | None = None) -> tuple[float, ...]:
        """One value a seed."""
        return self.metrics[metric or self.main_metric]

    def mean(self, metric: str | None = None) -> float:
        """Mean over seeds."""
        return fmean(self.values(metric))

    def deviation(self, metric: str | None = None) -> float:
        """Standard deviation over seeds; zero for one seed."""
        values = self.values(metric)
        return stdev(values) if len(values) > 1 else 0.0

    def __str__(self) -> str:
        seeds = len(self.values())
        several = seeds > 1
        table = [
            [name, f"{self.mean(name):.3f}"]
            + ([f"± {self.deviation(name):.3f}", *(f"{v:.3f}" for v in values)] if several else [])
            for name, values in self.metrics.items()
        ]
        for name in self.chosen[0] if self.chosen else ():
            picked = [f"{choice[name]:g}" for choice in self.chosen]
            table.append([f"{name} chosen", *(["", ""] if several else []), *picked])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        widths[0] = max(widths[0], _NAME_WIDTH)
        lines = [f"{self.probe}, {seeds} seed{'s' if several else ''}, {self.seconds:.1f} s"]
        for name, *cells in table:
            cells = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            lines.append("  ".join(["", name.ljust(widths[0]), *cells]))
        return "\n".join(lines)
