"""Tables of results, made from lines and never typed: Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from scipy import stats

from aleator.benchmark import paper
from aleator.benchmark.recipes import METHODS

# These see labels while they train, so they are shown but never marked as the best.
_SUPERVISED = ("logreg", "supervised")


@dataclass(frozen=True)
class Cell:
    """Per cent, one value a seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return fmean(self.values)

    def spoken(self, plus_minus: str = "±") -> str:
        """Mean ± standard deviation.

        >>> Cell((80.0, 82.0)).spoken()
        '81.0 ± 1.4'
        """
        if len(self.values) == 1:
            return f"{self.mean:.1f}"
        return f"{self.mean:.1f} {plus_minus} {stdev(self.values):.1f}"


@dataclass(frozen=True)
class Comparison:
    """The best method of a column and its runner-up, with Welch's test between them."""

    best: str
    runner_up: str
    p_value: float


class AccuracyTable:
    """Methods by data sets, the paper's figure beside ours, under one protocol.

    >>> line = {"dataset": "har", "method": "lfr", "protocol": "paper", "epochs_scale": 1.0,
    ...         "metrics": {"accuracy": 0.93}}
    >>> print(AccuracyTable([line], "paper").markdown())
    | | har |
    | --- | --- |
    | LFR | **93.0** (93.1 ± 0.5) |
    """

    def __init__(self, lines: Iterable[dict[str, Any]], protocol: str) -> None:
        values: dict[tuple[str, str], list[float]] = {}
        self.quick = False
        for line in lines:
            # A classifier has one protocol, its own; it stands in every table.
            fits = line.get("protocol") == protocol or line["method"] in _SUPERVISED
            if "error" in line or not fits:
                continue
            self.quick |= line["epochs_scale"] != 1
            key = line["method"], line["dataset"]
            values.setdefault(key, []).append(100 * line["metrics"]["accuracy"])
        self.cells = {key: Cell(tuple(found)) for key, found in values.items()}
        self.datasets = [d for d in _datasets(self.cells)]
        self.methods = [m for m in METHODS if any(m == method for method, _ in self.cells)]

    def comparison(self, dataset: str) -> Comparison | None:
        """A data set's best self-supervised method against the next; None without a next."""
        ranked = sorted(
            (m for m, d in self.cells if d == dataset and m not in _SUPERVISED),
            key=lambda method: -self.cells[method, dataset].mean,
        )
        if len(ranked) < 2:
            return None
        first, second = (self.cells[method, dataset].values for method in ranked[:2])
        p_value = float("nan")
        if min(len(first), len(second)) > 1:
            p_value = float(stats.ttest_ind(first, second, equal_var=False).pvalue)
        return Comparison(ranked[0], ranked[1], p_value)

    def markdown(self) -> str:
        """For a README."""
        lines = [_row(["", *self.datasets]), _row(["---"] * (1 + len(self.datasets)))]
        lines += [_row(cells) for cells in self._rows("**{}**", "±")]
        return "\n".join(lines + self._remarks())

    def latex(self) -> str:
        """For a paper (with booktabs)."""
        lines = [
            rf"\begin{{tabular}}{{l{'c' * len(self.datasets)}}}",
            r"\toprule",
            rf" & {' & '.join(self.datasets)} \\",
            r"\midrule",
            *(rf"{' & '.join(cells)} \\" for cells in self._rows(r"\textbf{{{}}}", r"$\pm$")),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines + [f"% {remark}" for remark in self._remarks() if remark])

    def _rows(self, bold: str, plus_minus: str) -> list[list[str]]:
        best = {}
        for dataset in self.datasets:
            own = [m for m, d in self.cells if d == dataset and m not in _SUPERVISED]
            if own:
                best[dataset] = max(own, key=lambda method: self.cells[method, dataset].mean)
        rows = []
        for method in self.methods:
            row = [METHODS[method]]
            for dataset in self.datasets:
                cell = self.cells.get((method, dataset))
                text = "–" if cell is None else cell.spoken(plus_minus)
                if best.get(dataset) == method:
                    text = bold.format(text)
                known = paper.ACCURACY.get(dataset, {}).get(method)
                row.append(text + (f" ({_of_paper(known, plus_minus)})" if known else ""))
            rows.append(row)
        return rows

    def _remarks(self) -> list[str]:
        remarks = [
            f"{dataset}: {METHODS[found.best]} against {METHODS[found.runner_up]}, "
            f"Welch's test p = {found.p_value:.2g}"
            for dataset in self.datasets
            if (found := self.comparison(dataset)) is not None
        ]
        if self.quick:
            remarks.append("A quick look: trained for fewer epochs than the recipes say.")
        return ["", *remarks] if remarks else []


def _datasets(cells: Iterable[tuple[str, str]]) -> Sequence[str]:
    present = {dataset for _, dataset in cells}
    known = [dataset for dataset in paper.ACCURACY if dataset in present]
    return known + sorted(present - set(known))


def _of_paper(known: tuple[float, float | None], plus_minus: str) -> str:
    mean, deviation = known
    return f"{mean:.1f}" if deviation is None else f"{mean:.1f} {plus_minus} {deviation:.1f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")
