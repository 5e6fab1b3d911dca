"""Tables and the figure of transfer between domains."""

import numpy as np
import pytest

from aleator.benchmark import paper, presentation, transfer_figure, transfer_tables
from aleator.benchmark.protocols import Transfer
from aleator.benchmark.studies import STUDIES
from tests.benchmark.test_presentation import PAPER_LFR, line

SOURCE = "Fault Diagnosis, labels of the source domain, paper's probe"


def transfer_line(method, score, source, target, *variant, **extra):
    return line(method, score, source, Transfer(target, *variant).protocol, **extra)


def test_every_protocol_has_a_table():
    lines = [
        transfer_line("lfr", 0.9, "fault-a", "fault-c", target_labels, standardized)
        for target_labels in (False, True)
        for standardized in (False, True)
    ]
    made = dict(presentation.tables_of(STUDIES["transfer"], lines))
    assert list(made) == [
        SOURCE,
        "Fault Diagnosis, labels of the source domain, standardized probe",
        "Fault Diagnosis, labels of the target domain, paper's probe",
        "Fault Diagnosis, labels of the target domain, standardized probe",
    ]
    for head, table in made.items():
        assert table.values == {(PAPER_LFR, "A → C"): [90.0]}
        # The paper fits its probe on the source domain, without standardization.
        assert table.known == ({(PAPER_LFR, "A → C"): (81.63, None)} if head == SOURCE else {})


def test_classifiers_are_rows_of_both_tables_with_labels_of_the_source():
    lines = [
        transfer_line("supervised", 0.5, "fault-a", "fault-b"),
        *(transfer_line("lfr", 0.9, "fault-a", "fault-b", t, s) for t in (0, 1) for s in (0, 1)),
    ]
    rows = [table.rows for _, table in transfer_tables.tables(lines)]
    both = ["Supervised", PAPER_LFR]
    assert rows == [both, both, [PAPER_LFR], [PAPER_LFR]]
    assert len(transfer_tables.tables(lines[:1])) == 1


def test_average_needs_all_pairs():
    lines = [
        transfer_line("lfr", 0.5 + k / 100, f"fault-{pair[0]}", f"fault-{pair[1]}")
        for k, pair in enumerate(paper.PAIRS)
    ]
    ((_, table),) = transfer_tables.tables(lines)
    assert table.columns[0] == "average"
    assert table.values[PAPER_LFR, "average"] == [pytest.approx(55.5)]
    assert table.known[PAPER_LFR, "average"] == (pytest.approx(82.16, abs=0.01), None)
    ((_, fewer),) = transfer_tables.tables(lines[1:])
    assert "average" not in fewer.columns
    ((_, small),) = transfer_tables.tables([{**x, "small": True} for x in lines])
    assert not small.known


def test_domains_are_columns_in_the_order_of_the_data_set():
    sizes = ("7", "14", "21")
    lines = [
        transfer_line("lfr", 0.5, f"cwru-size-{a}", f"cwru-size-{b}")
        for a in reversed(sizes) for b in sizes if a != b
    ]  # fmt: skip
    ((head, table),) = transfer_tables.tables(lines)
    assert head == "CWRU bearings by size of the fault, labels of the source domain, paper's probe"
    assert table.columns == [
        "average",
        "7 → 14",
        "7 → 21",
        "14 → 7",
        "14 → 21",
        "21 → 7",
        "21 → 14",
    ]


def test_figure_has_a_matrix_per_method():
    lines = [
        transfer_line("lfr", 0.8, "cwru-size-7", "cwru-size-14", False, True),
        transfer_line("lfr", 0.6, "cwru-size-7", "cwru-size-14", False, True, seed=1),
        transfer_line("lfr", 0.1, "cwru-size-7", "cwru-size-14", True, True),
        transfer_line("supervised", 0.5, "cwru-size-14", "cwru-size-21"),
    ]
    figure = transfer_figure.draw("cwru-size", transfer_tables.by_group(lines)["cwru-size"])
    shown = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in shown] == ["Supervised\n50.0", f"{PAPER_LFR}\n70.0"]
    matrix = np.asarray(shown[1].images[0].get_array().filled(np.nan))
    assert matrix[0, 1] == pytest.approx(70)  # row: source; column: target
    assert np.isnan(matrix).sum() == 8
    names = [name for name, _ in presentation._figures(STUDIES["transfer"], lines)]
    assert names == ["transfer-cwru-size"]
