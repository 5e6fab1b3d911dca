"""Tables (Markdown, LaTeX) and figures (SVG, PNG) of a study, made from its result lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aleator.benchmark import (
    finetuning_tables,
    label_figure,
    label_tables,
    paper,
    plots,
    research_figures,
    research_tables,
    transfer_figure,
    transfer_tables,
)
from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.fidelity_studies import FIDELITY_STUDIES, FINETUNE_SETTINGS
from aleator.benchmark.finetuning_protocols import FINETUNED
from aleator.benchmark.method_names import CLASSIFIERS, title_of
from aleator.benchmark.protocols import PAPER, STANDARDIZED, TIMED, is_standardized
from aleator.benchmark.research_studies import DIAGNOSIS, FEATURE_COUNTS, RESEARCH_STUDIES
from aleator.benchmark.result_lines import (
    Line,
    column_name,
    in_table_order,
    remarks,
    score,
    short_name,
)
from aleator.benchmark.result_table import Table
from aleator.benchmark.studies import LABELS, TRANSFER
from aleator.benchmark.study import Study

# Suffix of the columns of the standardized protocol.
_STANDARDIZED = ", standardized"
# Figures with a panel per data set.
_PANELS = {
    LABELS: label_figure.draw,
    FEATURE_COUNTS: research_figures.feature_counts,
    DIAGNOSIS: research_figures.projectors,
}


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
    if study.name == LABELS:
        return label_tables.tables(lines)
    if study.name == TRANSFER:
        return transfer_tables.tables(lines)
    if study.name == FINETUNE_SETTINGS:
        return finetuning_tables.tables(lines)
    if study in RESEARCH_STUDIES:
        return research_tables.tables(study, lines)
    ordered = in_table_order(lines)
    if study.vary and len(study.methods) > 1:
        ordered.sort(key=lambda line: list(DATASETS).index(line["dataset"]))
        heads = [
            f"{short_name(line['dataset'])}, {_protocol_name(line)} protocol" for line in ordered
        ]
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
        excluded=tuple(title_of(method) for method in CLASSIFIERS),
        order=tuple(
            column_name(name, scale) + suffix
            for name in DATASETS
            for scale in sorted({line["epochs_scale"] for line in lines}, reverse=True)
            for suffix in ("", _STANDARDIZED)
        ),
        lower_is_better=timed,
        digits=2 if timed else 1,
        standard_errors=_is_ablation(study),
    )
    for line in lines:
        if study.vary and several:
            table.add(title_of(line["method"]), line["variant"], score(line))
        elif study.vary:
            _add_variant(table, study, line)
        else:
            _add_method(table, line)
    if any(line["small"] for line in lines):
        table.known.clear()  # the paper's results do not apply to synthetic data
    table.remarks += remarks(lines)
    return table


def _add_method(table: Table, line: Line) -> None:
    row, protocol = title_of(line["method"]), line["protocol"]
    column = column_name(line["dataset"], line["epochs_scale"])
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


def _add_variant(table: Table, study: Study, line: Line) -> None:
    column = column_name(line["dataset"], line["epochs_scale"])
    if line["protocol"] == STANDARDIZED:
        column += _STANDARDIZED
    table.add(line["variant"], column, score(line))
    known = paper.ABLATIONS.get(study.name, {}).get(line["variant"])
    if known and line["dataset"] == "kvasir" and line["protocol"] == PAPER:
        table.known[line["variant"], column] = known


def _figures(study: Study, lines: Sequence[Line]) -> Iterator[tuple[str, Any]]:
    """Yield one figure per data set, or one of all, with the name of its file."""
    if lines and study.name in _PANELS:
        yield study.name, _PANELS[study.name](lines, title=study.title)
    if study.name == TRANSFER:
        for group, part in transfer_tables.by_group(lines).items():
            yield f"{study.name}-{group}", transfer_figure.draw(group, part)
    if not lines or not (_is_ablation(study) or TIMED in study.protocols):
        return
    ordered = in_table_order(lines)
    for dataset in dict.fromkeys(line["dataset"] for line in ordered):
        selected = [line for line in ordered if line["dataset"] == dataset]
        title, note = f"{study.title}, {short_name(dataset)}", ". ".join(remarks(selected))
        if TIMED in study.protocols:
            bars: dict[str, list[float]] = {}
            for line in selected:
                bars.setdefault(title_of(line["method"]), []).append(line["seconds"])
            figure = plots.bars(bars, title=title, axis="training time in seconds", note=note)
        else:
            curves: dict[tuple[str, str], dict[str, list[float]]] = {}
            for line in selected:
                curve = curves.setdefault((title_of(line["method"]), _protocol_name(line)), {})
                curve.setdefault(line["variant"], []).append(score(line))
            metric = paper.METRIC.get(dataset, "accuracy")
            note = f"{note}. Bars: standard errors of means over seeds".removeprefix(". ")
            figure = plots.curves(
                curves, title=title, x_axis=study.axis or "", y_axis=f"{metric}, %", note=note
            )
        yield f"{study.name}-{dataset}", figure


def _is_ablation(study: Study) -> bool:
    """Return whether a study is one of the paper's that vary a parameter."""
    return study.vary is not None and study not in (*FIDELITY_STUDIES, *RESEARCH_STUDIES)


def _protocol_name(line: Line) -> str:
    """Return the name in headings and legends, which is not always the stored value."""
    return "standardized" if is_standardized(line["protocol"]) else PAPER
