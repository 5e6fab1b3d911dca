"""Fine-tuning with other rates and lengths than those of the recipe."""

import pytest

from aleator.benchmark import presentation, protocols, recipes
from aleator.benchmark.datasets import small
from aleator.benchmark.finetuning_protocols import FINETUNED, FineTuning
from aleator.benchmark.studies import STUDIES

STUDY = STUDIES["finetune-settings"]


@pytest.mark.parametrize("protocol", STUDY.protocols)
def test_names_are_read_back(protocol):
    assert FineTuning.parse(protocol).protocol == protocol


@pytest.mark.parametrize("protocol", ["paper", "finetuned, rate x 10", "finetuned, epochs x 3"])
def test_other_names_are_not_fine_tuning(protocol):
    assert FineTuning.parse(protocol) is None


def test_the_study_has_the_runs_of_the_recipe():
    (cell,) = STUDY.cells(["theorem"], ["lfr"], [0])
    (same,) = STUDIES["finetune"].cells(["theorem"], ["lfr"], [0])
    assert same.keys < cell.keys
    assert len(cell.keys) == 8


def test_settings_are_part_of_the_hash():
    recipe = recipes.read("income")
    hashes = {protocols.config_hash(recipe, protocol) for protocol in STUDY.protocols}
    assert len(hashes) == len(STUDY.protocols)


def test_rate_and_epochs_are_those_of_the_protocol(monkeypatch):
    seen = []

    def fine_tune(estimator, **settings):
        seen.append((settings["learning_rate"], settings["epochs"]))
        raise InterruptedError

    monkeypatch.setattr("aleator.evaluation.fine_tune", fine_tune)
    recipe = recipes.read("income")
    for name in (FINETUNED, "finetuned, rate x 10, epochs x 3"):
        case = protocols.Case(recipe, None, small("income"), 0, "cpu", 0.2, load=small)
        with pytest.raises(InterruptedError):
            protocols.evaluate(name, case)
    assert seen == [(1e-4, 2), (1e-3, 6)]


SETTINGS = ("finetuned, rate x 10, epochs x 0.3", "finetuned, rate x 1, epochs x 3", FINETUNED)


def line_of(method, protocol):
    return {
        "dataset": "income", "method": method, "protocol": protocol, "epochs_scale": 1.0,
        "small": False, "variant": None, "seed": 0, "metrics": {"accuracy": 0.8},
    }  # fmt: skip


def test_settings_are_columns_from_slow_to_fast_and_the_paper_is_in_each():
    lines = [line_of(method, name) for method in ("lfr", "random") for name in SETTINGS]
    ((head, table),) = presentation.tables_of(STUDY, lines)
    assert head == "Income"
    assert table.columns == [
        "rate × 1, epochs × 1", "rate × 1, epochs × 3", "rate × 10, epochs × 0.3"]  # fmt: skip
    assert table.rows == ["RandomEncoder", "LFR, paper's recipe"]
    assert set(table.known) == {("LFR, paper's recipe", column) for column in table.columns}
    assert set(table.known.values()) == {(85.3, 0.1)}


def test_classifiers_which_have_no_such_settings_are_in_every_column():
    lines = [line_of("logreg", protocols.PAPER), *(line_of("lfr", name) for name in SETTINGS)]
    ((_, table),) = presentation.tables_of(STUDY, lines)
    assert table.rows == ["LogReg", "LFR, paper's recipe"]
    assert len(table.columns) == len(SETTINGS)
    assert {column for row, column in table.values if row == "LogReg"} == set(table.columns)
    assert "**" not in table.markdown().splitlines()[2]  # they are not compared
