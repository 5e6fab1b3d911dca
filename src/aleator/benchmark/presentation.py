"""What a study shows: its tables (Markdown, LaTeX) and figures (SVG, PNG), made from lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from aleator.benchmark import paper, plots
from aleator.benchmark.datasets import SOURCES
from aleator.benchmark.protocols import (
    FINETUNED,
    PAPER,
    STANDARDISED,
    TIMED,
    is_standardised,
    target_of,
)
from aleator.benchmark.recipes import CLASSIFIERS, METHODS
from aleator.benchmark.studies import Study
from aleator.benchmark.tables import Table

Line = dict[str, Any]

SHORT = {
    "har": "HAR", "epilepsy": "Epilepsy", "mimic3": "MIMIC-III", "physionet2012": "PhysioNet 2012",
    "income": "Income", "theorem": "Theorem", "hepmass": "HEPMASS", "kvasir": "Kvasir",
    "kvasir-v1": "Kvasir v1", "cifar10": "CIFAR-10",
}  # fmt: skip

_STANDARDISED = ", standardised"


def write(study: Study, lines: Sequence[Line], tables: Path, figures: Path) -> str:
    """Write a study's tables and figures into two folders; returns the tables for the terminal."""
    made = tables_of(study, lines)
    markdown = "\n\n".join((f"{head}:\n\n" if head else "") + t.markdown() for head, t in made)
    latex = "\n\n".join((f"% {head}\n" if head else "") + t.latex() for head, t in made)
    tables.mkdir(parents=True, exist_ok=True)
    (tables / f"{study.name}.md").write_text(f"# {study.title}\n\n{markdown}\n", encoding="utf-8")
    (tables / f"{study.name}.tex").write_text(latex + "\n", encoding="utf-8")
    for name, figure in _figures(study, lines):
        figures.mkdir(parents=True, exist_ok=True)
        for kind in ("svg", "png"):
            plots.save(figure, figures / f"{name}.{kind}")
    return markdown


def tables_of(study: Study, lines: Sequence[Line]) -> list[tuple[str, Table]]:
    """A study's tables with their headings. One is enough, unless both protocols do not fit in."""
    ordered = _in_order(lines)
    if study.vary and len(study.methods) > 1:
        ordered.sort(key=lambda line: list(SOURCES).index(line["dataset"]))
        heads = [f"{_short(line['dataset'])}, {_protocol(line)} protocol" for line in ordered]
    elif study.name == "transfer":
        heads = [f"{_protocol(line).capitalize()} protocol" for line in ordered]
    else:
        heads = [""] * len(ordered)
    parts: dict[str, list[Line]] = {}
    for head, line in zip(heads, ordered, strict=True):
        parts.setdefault(head, []).append(line)
    return [(head, _filled(study, part)) for head, part in parts.items()]


