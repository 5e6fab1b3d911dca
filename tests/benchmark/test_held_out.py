"""Held-out parts of training sets: which samples they have, and how results are marked."""

import json
from dataclasses import replace

import numpy as np
import pytest

from aleator.benchmark import cells, datasets
from aleator.benchmark.datasets import Split
from tests.benchmark.helpers import quick_cell


def numbered(n_train, n_test=10, n_classes=3):
    """A data set whose samples are their own numbers; those of the test part are negative."""
    train, test = np.arange(n_train), -1 - np.arange(n_test)
    return Split(train[:, None], train % n_classes, test[:, None], abs(test) % n_classes)


def test_a_fifth_of_every_class_is_held_out():
    whole = numbered(150)
    split = datasets.hold_out(whole)
    assert np.bincount(split.y_test).tolist() == [10, 10, 10]
    assert sorted([*split.X_train[:, 0], *split.X_test[:, 0]]) == list(range(150))
    for X, y in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        assert (X[:, 0] % 3 == y).all()
    assert (datasets.hold_out(whole).X_test == split.X_test).all()


def test_groups_are_held_out_as_a_whole():
    groups = np.arange(210) % 21
    split = datasets.hold_out(numbered(210), groups)
    kept, held_out = (set(groups[X[:, 0]]) for X in (split.X_train, split.X_test))
    assert len(held_out) == 5  # a fifth of 21, rounded up
    assert not kept & held_out
    assert len(split.X_train) + len(split.X_test) == 210


def test_samples_without_a_label_stay_last():
    whole = numbered(100)
    labels = whole.y_train.copy()
    labels[60:] = -1
    split = datasets.hold_out(replace(whole, y_train=labels))
    for y in (split.y_train, split.y_test):
        n_labeled = (y != -1).sum()
        assert 0 < n_labeled < len(y)
        assert (y[:n_labeled] != -1).all()


def test_subjects_of_har_are_read_from_all_formats(tmp_path):
    subjects = np.array([1, 1, 3, 30])
    packed = tmp_path / "packed"
    text = tmp_path / "text" / "UCI HAR Dataset" / "train"
    packed.mkdir()
    text.mkdir(parents=True)
    np.savez(packed / "uci_har_inertial.npz", subject_train=subjects.astype(np.int8))
    np.savetxt(text / "subject_train.txt", subjects, fmt="%d")
    for folder in ("packed", "text"):
        found = datasets.training_groups("har", tmp_path / folder)
        assert found.tolist() == subjects.tolist()
    assert datasets.training_groups("income", tmp_path) is None


def test_the_test_part_is_never_used(monkeypatch):
    """A cell with a held-out part gives the same line whatever the test part contains."""
    cell = replace(quick_cell(protocols=("30 labels", "all labels")), held_out=True)
    lines = cells.run(cell, None, "cpu")
    assert [line["metrics"]["labels"] for line in lines] == [30, 76]
    whole = datasets.small("theorem")
    broken = replace(whole, X_test=np.full_like(whole.X_test, np.nan), y_test=whole.y_test * 0)
    monkeypatch.setattr(datasets, "small", lambda name: broken)
    cells.loaded.cache_clear()
    again = cells.run(cell, None, "cpu")
    assert [line["metrics"] for line in again] == [line["metrics"] for line in lines]
    assert {line["dataset_sha256"] for line in again} == {line["dataset_sha256"] for line in lines}


def test_results_are_marked_and_never_taken_for_results_on_the_test_part():
    cell = quick_cell(protocols=("30 labels",))
    held_out = replace(cell, held_out=True)
    assert cell.keys.isdisjoint(held_out.keys)
    assert len(cells.merged([cell, held_out], done=set())) == 2
    for one, mark in ((cell, False), (held_out, True)):
        (line,) = cells.run(one, None, "cpu")
        assert line["held_out"] is mark
        assert {cells.key_of(json.loads(json.dumps(line)))} == one.keys


@pytest.mark.parametrize("known", [True, False])
def test_lines_without_the_mark_are_results_on_the_test_part(known):
    cell = quick_cell(protocols=("paper",))
    line = cells.identity_fields(cell, "paper")
    if not known:
        del line["held_out"]
    assert {cells.key_of(line)} == cell.keys
