"""Tables of fine-tuning with several rates and lengths: methods in rows, settings in columns."""

from __future__ import annotations

from collections.abc import Sequence

from aleator.benchmark import paper
from aleator.benchmark.finetuning_protocols import FineTuning
from aleator.benchmark.label_tables import by_data_set
from aleator.benchmark.method_names import CLASSIFIERS, title_of
from aleator.benchmark.result_lines import Line, remarks, score
from aleator.benchmark.result_table import Table


def tables(lines: Sequence[Line]) -> list[tuple[str, Table]]:
    """Make one table per data set.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study.

    Returns
    -------
    tables : list of (str, Table)
        Names of data sets and tables. The paper's result, of which the settings are not known, is
        in every column.
    """
    return [(head, _make_table(part)) for head, part in by_data_set(lines).items()]


def _make_table(lines: Sequence[Line]) -> Table:
    settings = [FineTuning.parse(line["protocol"]) for line in lines]
    in_order = sorted(set(filter(None, settings)), key=lambda tuning: (tuning.rate, tuning.epochs))
    table = Table(
        "method",
        excluded=tuple(title_of(method) for method in CLASSIFIERS),
        order=tuple(map(_column, in_order)),
    )
    for line, tuning in zip(lines, settings, strict=True):
        row = title_of(line["method"])
        known = paper.FINETUNED.get(line["dataset"], {})
        # Classifiers have no settings of fine-tuning; they are in every column, to compare with.
        for column in map(_column, [tuning] if tuning else in_order):
            table.add(row, column, score(line))
            if line["method"] in known and not line["small"]:
                table.known[row, column] = known[line["method"]]
    table.remarks += remarks(lines)
    return table


def _column(tuning: FineTuning) -> str:
    return f"rate × {tuning.rate:g}, epochs × {tuning.epochs:g}"
