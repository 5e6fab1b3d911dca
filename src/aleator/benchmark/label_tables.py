"""Tables of label curves: all methods on one data set, and a summary of all data sets."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.method_names import CLASSIFIERS, title_of
from aleator.benchmark.protocols import with_labels
from aleator.benchmark.result_lines import (
    Line,
    column_name,
    in_table_order,
    remarks,
    score,
)
from aleator.benchmark.result_table import Table
from aleator.benchmark.study import few_labels

# Data sets of the summary and of the figure. Smaller ones have tables only.
SHOWN = ("har", "epilepsy", "kvasir-v1", "cifar10", "theorem", "income")
# The methods of the summary and of the prominent curves of the figure, with their names. The others
# are rivals, shown together.
HIGHLIGHTED = {
    "logreg": "Raw values",
    "boosting": title_of("boosting"),
    "supervised": title_of("supervised"),
    "random": "Random encoder",
    "random-default": title_of("random-default"),
    "random-features": title_of("random-features"),
    "lfr": title_of("lfr"),
    "lfr-default": title_of("lfr-default"),
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
    """Make a table of the highlighted methods with few labels and with all labels.

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
    shown = [line for line in lines if line["dataset"] in SHOWN]
    for name, part in by_data_set(shown).items():
        for protocol in _few_and_all(part):
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
        Lines by name of the data set, in the order of tables. The name has the share of epochs if
        it is the same for all methods.
    """
    ordered = in_table_order(lines)
    parts: dict[str, list[Line]] = {}
    for name in DATASETS:
        if part := [line for line in ordered if line["dataset"] == name]:
            scales = {line["epochs_scale"] for line in part}
            parts[column_name(name, scales.pop() if len(scales) == 1 else 1.0)] = part
    return parts


def shortened_methods(lines: Sequence[Line]) -> dict[str, float]:
    """List the methods that were trained for a share of their epochs, unlike others.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of one data set.

    Returns
    -------
    scales : dict of str to float
        Shares by method; empty if all methods have the same share.

    Examples
    --------
    >>> shortened_methods([{"method": "lfr", "epochs_scale": 0.05},
    ...                    {"method": "random", "epochs_scale": 1.0}])
    {'lfr': 0.05}
    """
    scales = {line["method"]: line["epochs_scale"] for line in lines}
    mixed = len(set(scales.values())) > 1
    return {method: scale for method, scale in scales.items() if mixed and scale != 1}


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
    shortened = shortened_methods(lines)
    for line in lines:
        row = HIGHLIGHTED.get(line["method"]) or title_of(line["method"])
        if scale := shortened.get(line["method"]):
            row += f", {100 * scale:g} % of epochs"
        table.add(row, columns[_n_labels(line)], score(line))
    table.remarks += remarks([x for x in lines if x["method"] not in shortened])
    return table


def _few_and_all(lines: Sequence[Line]) -> list[str]:
    """Protocols with few labels and with all labels, if there are any."""
    known = {line["protocol"] for line in lines}
    (few,) = few_labels(lines[0]["dataset"], lines[0]["small"])
    return [p for p in (with_labels(few), with_labels(None)) if p in known]


def _n_labels(line: Line) -> int:
    return int(line["metrics"]["labels"])
