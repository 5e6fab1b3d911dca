"""What an evaluation returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a probe, one value a seed, and the seconds all of it took. Print it to read it.

    `chosen` holds what a probe picked on its validation part, one entry a seed.

    >>> result = Evaluation("linear classifier", {"accuracy": (0.9, 0.92)}, seconds=1.5)
    >>> round(result.mean("accuracy"), 3), round(result.deviation("accuracy"), 4)
    (0.91, 0.0141)
    >>> print(result)
    linear classifier, 2 seeds, 1.5 s
      accuracy           0.910 ± 0.014   0.900 0.920
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
        lines = [f"{self.probe}, {seeds} seed{'s' if seeds > 1 else ''}, {self.seconds:.1f} s"]
        for name in self.metrics:
            spread = f" ± {self.deviation(name):.3f}" if seeds > 1 else ""
            each = "   " + " ".join(f"{v:.3f}" for v in self.values(name)) if seeds > 1 else ""
            lines.append(f"  {name:<18} {self.mean(name):.3f}{spread}{each}")
        return "\n".join(lines)
