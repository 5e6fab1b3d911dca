"""Tables of the studies of LFR: variants in rows, data sets and numbers of labels in columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from aleator.benchmark import recipes
from aleator.benchmark.label_tables import by_data_set
from aleator.benchmark.protocols import with_labels
from aleator.benchmark.research_studies import DIAGNOSIS, FAMILY_AXIS, LFR, modality_of
from aleator.benchmark.result_lines import Line, remarks, score, short_name
from aleator.benchmark.result_table import Table
from aleator.benchmark.study import Study

# Columns of the study of projectors, with the metric and the factor to print it with.
MEASUREMENTS = {
    "linear, %": ("linear_r2", 100),
    "rank of one": ("rank_of_one", 1),
    "rank of all": ("rank_of_all", 1),
    "accuracy": ("accuracy", 100),
}


def tables(study: Study, lines: Sequence[Line]) -> list[tuple[str, Table]]:
    """Make the table of a study, or one per kind of data if the variants depend on it.

    Parameters
    ----------
    study : Study
        One of the studies of LFR.
    lines : sequence of dict
        Its result lines.

    Returns
    -------
    tables : list of (str, Table)
        Headings and tables.
    """
    parts: dict[str, list[Line]] = {}
    for line in lines:
        kind = modality_of(line["dataset"]).layout.plural.capitalize()
        parts.setdefault(kind if study.axis == FAMILY_AXIS else "", []).append(line)
    return [(head, _table(study, part)) for head, part in parts.items()]


def is_default(line: Line) -> bool:
    """Return whether a result line is one of LFR with its defaults.

    Parameters
    ----------
    line : dict
        A result line.

    Returns
    -------
    is_default : bool
        True for the recipe of the defaults, whatever the study calls it.
    """
    return line["method"] == LFR and line["config_hash"] == _default_hash(line["dataset"])


@cache
def _default_hash(dataset: str) -> str:
    return recipes.read(dataset, LFR).config_hash


def _table(study: Study, lines: Sequence[Line]) -> Table:
    rows, parts = _row_names(lines), by_data_set(lines)
    order = dict.fromkeys(
        f"{name}, {column}"
        for name, part in parts.items()
        for line in sorted(part, key=lambda line: line["protocol"] == with_labels(None))
        for column in _values(study, line)
    )
    # What is measured of projectors has no best value.
    excluded = tuple(rows.values()) if study.name == DIAGNOSIS else ()
    table = Table(study.axis or "", excluded, tuple(order))
    for variant, row in rows.items():
        for name, part in parts.items():
            for line in part:
                if line["variant"] == variant:
                    for column, value in _values(study, line).items():
                        table.add(row, f"{name}, {column}", value)
    table.remarks += remarks(lines)
    return table


def _values(study: Study, line: Line) -> dict[str, float]:
    """Return what a result line contributes to the table, by the second half of a column's name."""
    if study.name == DIAGNOSIS:
        return {
            column: factor * line["metrics"][name]
            for column, (name, factor) in MEASUREMENTS.items()
        }
    return {labels_of(line): score(line)}


def labels_of(line: Line) -> str:
    """Return the number of labels of a result line.

    Parameters
    ----------
    line : dict
        A result line of a label curve.

    Returns
    -------
    labels : str
        The number, or "all".

    Examples
    --------
    >>> labels_of({"protocol": "200 labels"}), labels_of({"protocol": "all labels"})
    ('200', 'all')
    """
    return str(line["protocol"]).partition(" ")[0]


def _row_names(lines: Sequence[Line]) -> dict[str, str]:
    """Map variants to names that say where they are the default."""
    where: dict[str, dict[str, bool]] = {}
    for line in lines:
        where.setdefault(line["variant"], {})[line["dataset"]] = is_default(line)
    names = {}
    for variant in sorted(where, key=int) if all(map(str.isdigit, where)) else where:
        defaults = [short_name(name) for name, default in where[variant].items() if default]
        if len(defaults) == len(where[variant]):
            names[variant] = f"{variant} (default)"
        else:
            names[variant] = variant + (f" (default: {', '.join(defaults)})" if defaults else "")
    return names
