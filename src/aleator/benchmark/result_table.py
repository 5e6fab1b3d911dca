"""Tables of results in Markdown and LaTeX."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from scipy import stats

Known = tuple[float, float | None]  # the paper's mean and, if given, standard deviation


@dataclass(frozen=True)
class Comparison:
    """The best and second-best row of a column, with Welch's t-test between them.

    Parameters
    ----------
    best, runner_up : str
        Names of the rows.
    p_value : float or None
        None if a row has one value only, or if no value varies.
    """

    best: str
    runner_up: str
    p_value: float | None


@dataclass
class Table:
    """A table with one value per seed in each cell, and the paper's result in brackets.

    The best value of each column is printed in bold.

    Parameters
    ----------
    corner : str
        Heading of the first column.
    excluded : tuple of str, default=()
        Rows that are shown but not compared with the others.
    order : tuple of str, default=()
        Order of the columns; others come after them.
    lower_is_better : bool, default=False
        Whether the best value is the lowest.
    digits : int, default=1
        Digits after the decimal point.
    standard_errors : bool, default=False
        Whether means have their standard error instead of the standard deviation over seeds.
    known : dict
        The paper's mean and deviation, by row and column.
    values : dict
        One value per seed, by row and column.
    remarks : list of str
        Notes below the table.

    Examples
    --------
    >>> table = Table("method")
    >>> table.add("LFR", "HAR", 93.0)
    >>> table.known["LFR", "HAR"] = (93.1, 0.5)
    >>> print(table.markdown())
    | method | HAR |
    | --- | --- |
    | LFR | **93.0** (93.1 ± 0.5) |
    """

    corner: str
    excluded: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    lower_is_better: bool = False
    digits: int = 1
    standard_errors: bool = False
    known: dict[tuple[str, str], Known] = field(default_factory=dict)
    values: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def add(self, row: str, column: str, value: float) -> None:
        """Add the value of one seed.

        Parameters
        ----------
        row, column : str
            The cell.
        value : float
            The value.
        """
        self.values.setdefault((row, column), []).append(value)

    @property
    def rows(self) -> list[str]:
        """Rows in the order in which they were added."""
        return list(dict.fromkeys(row for row, _ in self.values))

    @property
    def columns(self) -> list[str]:
        """Columns in the order of `order`, then in the order in which they were added."""
        added = list(dict.fromkeys(column for _, column in self.values))
        ordered = [column for column in self.order if column in added]
        return ordered + [column for column in added if column not in ordered]

    def ranked(self, column: str) -> list[str]:
        """Rank the rows of a column.

        Parameters
        ----------
        column : str
            The column.

        Returns
        -------
        rows : list of str
            All rows that are compared, the best first.
        """
        sign = 1 if self.lower_is_better else -1
        rows = [r for r, c in self.values if c == column and r not in self.excluded]
        return sorted(rows, key=lambda row: sign * fmean(self.values[row, column]))

    def comparison(self, column: str) -> Comparison | None:
        """Compare the best row of a column with the second-best.

        Parameters
        ----------
        column : str
            The column.

        Returns
        -------
        comparison : Comparison or None
            None if there is no second row.
        """
        ranked = self.ranked(column)
        if len(ranked) < 2:
            return None
        first, second = (self.values[row, column] for row in ranked[:2])
        p_value = None
        if min(len(first), len(second)) > 1 and (stdev(first) or stdev(second)):
            with warnings.catch_warnings():  # all seeds of one of them may have the same result
                warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
                p_value = float(stats.ttest_ind(first, second, equal_var=False).pvalue)
        return Comparison(ranked[0], ranked[1], p_value)

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [_row([self.corner, *self.columns]), _row(["---"] * (1 + len(self.columns)))]
        lines += [_row(cells) for cells in self._cells("**{}**", "±")]
        notes = self._notes()
        return "\n".join([*lines, *(["", *(f"- {note}" for note in notes)] if notes else [])])

    def latex(self) -> str:
        """Return the table in LaTeX, for the package booktabs."""
        head = [self.corner, *self.columns]
        cells = self._cells(r"\textbf{{{}}}", r"$\pm$")
        lines = [
            rf"\begin{{tabular}}{{l{'c' * len(self.columns)}}}",
            r"\toprule",
            rf"{' & '.join(map(_escape_latex, head))} \\",
            r"\midrule",
            *(rf"{' & '.join([_escape_latex(row), *values])} \\" for row, *values in cells),
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
        """Return the best row of a column and all rows with the same mean."""
        ranked = self.ranked(column)
        return [
            row
            for row in ranked
            if fmean(self.values[row, column]) == fmean(self.values[ranked[0], column])
        ]

    def _cell(self, row: str, column: str, style: str, plus_minus: str) -> str:
        values = self.values.get((row, column))
        text = style.format(self._format(values, plus_minus)) if values else "–"
        if known := self.known.get((row, column)):
            mean, deviation = known
            spread = "" if deviation is None else f" {plus_minus} {deviation:.{self.digits}f}"
            text += f" ({mean:.{self.digits}f}{spread})"
        return text

    def _format(self, values: Sequence[float], plus_minus: str) -> str:
        mean = f"{fmean(values):.{self.digits}f}"
        if len(values) == 1:
            return mean
        spread = standard_error(values) if self.standard_errors else stdev(values)
        return f"{mean} {plus_minus} {spread:.{self.digits}f}"

    def _notes(self) -> list[str]:
        compared = [
            f"{column}: {pair.best} against {pair.runner_up}, Welch's test p = {pair.p_value:.2g}"
            for column in self.columns
            if (pair := self.comparison(column)) is not None and pair.p_value is not None
        ]
        several = any(len(values) > 1 for values in self.values.values())
        errors = []
        if self.standard_errors and several:
            errors.append("After ±: the standard error of the mean over seeds")
        return compared + self._fewer_runs() + errors + self.remarks

    def _fewer_runs(self) -> list[str]:
        """Describe where some rows of a column have fewer seeds than the others."""
        affected: dict[tuple[int, int, str], list[str]] = {}
        for column in self.columns:
            counts = {row: len(values) for (row, c), values in self.values.items() if c == column}
            most = max(counts.values())
            for fewer in sorted(set(counts.values()) - {most}):
                rows = ", ".join(row for row in self.rows if counts.get(row) == fewer)
                affected.setdefault((fewer, most, rows), []).append(column)
        return [
            f"{'; '.join(columns)}: {fewer} instead of {most} runs of {rows}"
            for (fewer, most, rows), columns in affected.items()
        ]


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean, or 0 for a single value.

    Parameters
    ----------
    values : sequence of float
        One value per seed.

    Returns
    -------
    error : float
        The standard error.

    Examples
    --------
    >>> standard_error([1.0, 3.0]), standard_error([1.0])
    (1.0, 0.0)
    """
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _escape_latex(text: str) -> str:
    """Escape special characters of LaTeX."""
    for character in "&%#_":
        text = text.replace(character, f"\\{character}")
    return text.replace("→", r"$\to$")
