"""The result of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

# Length of the longest metric name, so that the tables of several probes line up.
_NAME_WIDTH = 17


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a probe or of a fine-tuned model, one value per seed.

    Printing it shows a table.

    Parameters
    ----------
    probe : str
        Name of the probe.
    metrics : dict of str to tuple of float
        Values of every metric, one per seed. The first metric is the main one.
    seconds : float
        Wall-clock time of the whole evaluation.
    chosen : tuple of dict, default=()
        Hyperparameters chosen on the validation set, one dict per seed. Empty if nothing was
        chosen.

    Attributes
    ----------
    main_metric : str
        Name of the first metric.

    Examples
    --------
    >>> result = Evaluation("linear classifier", {"accuracy": (0.9, 0.92)}, seconds=1.5)
    >>> round(result.mean("accuracy"), 3), round(result.std("accuracy"), 4)
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
    def from_seeds(
        cls,
        probe: str,
        metrics_per_seed: Sequence[Mapping[str, float]],
        seconds: float,
        chosen: Sequence[dict[str, float]] = (),
    ) -> Evaluation:
        """Combine the metrics of several seeds.

        Parameters
        ----------
        probe : str
            Name of the probe.
        metrics_per_seed : sequence of mapping of str to float
            Metrics of every seed, all with the same keys.
        seconds : float
            Wall-clock time of the whole evaluation.
        chosen : sequence of dict, default=()
            Hyperparameters chosen on the validation set, one dict per seed.

        Returns
        -------
        Evaluation
            The combined result.

        Raises
        ------
        ValueError
            If there is no seed.

        Examples
        --------
        >>> Evaluation.from_seeds("ridge", [{"r2": 0.5}, {"r2": 0.7}], seconds=0.1).values("r2")
        (0.5, 0.7)
        """
        if not metrics_per_seed:
            raise ValueError("seeds must contain at least one seed, got an empty sequence")
        metrics = {
            name: tuple(one_seed[name] for one_seed in metrics_per_seed)
            for name in metrics_per_seed[0]
        }
        return cls(probe, metrics, seconds, tuple(chosen))

    @property
    def main_metric(self) -> str:
        """Name of the first metric, which tables show."""
        return next(iter(self.metrics))

    def values(self, metric: str | None = None) -> tuple[float, ...]:
        """Values of a metric, one per seed.

        Parameters
        ----------
        metric : str, default=None
            Name of the metric. None means the main metric.

        Returns
        -------
        tuple of float
            One value per seed.
        """
        return self.metrics[metric or self.main_metric]

    def mean(self, metric: str | None = None) -> float:
        """Mean of a metric over seeds.

        Parameters
        ----------
        metric : str, default=None
            Name of the metric. None means the main metric.

        Returns
        -------
        float
            The mean.
        """
        return fmean(self.values(metric))

    def std(self, metric: str | None = None) -> float:
        """Sample standard deviation of a metric over seeds.

        Parameters
        ----------
        metric : str, default=None
            Name of the metric. None means the main metric.

        Returns
        -------
        float
            The standard deviation, with n - 1 in the denominator; 0 for a single seed.
        """
        values = self.values(metric)
        return stdev(values) if len(values) > 1 else 0.0

    def __str__(self) -> str:
        n_seeds = len(self.values())
        several = n_seeds > 1
        table = [
            [name, f"{self.mean(name):.3f}"]
            + ([f"± {self.std(name):.3f}", *(f"{v:.3f}" for v in values)] if several else [])
            for name, values in self.metrics.items()
        ]
        for name in self.chosen[0] if self.chosen else ():
            per_seed = [f"{choice[name]:g}" for choice in self.chosen]
            table.append([f"{name} chosen", *(["", ""] if several else []), *per_seed])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        widths[0] = max(widths[0], _NAME_WIDTH)
        lines = [f"{self.probe}, {n_seeds} seed{'s' if several else ''}, {self.seconds:.1f} s"]
        for name, *cells in table:
            cells = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            lines.append("  ".join(["", name.ljust(widths[0]), *cells]))
        return "\n".join(lines)
