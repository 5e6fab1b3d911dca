"""Tables of label curves: all methods on one data set, and a summary of all data sets."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.protocols import with_labels
from aleator.benchmark.recipes import CLASSIFIERS, title_of
from aleator.benchmark.result_lines import (
    Line,
    column_name,
    in_table_order,
    remarks,
    score,
)
from aleator.benchmark.result_table import Table

# The methods of the summary and of the prominent curves of the figure, with their names. The others
# are rivals, shown together.
HIGHLIGHTED = {
    "logreg": "Raw values",
    "boosting": "Gradient boosting",
    "supervised": "Supervised",
    "random": "Random encoder",
    "random-features": "RandomFeatures",
    "lfr": "LFR, paper's recipe",
    "lfr-default": "LFR",
}
_BEST_RIVAL = "Best other method"


def tables(lines: Sequence[Line]) -> list[tuple[str, Table]]:
    """Make one table per data set: methods in rows, numbers of labels in columns.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study.

    Returns
    -------
    tables : list of (str, Table)
        Names of data sets and tables.
    """
    return [(head, _full_table(part)) for head, part in by_data_set(lines).items()]


def summary(lines: Sequence[Line]) -> str:
    """Make a table of the highlighted methods with the fewest labels and with all labels.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study.

    Returns
    -------
    markdown : str
        Means over seeds, and those of the best other method that learns without labels, which may
        be another one in every column. The best of each column is in bold. Empty if there are no
        lines.
    """
    columns: dict[str, dict[str, float]] = {}
    for name, part in by_data_set(lines).items():
        for protocol in _fewest_and_all(part):
            scores: dict[str, list[float]] = {}
            for line in part:
                if line["protocol"] == protocol:
                    scores.setdefault(line["method"], []).append(score(line))
            means = {HIGHLIGHTED[m]: fmean(scores[m]) for m in HIGHLIGHTED if m in scores}
            if rivals := [fmean(values) for m, values in scores.items() if is_rival(m)]:
                means[_BEST_RIVAL] = max(rivals)
            columns[f"{name}, {protocol.removesuffix(' labels')}"] = means
    table = Table("method", order=tuple(columns))
    for row in (*HIGHLIGHTED.values(), _BEST_RIVAL):
        for column, means in columns.items():
            if row in means:
                table.add(row, column, means[row])
    return table.markdown().split("\n\n")[0] if columns else ""


def by_data_set(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Group result lines by data set.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study.

    Returns
    -------
    parts : dict of str to list of dict
        Lines by name of the data set, with the share of epochs, in the order of tables.
    """
    ordered = in_table_order(lines)
    names = [name for name in DATASETS if any(line["dataset"] == name for line in ordered)]
    parts: dict[str, list[Line]] = {}
    for name in names:
        for line in ordered:
            if line["dataset"] == name:
                parts.setdefault(column_name(name, line["epochs_scale"]), []).append(line)
    return parts


def is_rival(method: str) -> bool:
    """Return whether a method is one of those that are not highlighted.

    Parameters
    ----------
    method : str
        Name of a method.

    Returns
    -------
    is_rival : bool
        True for the other methods that learn without labels.

    Examples
    --------
    >>> is_rival("simclr"), is_rival("lfr")
    (True, False)
    """
    return method not in HIGHLIGHTED and method not in CLASSIFIERS


def _full_table(lines: Sequence[Line]) -> Table:
    counts = sorted({_n_labels(line) for line in lines})
    columns = {
        _n_labels(line): line["protocol"].replace("all", f"all {_n_labels(line)}") for line in lines
    }
    table = Table("method", order=tuple(columns[count] for count in counts))
    for line in lines:
        row = HIGHLIGHTED.get(line["method"]) or title_of(line["method"])
        table.add(row, columns[_n_labels(line)], score(line))
    table.remarks += remarks(lines)
    return table


def _fewest_and_all(lines: Sequence[Line]) -> list[str]:
    """Protocols with the smallest number of labels and with all labels, if there are any."""
    protocols = {line["protocol"]: _n_labels(line) for line in lines}
    everything = with_labels(None)
    below = sorted((p for p in protocols if p != everything), key=lambda p: protocols[p])
    return below[:1] + [everything] * (everything in protocols)


def _n_labels(line: Line) -> int:
    return int(line["metrics"]["labels"])
