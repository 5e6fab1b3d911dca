"""Differences between variants of LFR and its defaults, averaged over data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from scipy import stats

from aleator.benchmark.research_tables import is_default, labels_of
from aleator.benchmark.result_lines import Line, score

_CONFIDENCE = 0.95
_MINUS = "−"


@dataclass(frozen=True)
class Effect:
    """The mean difference of a variant from the defaults.

    Parameters
    ----------
    mean : float
        Percentage points, averaged over data sets.
    half_width : float or None
        Half of the width of the confidence interval over seeds; None if there is one seed only.
    n_datasets : int
        Number of data sets.

    Examples
    --------
    >>> print(Effect(-1.25, 0.5, 5)), print(Effect(0.25, 0.5, 5))
    **−1.2 ± 0.5**
    +0.2 ± 0.5
    (None, None)
    """

    mean: float
    half_width: float | None
    n_datasets: int

    @property
    def is_clear(self) -> bool:
        """Whether the confidence interval excludes zero."""
        return self.half_width is not None and abs(self.mean) > self.half_width

    def __str__(self) -> str:
        text = f"{self.mean:+.1f}".replace("-", _MINUS)
        if self.half_width is not None:
            text += f" ± {self.half_width:.1f}"
        return f"**{text}**" if self.is_clear else text


def effects(lines: Sequence[Line]) -> dict[str, dict[str, Effect]]:
    """Compare every variant of a study with the defaults, seed by seed.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of one study.

    Returns
    -------
    effects : dict of str to dict of str to Effect
        Effects with ``"few"`` and ``"all"`` labels, by variant. Data sets on which a variant is
        the default are left out.
    """
    defaults = {_place(line): score(line) for line in lines if is_default(line)}
    differences: dict[tuple[str, str], dict[str, list[float]]] = {}
    for line in lines:
        if not is_default(line) and _place(line) in defaults:
            labels = "all" if labels_of(line) == "all" else "few"
            by_dataset = differences.setdefault((line["variant"], labels), {})
            difference = score(line) - defaults[_place(line)]
            by_dataset.setdefault(line["dataset"], []).append(difference)
    found: dict[str, dict[str, Effect]] = {}
    for (variant, labels), by_dataset in differences.items():
        found.setdefault(variant, {})[labels] = _effect(by_dataset)
    return found


def _place(line: Line) -> tuple[str, int, str, float]:
    return line["dataset"], line["seed"], line["protocol"], line["epochs_scale"]


def _effect(by_dataset: Mapping[str, Sequence[float]]) -> Effect:
    """Average over data sets, which are fixed; only seeds are random."""
    mean = fmean(map(fmean, by_dataset.values()))
    repeated = [values for values in by_dataset.values() if len(values) > 1]
    if len(repeated) < len(by_dataset):
        return Effect(mean, None, len(by_dataset))
    error = math.sqrt(sum(variance(values) / len(values) for values in repeated)) / len(repeated)
    freedom = sum(len(values) - 1 for values in repeated)
    quantile = float(stats.t.ppf((1 + _CONFIDENCE) / 2, freedom))
    return Effect(mean, quantile * error, len(by_dataset))
