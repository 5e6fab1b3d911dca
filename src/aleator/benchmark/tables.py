"""Tables of results, made from values and never typed: Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from scipy import stats

Known = tuple[float, float | None]  # the paper's mean, and its deviation if it gives one


@dataclass(frozen=True)
class Comparison:
    """The best row of a column and its runner-up, with Welch's test between them."""

    best: str
    runner_up: str
    p_value: float | None


@dataclass
class Table:
    """Rows by columns, one value a seed in each place; the paper's figure in brackets.

    The best of a column is set in bold; rows that are `apart` are shown but do not compete.
    Columns stand in the given `order`, any others after them.

    >>> table = Table("method")
    >>> table.add("LFR", "HAR", 93.0)
    >>> table.known["LFR", "HAR"] = (93.1, 0.5)
    >>> print(table.markdown())
    | method | HAR |
    | --- | --- |
    | LFR | **93.0** (93.1 ± 0.5) |
    """

    corner: str
    apart: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    lower_is_better: bool = False
    digits: int = 1
    known: dict[tuple[str, str], Known] = field(default_factory=dict)
    values: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def add(self, row: str, column: str, value: float) -> None:
        """One seed's value."""
        self.values.setdefault((row, column), []).append(value)

    @property
    def rows(self) -> list[str]:
        """In the order in which they were added."""
        return list(dict.fromkeys(row for row, _ in self.values))

    @property
    def columns(self) -> list[str]:
        """As `order` says, then as they were added."""
        found = list(dict.fromkeys(column for _, column in self.values))
        known = [column for column in self.order if column in found]
        return known + [column for column in found if column not in known]

    def ranked(self, column: str) -> list[str]:
        """The rows that compete in a column, the best first."""
        sign = 1 if self.lower_is_better else -1
        own = [r for r, c in self.values if c == column and r not in self.apart]
        return sorted(own, key=lambda row: sign * fmean(self.values[row, column]))

    def comparison(self, column: str) -> Comparison | None:
        """A column's best against the next; None without a next."""
        ranked = self.ranked(column)
        if len(ranked) < 2:
            return None
        first, second = (self.values[row, column] for row in ranked[:2])
        p_value = None
        if min(len(first), len(second)) > 1 and (stdev(first) or stdev(second)):
            p_value = float(stats.ttest_ind(first, second, equal_var=False).pvalue)
        return Comparison(ranked[0], ranked[1], p_value)

    def markdown(self) -> str:
        """For a README."""
        lines = [_row([self.corner, *self.columns]), _row(["---"] * (1 + len(self.columns)))]
        lines += [_row(cells) for cells in self._cells("**{}**", "±")]
        notes = self._notes()
        return "\n".join([*lines, *(["", *(f"- {note}" for note in notes)] if notes else [])])

    def latex(self) -> str:
        """For a paper (with booktabs)."""
        head = [self.corner, *self.columns]
        cells = self._cells(r"\textbf{{{}}}", r"$\pm$")
        lines = [
            rf"\begin{{tabular}}{{l{'c' * len(self.columns)}}}",
            r"\toprule",
            rf"{' & '.join(map(_escaped, head))} \\",
            r"\midrule",
            *(rf"{' & '.join([_escaped(row), *own])} \\" for row, *own in cells),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join([*lines, *(f"% {note}" for note in self._notes())])

    def _cells(self, bold: str, plus_minus: str) -> list[list[str]]:
        best = {column: self._best(column) for column in self.columns}
        return [
            [row, *(self._cell(row, c, bold if row in best[c] else "{}", plus_minus)
                    for c in self.columns)]
            for row in self.rows
        ]  # fmt: skip

    def _best(self, column: str) -> list[str]:
        """The first of a column, and those that are exactly as good."""
        ranked = self.ranked(column)
        return [
            row
            for row in ranked
            if fmean(self.values[row, column]) == fmean(self.values[ranked[0], column])
        ]

    def _cell(self, row: str, column: str, style: str, plus_minus: str) -> str:
        values = self.values.get((row, column))
        text = style.format(self._spoken(values, plus_minus)) if values else "–"
        if known := self.known.get((row, column)):
            mean, deviation = known
            spread = "" if deviation is None else f" {plus_minus} {deviation:.{self.digits}f}"
            text += f" ({mean:.{self.digits}f}{spread})"
        return text

    def _spoken(self, values: Sequence[float], plus_minus: str) -> str:
        mean = f"{fmean(values):.{self.digits}f}"
        if len(values) == 1:
            return mean
        return f"{mean} {plus_minus} {stdev(values):.{self.digits}f}"

    def _notes(self) -> list[str]:
        compared = [
            f"{column}: {found.best} against {found.runner_up}, Welch's test "
            f"p = {found.p_value:.2g}"
            for column in self.columns
            if (found := self.comparison(column)) is not None and found.p_value is not None
        ]
        return compared + self._fewer_runs() + self.remarks

    def _fewer_runs(self) -> list[str]:
        """Where some rows of a column are means over fewer seeds than the others."""
        found: dict[tuple[int, int, str], list[str]] = {}
        for column in self.columns:
            counts = {row: len(own) for (row, c), own in self.values.items() if c == column}
            most = max(counts.values())
            for fewer in sorted(set(counts.values()) - {most}):
                rows = ", ".join(row for row in self.rows if counts.get(row) == fewer)
                found.setdefault((fewer, most, rows), []).append(column)
        return [
            f"{'; '.join(columns)}: {fewer} instead of {most} runs of {rows}"
            for (fewer, most, rows), columns in found.items()
        ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _escaped(text: str) -> str:
    """As LaTeX has to have it."""
    for character in "&%#_":
        text = text.replace(character, f"\\{character}")
    return text.replace("→", r"$\to$")