def _filled(study: Study, lines: Sequence[Line]) -> Table:
    """Methods by data sets or by variants, or one method's variants by data sets."""
    timed = TIMED in study.protocols
    several = len(study.methods) > 1
    table = Table(
        study.axis if study.axis and not several else "method",
        apart=tuple(METHODS[method] for method in CLASSIFIERS),
        order=tuple(
            _named(name, scale) + rest
            for name in SOURCES
            for scale in sorted({line["epochs_scale"] for line in lines}, reverse=True)
            for rest in ("", _STANDARDISED)
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
            _add_pair(table, line)
        else:
            _add_method(table, line)
    if study.name == "transfer":
        _add_average(table, lines)
    if any(line["small"] for line in lines):
        table.known.clear()  # the paper's figures have nothing to do with generated data
    table.remarks += _remarks(lines)
    return table


def score(line: Line) -> float:
    """What a data set is judged by, in per cent.

    >>> score({"dataset": "mimic3", "metrics": {"accuracy": 0.5, "kappa": 0.4}})
    40.0
    """
    return 100 * line["metrics"][paper.METRIC.get(line["dataset"], "accuracy")]


def _add_method(table: Table, line: Line) -> None:
    row, protocol = METHODS[line["method"]], line["protocol"]
    column = _named(line["dataset"], line["epochs_scale"])
    if protocol == TIMED:
        table.add(row, f"{column}, an epoch", line["metrics"]["seconds_per_epoch"])
        table.add(row, f"{column}, all epochs", line["seconds"])
        return
    known = (paper.FINETUNED if protocol == FINETUNED else paper.ACCURACY).get(line["dataset"], {})
    if protocol == STANDARDISED:
        table.add(row, column + _STANDARDISED, score(line))
        return
    table.add(row, column, score(line))
    if line["method"] in known:
        table.known[row, column] = known[line["method"]]


def _add_pair(table: Table, line: Line) -> None:
    source, target = line["dataset"], target_of(line["protocol"])
    pair = f"{source[-1]}{str(target)[-1]}"
    row, column = METHODS[line["method"]], f"{pair[0].upper()} → {pair[1].upper()}"
    table.add(row, column, score(line))
    if line["method"] in paper.TRANSFER and not is_standardised(line["protocol"]):
        table.known[row, column] = paper.TRANSFER[line["method"]][paper.PAIRS.index(pair)], None


def _add_average(table: Table, lines: Sequence[Line]) -> None:
    """Over all pairs of domains, where a seed has them all."""
    scores: dict[tuple[str, int], list[float]] = {}
    for line in lines:
        scores.setdefault((line["method"], line["seed"]), []).append(score(line))
    for (method, _), own in scores.items():
        if len(own) == len(paper.PAIRS):
            table.add(METHODS[method], "average", fmean(own))
            if method in paper.TRANSFER and not is_standardised(lines[0]["protocol"]):
                table.known[METHODS[method], "average"] = fmean(paper.TRANSFER[method]), None


def _add_variant(table: Table, study: Study, line: Line) -> None:
    column = _named(line["dataset"], line["epochs_scale"])
    if line["protocol"] == STANDARDISED:
        column += _STANDARDISED
    table.add(line["variant"], column, score(line))
    known = paper.ABLATIONS.get(study.name, {}).get(line["variant"])
    if known and line["dataset"] == "kvasir" and line["protocol"] == PAPER:
        table.known[line["variant"], column] = known


def _figures(study: Study, lines: Sequence[Line]) -> Iterator[tuple[str, Any]]:
    """One figure a data set; a name for its file and the figure."""
    if not lines or not (study.vary or TIMED in study.protocols):
        return
    ordered = _in_order(lines)
    for dataset in dict.fromkeys(line["dataset"] for line in ordered):
        own = [line for line in ordered if line["dataset"] == dataset]
        title, quick = f"{study.title}, {_short(dataset)}", ". ".join(_remarks(own))
        if TIMED in study.protocols:
            bars: dict[str, list[float]] = {}
            for line in own:
                bars.setdefault(METHODS[line["method"]], []).append(line["seconds"])
            figure = plots.bars(bars, title=title, axis="seconds of training", note=quick)
        else:
            curves: dict[tuple[str, str], dict[str, list[float]]] = {}
            for line in own:
                curve = curves.setdefault((METHODS[line["method"]], line["protocol"]), {})
                curve.setdefault(line["variant"], []).append(score(line))
            what = paper.METRIC.get(dataset, "accuracy")
            figure = plots.curves(
                curves, title=title, x_axis=study.axis or "", y_axis=f"{what}, %", note=quick
            )
        yield f"{study.name}-{dataset}", figure


def _in_order(lines: Sequence[Line]) -> list[Line]:
    """Data sets as the paper has them, methods as tables have them, variants as they came."""
    methods, names = list(METHODS), list(SOURCES)
    return sorted(
        lines, key=lambda line: (methods.index(line["method"]), names.index(line["dataset"]))
    )


def _remarks(lines: Sequence[Line]) -> list[str]:
    """What a reader must know before comparing with anything else."""
    remarks = []
    if any(line["small"] for line in lines):
        remarks.append("Small generated data: a test of the program, not of the methods")
    for dataset in dict.fromkeys(x["dataset"] for x in lines if x["protocol"] != TIMED):
        if metric := paper.METRIC.get(dataset):
            remarks.append(f"{_short(dataset)} is judged by {metric}, times 100, not by accuracy")
    if timed_on := sorted({_machine(line) for line in lines if line["protocol"] == TIMED}):
        remarks.append(f"Timed on {' and '.join(timed_on)}")
    scales = sorted({line["epochs_scale"] for line in lines})
    if len(scales) == 1 and scales != [1]:
        remarks.append(f"A quick look: trained for {100 * scales[0]:g} % of the recipes' epochs")
    elif len(scales) > 1:
        remarks.append("What is marked with a share of epochs is a quick look")
    return remarks


def _machine(line: Line) -> str:
    return (
        f"{line.get('threads', 'some')} CPU threads"
        if line["device"] == "cpu"
        else str(line["device"])
    )


def _protocol(line: Line) -> str:
    return STANDARDISED if is_standardised(line["protocol"]) else PAPER


def _named(dataset: str, scale: float) -> str:
    """A data set's name in a table's head, with the share of epochs where it is not all."""
    return _short(dataset) + ("" if scale == 1 else f" ({100 * scale:g} % of epochs)")


def _short(dataset: str) -> str:
    return SHORT.get(dataset, SOURCES[dataset].title)
