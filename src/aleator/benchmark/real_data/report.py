"""Tables of the results on real data, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from aleator.benchmark.real_data.catalog import REAL_DATASETS
from aleator.benchmark.real_data.measuring import ALL, FEW, PIPELINE, WORDS

# Columns of the tables; what people use without an estimator of ours shares the first.
_WITHOUT = "without"
_HEADINGS = {
    _WITHOUT: "pipeline or tf-idf",
    "RandomEncoder": "RandomEncoder",
    "RandomFeatures": "RandomFeatures",
    "LFR": "LFR",
}
_METRICS = {"accuracy": "accuracy", "auroc": "AUROC", "r2": "R²"}

Line = Mapping[str, Any]


def values_of(
    lines: Sequence[Line], dataset: str, model: str, labels: str, metric: str
) -> list[float]:
    """Return one value per seed.

    Parameters
    ----------
    lines : sequence of mapping
        Lines of `measure`, with the name of the data set.
    dataset, model : str
        Names.
    labels : {"5 %", "all"}
        Number of labels.
    metric : str
        Name of the metric.

    Returns
    -------
    list of float

    Examples
    --------
    >>> line = {"dataset": "bank", "model": "LFR", "metrics": {"all": {"auroc": 75.0}}}
    >>> values_of([line], "bank", "LFR", "all", "auroc")
    [75.0]
    """
    return [
        line["metrics"][labels][metric]
        for line in lines
        if (line["dataset"], line["model"]) == (dataset, model)
    ]


def tables(lines: Sequence[Line]) -> str:
    """Write one table per number of labels, with mean and deviation of the seeds.

    Parameters
    ----------
    lines : sequence of mapping
        Lines of `measure`, with the name of the data set.

    Returns
    -------
    str
        Markdown.
    """
    titles = {FEW: "With 5 % of the labels, at least five per class:", ALL: "With all labels:"}
    return "\n\n".join(f"{title}\n\n{_table(lines, labels)}" for labels, title in titles.items())


def _table(lines: Sequence[Line], labels: str) -> str:
    out = [
        f"| data | metric | {' | '.join(_HEADINGS.values())} |",
        "| --- " * (2 + len(_HEADINGS)) + "|",
    ]
    known = {line["dataset"] for line in lines}
    for name, dataset in REAL_DATASETS.items():
        if name not in known:
            continue
        cells = {model: _values(lines, name, model, labels, dataset.metric) for model in _HEADINGS}
        means = {model: fmean(values) for model, values in cells.items() if values}
        best = max(means, key=means.__getitem__)
        texts = [_cell(values, bold=model == best) for model, values in cells.items()]
        out.append(f"| {name} | {_METRICS[dataset.metric]} | {' | '.join(texts)} |")
    return "\n".join(out)


def _values(
    lines: Sequence[Line], dataset: str, model: str, labels: str, metric: str
) -> list[float]:
    if model != _WITHOUT:
        return values_of(lines, dataset, model, labels, metric)
    return [
        value
        for name in (PIPELINE, WORDS)
        for value in values_of(lines, dataset, name, labels, metric)
    ]


def _cell(values: Sequence[float], *, bold: bool) -> str:
    if not values:
        return ""
    spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
    mean = f"{fmean(values):.1f}"
    return f"**{mean}**{spread}" if bold else f"{mean}{spread}"
