"""Columns of a table and what is done with them, as text."""

from __future__ import annotations

from collections.abc import Sequence

from aleator.inputs.adapter_base import ColumnRecord

_MOST_LINES = 100
_LONGEST_NAME = 40


def format_columns(records: Sequence[ColumnRecord]) -> str:
    """Return a table with one line per column.

    Parameters
    ----------
    records : sequence of ColumnRecord
        The columns. Of more than a hundred, the last are not shown.

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


def _cells(record: ColumnRecord) -> tuple[str, str, str, str, str]:
    name = record.name.replace("\n", " ")
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME - 1] + "…"
    missing = f"{record.missing:.1%}".replace("%", " %") if record.missing else ""
    return name, record.kind, missing, str(record.n_outputs), record.treatment
