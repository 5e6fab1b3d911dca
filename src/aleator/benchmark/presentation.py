"""Tables (Markdown, LaTeX) and figures (SVG, PNG) of a study, made from its result lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from aleator.benchmark import paper, plots
from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.protocols import (
    FINETUNED,
    PAPER,
    STANDARDIZED,
    TIMED,
    is_standardized,
    target_of,
)
from aleator.benchmark.recipes import CLASSIFIERS, METHODS
from aleator.benchmark.result_table import Table
from aleator.benchmark.studies import Study

Line = dict[str, Any]

# Names of data sets in tables and figures.
SHORT_NAMES = {
    "har": "HAR", "epilepsy": "Epilepsy", "mimic3": "MIMIC-III", "physionet2012": "PhysioNet 2012",
    "income": "Income", "theorem": "Theorem", "hepmass": "HEPMASS", "kvasir": "Kvasir",
    "kvasir-v1": "Kvasir v1", "cifar10": "CIFAR-10",
}  # fmt: skip

# Suffix of the columns of the standardized protocol.
_STANDARDIZED = ", standardized"


def write(study: Study, lines: Sequence[Line], tables: Path, figures: Path) -> str:
    """Write the tables and figures of a study.

    Parameters
    ----------
    study : Study
        The study.
    lines : sequence of dict
        Its result lines.
    tables, figures : Path
        Folders for the files.

    Returns
    -------
    markdown : str
        The tables in Markdown.
    """
    parts = tables_of(study, lines)
    markdown = "\n\n".join((f"{head}:\n\n" if head else "") + t.markdown() for head, t in parts)
    latex = "\n\n".join((f"% {head}\n" if head else "") + t.latex() for head, t in parts)
    tables.mkdir(parents=True, exist_ok=True)
    (tables / f"{study.name}.md").write_text(f"# {study.title}\n\n{markdown}\n", encoding="utf-8")
    (tables / f"{study.name}.tex").write_text(latex + "\n", encoding="utf-8")
    for name, figure in _figures(study, lines):
        figures.mkdir(parents=True, exist_ok=True)
        for suffix in ("svg", "png"):
            plots.save(figure, figures / f"{name}.{suffix}")
    return markdown


def tables_of(study: Study, lines: Sequence[Line]) -> list[tuple[str, Table]]:
    """Make the tables of a study.

    Parameters
    ----------
    study : Study
        The study.
    lines : sequence of dict
        Its result lines.

    Returns
    -------
    tables : list of (str, Table)
        Headings and tables. Most studies have one table with an empty heading; there are several if
        the protocols do not fit into one.
    """
    ordered = _in_table_order(lines)
    if study.vary and len(study.methods) > 1:
        ordered.sort(key=lambda line: list(DATASETS).index(line["dataset"]))
        heads = [
            f"{_short_name(line['dataset'])}, {_protocol_name(line)} protocol" for line in ordered
        ]
    elif study.name == "transfer":
        heads = [f"{_protocol_name(line).capitalize()} protocol" for line in ordered]
    else:
        heads = [""] * len(ordered)
    parts: dict[str, list[Line]] = {}
    for head, line in zip(heads, ordered, strict=True):
        parts.setdefault(head, []).append(line)
    return [(head, _make_table(study, part)) for head, part in parts.items()]


def _make_table(study: Study, lines: Sequence[Line]) -> Table:
    """Rows are methods or variants of one method, columns are data sets or variants."""
    timed = TIMED in study.protocols
    several = len(study.methods) > 1
    table = Table(
        study.axis if study.axis and not several else "method",
        excluded=tuple(METHODS[method] for method in CLASSIFIERS),
        order=tuple(
            _column_name(name, scale) + suffix
            for name in DATASETS
            for scale in sorted({line["epochs_scale"] for line in lines}, reverse=True)
            for suffix in ("", _STANDARDIZED)
        ),
        lower_is_better=timed,
        digits=2 if timed else 1,
    )
    for line in lines:
        if study.vary and several:
            table.add(METHODS[line["method"]], line["variant"], score(line))
        elif study.vary:
            _add_variant(table, study, line)
        elif study.name == "transfer":
            _add_transfer(table, line)
        else:
            _add_method(table, line)
    if study.name == "transfer":
        _add_average(table, lines)
    if any(line["small"] for line in lines):
        table.known.clear()  # the paper's results do not apply to synthetic data
    table.remarks += _remarks(lines)
    return table


def score(line: Line) -> float:
    """Return the main metric of a result line.

    Parameters
    ----------
    line : dict
        A result line.

    Returns
    -------
    score : float
        Accuracy, or kappa for data sets where the paper uses it, in percent.

    Examples
    --------
    >>> score({"dataset": "mimic3", "metrics": {"accuracy": 0.5, "kappa": 0.4}})
    40.0
    """
    return 100 * line["metrics"][paper.METRIC.get(line["dataset"], "accuracy")]


def _add_method(table: Table, line: Line) -> None:
    row, protocol = METHODS[line["method"]], line["protocol"]
    column = _column_name(line["dataset"], line["epochs_scale"])
    if protocol == TIMED:
        table.add(row, f"{column}, per epoch", line["metrics"]["seconds_per_epoch"])
        table.add(row, f"{column}, all epochs", line["seconds"])
        return
    known = (paper.FINETUNED if protocol == FINETUNED else paper.ACCURACY).get(line["dataset"], {})
    if protocol == STANDARDIZED:
        table.add(row, column + _STANDARDIZED, score(line))
        return
    table.add(row, column, score(line))
    if line["method"] in known:
        table.known[row, column] = known[line["method"]]


def _add_transfer(table: Table, line: Line) -> None:
    source, target = line["dataset"], target_of(line["protocol"])
    pair = f"{source[-1]}{str(target)[-1]}"
    row, column = METHODS[line["method"]], f"{pair[0].upper()} → {pair[1].upper()}"
    table.add(row, column, score(line))
    if line["method"] in paper.TRANSFER and not is_standardized(line["protocol"]):
        table.known[row, column] = paper.TRANSFER[line["method"]][paper.PAIRS.index(pair)], None


def _add_average(table: Table, lines: Sequence[Line]) -> None:
    """Add the mean over all pairs of domains, for every seed that has all of them."""
    scores: dict[tuple[str, int], list[float]] = {}
    for line in lines:
        scores.setdefault((line["method"], line["seed"]), []).append(score(line))
    for (method, _), values in scores.items():
        if len(values) == len(paper.PAIRS):
            table.add(METHODS[method], "average", fmean(values))
            if method in paper.TRANSFER and not is_standardized(lines[0]["protocol"]):
                table.known[METHODS[method], "average"] = fmean(paper.TRANSFER[method]), None


def _add_variant(table: Table, study: Study, line: Line) -> None:
    column = _column_name(line["dataset"], line["epochs_scale"])
    if line["protocol"] == STANDARDIZED:
        column += _STANDARDIZED
    table.add(line["variant"], column, score(line))
    known = paper.ABLATIONS.get(study.name, {}).get(line["variant"])
    if known and line["dataset"] == "kvasir" and line["protocol"] == PAPER:
        table.known[line["variant"], column] = known


def _figures(study: Study, lines: Sequence[Line]) -> Iterator[tuple[str, Any]]:
    """Yield one figure per data set, with the name of its file."""
    if not lines or not (study.vary or TIMED in study.protocols):
        return
    ordered = _in_table_order(lines)
    for dataset in dict.fromkeys(line["dataset"] for line in ordered):
        selected = [line for line in ordered if line["dataset"] == dataset]
        title, note = f"{study.title}, {_short_name(dataset)}", ". ".join(_remarks(selected))
        if TIMED in study.protocols:
            bars: dict[str, list[float]] = {}
            for line in selected:
                bars.setdefault(METHODS[line["method"]], []).append(line["seconds"])
            figure = plots.bars(bars, title=title, axis="training time in seconds", note=note)
        else:
            curves: dict[tuple[str, str], dict[str, list[float]]] = {}
            for line in selected:
                curve = curves.setdefault((METHODS[line["method"]], _protocol_name(line)), {})
                curve.setdefault(line["variant"], []).append(score(line))
            metric = paper.METRIC.get(dataset, "accuracy")
            figure = plots.curves(
                curves, title=title, x_axis=study.axis or "", y_axis=f"{metric}, %", note=note
            )
        yield f"{study.name}-{dataset}", figure


def _in_table_order(lines: Sequence[Line]) -> list[Line]:
    """Sort by method and data set, and keep the order of variants."""
    methods, names = list(METHODS), list(DATASETS)
    return sorted(
        lines, key=lambda line: (methods.index(line["method"]), names.index(line["dataset"]))
    )


def _remarks(lines: Sequence[Line]) -> list[str]:
    """Describe what limits the comparison with other results."""
    remarks = []
    if any(line["small"] for line in lines):
        remarks.append("Small synthetic data: a test of the program, not of the methods")
    for dataset in dict.fromkeys(x["dataset"] for x in lines if x["protocol"] != TIMED):
        if metric := paper.METRIC.get(dataset):
            remarks.append(f"The metric of {_short_name(dataset)} is {metric} × 100, not accuracy")
    if timed_on := sorted({_machine(line) for line in lines if line["protocol"] == TIMED}):
        remarks.append(f"Timed on {' and '.join(timed_on)}")
    scales = sorted({line["epochs_scale"] for line in lines})
    if len(scales) == 1 and scales != [1]:
        remarks.append(f"Shortened runs: {100 * scales[0]:g} % of the recipes' epochs")
    elif len(scales) > 1:
        remarks.append("Columns marked with a percentage of epochs are shortened runs")
    return remarks


def _machine(line: Line) -> str:
    return (
        f"{line.get('threads', 'unknown number of')} CPU threads"
        if line["device"] == "cpu"
        else str(line["device"])
    )


def _protocol_name(line: Line) -> str:
    """Return the name in headings and legends, which is not always the stored value."""
    return "standardized" if is_standardized(line["protocol"]) else PAPER


def _column_name(dataset: str, scale: float) -> str:
    """Return the name of a data set, with the percentage of epochs unless it is 100."""
    return _short_name(dataset) + ("" if scale == 1 else f" ({100 * scale:g} % of epochs)")


def _short_name(dataset: str) -> str:
    return SHORT_NAMES.get(dataset, DATASETS[dataset].title)
