"""Cells and protocols: training, evaluation and the resulting lines."""

from dataclasses import replace
from itertools import product

import pytest

from aleator import Autoencoder, RandomEncoder, Supervised
from aleator.benchmark import cells, datasets, protocols, recipes
from aleator.benchmark.cells import Cell
from aleator.benchmark.finetuning_protocols import FINETUNED
from aleator.benchmark.protocols import PAPER, STANDARDIZED, TIMED, Transfer
from tests.benchmark.helpers import BOTH, quick_cell


@pytest.fixture
def embedded_sizes(monkeypatch):
    """The number of samples of every call of `RandomEncoder.transform`."""
    sizes, transform = [], RandomEncoder.transform
    monkeypatch.setattr(
        RandomEncoder, "transform", lambda self, X: sizes.append(len(X)) or transform(self, X)
    )
    return sizes


def test_cell_is_trained_once_and_evaluated_under_every_protocol():
    cell = quick_cell(method="lfr", protocols=(*BOTH, FINETUNED, TIMED))
    lines = cells.run(cell, None, "cpu")
    assert [line["protocol"] for line in lines] == [*BOTH, FINETUNED, TIMED]
    fields = ("dataset dataset_sha256 method config_hash seed protocol version commit device "
              "metrics seconds epochs_scale small variant").split()  # fmt: skip
    for line in lines:
        assert set(fields) <= set(line)
        assert cells.key_of(line) in cell.keys
    for line in lines[:3]:
        assert 0 <= line["metrics"]["accuracy"] <= 1
        assert set(line["metrics"]) > {"balanced_accuracy", "macro_f1", "auroc", "kappa"}
    assert lines[0]["config_hash"] == recipes.read("theorem").config_hash
    assert lines[2]["config_hash"] != lines[0]["config_hash"]  # depends on the tuning settings
    assert lines[3]["metrics"]["seconds_per_epoch"] > 0
    assert len({line["seconds"] for line in lines}) == 1


def test_classifier_is_evaluated_by_its_own_predictions():
    (line,) = cells.run(quick_cell(method="logreg", protocols=(PAPER,)), None, "cpu")
    assert line["metrics"]["accuracy"] > 0.3  # there are six classes


def test_stored_protocol_values_keep_their_spelling():
    assert (PAPER, STANDARDIZED, FINETUNED, TIMED) == (
        "paper", "standardised", "finetuned", "timed")  # fmt: skip


def test_data_is_embedded_once_for_all_probes(embedded_sizes):
    lines = cells.run(quick_cell(), None, "cpu")
    assert [line["protocol"] for line in lines] == [*BOTH]
    assert embedded_sizes == [96, 48]  # training and test part


def test_timed_cells_are_preceded_by_a_short_fit(monkeypatch):
    epochs, estimator = [], recipes.Recipe.estimator

    def recorded(self, device, seed):
        epochs.append(self.parameters["epochs"])
        return estimator(self, device, seed)

    monkeypatch.setattr(recipes.Recipe, "estimator", recorded)
    for protocol, expected in ((TIMED, [1, 3]), (PAPER, [3])):
        epochs.clear()
        cell = quick_cell(method="lfr", protocols=(protocol,), scale=0.03)
        (line,) = cells.run(cell, None, "cpu")
        assert "error" not in line
        assert epochs == expected


def test_untrained_methods_cannot_be_timed():
    (line,) = cells.run(quick_cell(protocols=(TIMED,)), None, "cpu")
    assert "no training epochs" in line["error"]


def test_transfer_is_evaluated_on_the_other_domain(monkeypatch, embedded_sizes):
    requested = []
    small = datasets.small
    monkeypatch.setattr(datasets, "small", lambda name: requested.append(name) or small(name))
    names = tuple(
        Transfer("fault-b", *variant).protocol for variant in product((False, True), repeat=2)
    )
    lines = cells.run(quick_cell("fault-a", protocols=names), None, "cpu")
    assert requested == ["fault-a", "fault-b"]
    assert len(embedded_sizes) == 4  # both parts of both domains, once for all probes
    assert tuple(line["protocol"] for line in lines) == names
    for line in lines:
        assert 0 <= line["metrics"]["accuracy"] <= 1


@pytest.mark.parametrize("target_labels", [False, True])
def test_labels_of_transfer_are_those_of_the_source_unless_it_says_otherwise(
    monkeypatch, target_labels
):
    """The target domain has the classes of the source, under exchanged names."""
    source = datasets.small("fault-a")
    renamed = datasets.Split(source.X_train, 2 - source.y_train, source.X_test, 2 - source.y_test)
    monkeypatch.setattr(datasets, "small", lambda n: source if n == "fault-a" else renamed)
    protocol = Transfer("fault-b", target_labels, standardized=True).protocol
    recipe = replace(recipes.read("fault-a", "random-features"), probe={"kind": "logistic"})
    (line,) = cells.run(Cell(recipe, 0, (protocol,), 1.0, small=True), None, "cpu")
    # One of three classes keeps its name.
    expected = (0.9, 1) if target_labels else (0.2, 0.5)
    assert expected[0] <= line["metrics"]["accuracy"] <= expected[1]


def test_samples_without_labels_are_used_for_unsupervised_training_only(monkeypatch):
    complete = datasets.small("theorem")
    labels = complete.y_train.copy()
    labels[-30:] = -1  # at the end, as in MIMIC-III
    partly = datasets.Split(complete.X_train, labels, complete.X_test, complete.y_test)
    monkeypatch.setattr(datasets, "small", lambda name: partly)
    sizes = []
    for estimator in (Autoencoder, Supervised):
        fit = estimator.fit
        monkeypatch.setattr(
            estimator, "fit", lambda self, X, y, fit=fit: sizes.append(len(X)) or fit(self, X, y)
        )
    lines = cells.run(quick_cell(method="autoencoder", protocols=BOTH), None, "cpu")
    lines += cells.run(quick_cell(method="supervised", protocols=(PAPER,)), None, "cpu")
    assert sizes == [96, 66]
    assert not any("error" in line for line in lines)


def test_cells_that_share_a_training_are_merged():
    first, second = quick_cell(protocols=BOTH), quick_cell(protocols=(FINETUNED, PAPER))
    (both,) = cells.merged([first, second], done=set())
    assert both.protocols == (PAPER, STANDARDIZED, FINETUNED)
    (rest,) = cells.merged([first, second], done={first.key(PAPER), first.key(FINETUNED)})
    assert rest.protocols == (STANDARDIZED,)
    assert cells.merged([first], done=first.keys) == []
    assert len(cells.merged([first, quick_cell(seed=1)], done=set())) == 2


def test_failed_protocol_does_not_affect_the_others(monkeypatch):
    evaluate = protocols.evaluate

    def failing(protocol, case):
        if protocol == PAPER:
            raise ValueError("a reason")
        return evaluate(protocol, case)

    monkeypatch.setattr(protocols, "evaluate", failing)
    first, second = cells.run(quick_cell(), None, "cpu")
    assert first["error"] == "ValueError: a reason"
    assert second["metrics"]["accuracy"] > 0
