"""The generated sections of docs/research.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from aleator.benchmark import presentation
from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.protocols import with_labels
from aleator.benchmark.research_effects import effects
from aleator.benchmark.research_studies import (
    DIAGNOSIS,
    FEATURE_COUNTS,
    RESEARCH_STUDIES,
)
from aleator.benchmark.research_tables import MEASUREMENTS, is_default
from aleator.benchmark.result_lines import Line, short_name
from aleator.benchmark.study import Study, few_labels

NOT_MEASURED = "*Not measured yet.*"
_FIGURES = "../benchmarks/results/figures"


def section(study: Study, lines: Sequence[Line]) -> str:
    """Make the tables of a study, and its figure or a sentence if it has one.

    Parameters
    ----------
    study : Study
        One of the studies of LFR.
    lines : sequence of dict
        Its result lines.

    Returns
    -------
    markdown : str
        "Not measured yet" if there are no lines.

    Examples
    --------
    >>> section(RESEARCH_STUDIES[0], [])
    '*Not measured yet.*'
    """
    if not lines:
        return NOT_MEASURED
    parts = []
    for head, table in presentation.tables_of(study, lines):
        # Notes on single comparisons are in benchmarks/results/tables.
        text = table.markdown().split("\n\n")[0]
        parts.append(f"{head}:\n\n{text}" if head else text)
    if study.name in (DIAGNOSIS, FEATURE_COUNTS):
        parts.append(f"![{study.title}]({_FIGURES}/{study.name}.svg)")
    if study.name == DIAGNOSIS:
        parts.append(_diagnosis(lines))
    return "\n\n".join(parts)


def summary(lines_by_study: Mapping[str, Sequence[Line]]) -> str:
    """Make a table of the differences of all variants from the defaults.

    Parameters
    ----------
    lines_by_study : mapping of str to sequence of dict
        Result lines by name of the study.

    Returns
    -------
    markdown : str
        "Not measured yet" if no study has the defaults and another variant.
    """
    rows = []
    for study in RESEARCH_STUDIES:
        if study.name == DIAGNOSIS:
            continue
        for variant, found in effects(lines_by_study.get(study.name, ())).items():
            count = max(effect.n_datasets for effect in found.values())
            cells = [str(found.get(labels, "–")) for labels in ("few", "all")]
            rows.append(f"| {study.title} | {variant} | {' | '.join(cells)} | {count} |")
    if not rows:
        return NOT_MEASURED
    head = "| what is varied | variant | few labels | all labels | data sets |"
    return "\n".join([head, "| --- | --- | --- | --- | --- |", *rows])


def setup(lines_by_study: Mapping[str, Sequence[Line]]) -> str:
    """Describe the data, the machine and the program of the results.

    Parameters
    ----------
    lines_by_study : mapping of str to sequence of dict
        Result lines by name of the study.

    Returns
    -------
    markdown : str
        A table of the data sets, and a sentence on program and machine.
    """
    lines = [line for part in lines_by_study.values() for line in part]
    sizes = {
        line["dataset"]: int(line["metrics"]["labels"])
        for line in lines
        if line["protocol"] == with_labels(None)
    }
    rows = [
        f"| {short_name(name)} | {size} | {DATASETS[name].train - size} "
        f"| {DATASETS[name].classes} | {few_labels(name)[0]} |"
        for name in DATASETS
        if (size := sizes.get(name))
    ]
    if not rows:
        return NOT_MEASURED
    head = ["| data set | trained on | held out | classes | few labels |", f"|{' --- |' * 5}"]
    distinct = {
        (x["dataset"], x["method"], x["config_hash"], x["seed"], x["protocol"]): x for x in lines
    }
    texts = {
        name: ", ".join(sorted({str(line[name]) for line in distinct.values()}))
        for name in ("device", "version", "commit", "seed")
    }
    return "\n".join([*head, *rows]) + (
        f"\n\n{len(distinct)} results, seeds {texts['seed']}. Device: {texts['device']}. "
        f"Aleator {texts['version']}, commits {texts['commit']}."
    )


def _diagnosis(lines: Sequence[Line]) -> str:
    """Compare networks with the default projectors, on the data sets that have both."""
    networks = [x for x in lines if x["variant"].startswith("networks") and "," not in x["variant"]]
    defaults = [line for line in lines if is_default(line)]
    shared = {x["dataset"] for x in networks} & {x["dataset"] for x in defaults}
    if not shared:
        return ""
    titles = {
        "linear, %": "linear in the raw values, % of the variance",
        "rank of one": "effective rank of one projector",
        "rank of all": "effective rank of all together",
        "accuracy": "accuracy of a probe on the outputs",
    }
    names = ", ".join(short_name(name) for name in DATASETS if name in shared)
    rows = [f"| mean over {names} | networks | default projectors |", "| --- | --- | --- |"]
    for column, (metric, factor) in MEASUREMENTS.items():
        means = [
            factor * fmean(line["metrics"][metric] for line in part if line["dataset"] in shared)
            for part in (networks, defaults)
        ]
        rows.append(f"| {titles[column]} | {means[0]:.1f} | {means[1]:.1f} |")
    return "\n".join(rows)
