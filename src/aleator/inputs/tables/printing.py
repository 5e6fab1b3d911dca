"""Columns of a table and what is done with them, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from aleator.inputs.adapter_base import ColumnRecord

_MOST_LINES = 100
_LONGEST_NAME = 40
# So many columns without names that are treated alike become one line.
_LEAST_RUN = 3


def format_columns(records: Sequence[ColumnRecord]) -> str:
    """Return a table with one line per column.

    Parameters
    ----------
    records : sequence of ColumnRecord
        The columns. Of more than a hundred, the last are not shown. Columns without names that are
        treated alike have one line.

    Returns
    -------
    str

    Examples
    --------
    >>> print(format_columns([ColumnRecord("age", "number", "standardized", 1)]))
    column  kind    missing  features  treatment
    age     number                  1  standardized
    """
    head = ("column", "kind", "missing", "features", "treatment")
    records = _without_repetition(records)
    rows = [head, *(_cells(record) for record in records[:_MOST_LINES])]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  "
        f"{row[3]:>{widths[3]}}  {row[4]}"
        for row in rows
    ]
    if len(records) > _MOST_LINES:
        lines.append(f"… and {len(records) - _MOST_LINES} further columns")
    return "\n".join(lines)


def _without_repetition(records: Sequence[ColumnRecord]) -> list[ColumnRecord]:
    """Join neighboring columns of an array, which have numbers as names, if they are alike."""
    if [record.name for record in records] != [str(number) for number in range(len(records))]:
        return list(records)
    joined: list[ColumnRecord] = []
    for _, group in groupby(records, lambda record: replace(record, name="")):
        run = list(group)
        if len(run) < _LEAST_RUN:
            joined += run
        else:
            total = sum(record.n_outputs for record in run)
            joined.append(replace(run[0], name=f"{run[0].name} to {run[-1].name}", n_outputs=total))
    return joined


def _cells(record: ColumnRecord) -> tuple[str, str, str, str, str]:
    name = record.name.replace("\n", " ")
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME - 1] + "…"
    missing = f"{record.missing:.1%}".replace("%", " %") if record.missing else ""
    return name, record.kind, missing, str(record.n_outputs), record.treatment
