"""Committed results meet the requirements on accuracy and speed."""

from dataclasses import replace

import numpy as np
import pytest

from aleator.benchmark import paper, recipes
from audits.committed import lines

# Accuracy as a fraction of one; seconds of the first fit in a process on one H200.
ACCURACY = {"income": 0.849, "theorem": 0.510, "har": 0.925, "epilepsy": 0.977}
SECONDS = {"income": 10, "theorem": 4, "har": 40, "epilepsy": 65, "kvasir": 120}
CPU_RATIO = {"income": 2.0, "har": 1.8}
# Methods whose encoder pass takes more than three times that of LFR, and the reason.
SLOWER = {
    ("har", "tstcc"): "two encoder passes, four transformer blocks and two losses over time",
    ("income", "stab"): "two encoder passes, each with a new mask of all weights (ratio 3.04)",
}
# Passes that were measured before the last changes of their recipes, as benchmarks/README.md says.
MEASURED_BEFORE = {
    *(("har", method) for method in ("dacl", "simclr", "simsiam", "supervised")),
    *(("income", method) for method in ("stab", "supervised")),
    ("kvasir", "simclr"),
}


def is_current(row):
    """Whether a timing belongs to the current recipe; the probe does not affect training."""
    recipe = recipes.read(row["recipe"], row["method"])
    without_probe_settings = replace(recipe, probe={"kind": recipe.probe["kind"]})
    return row["config_hash"] in (recipe.config_hash, without_probe_settings.config_hash)


def full_runs(dataset, method="lfr"):
    """Committed full runs of table 1 under the paper's protocol."""
    return [
        row
        for row in lines("runs.jsonl")
        if (row["dataset"], row["method"], row["protocol"]) == (dataset, method, "paper")
        and row["epochs_scale"] == 1
        and not row.get("held_out")
        and row["config_hash"] == recipes.read(dataset, method).config_hash
    ]


@pytest.mark.parametrize("name", sorted(ACCURACY))
def test_accuracy_of_lfr(name):
    rows = full_runs(name)
    assert len({row["seed"] for row in rows}) >= 3
    assert np.mean([row["metrics"]["accuracy"] for row in rows]) >= ACCURACY[name]


@pytest.mark.parametrize(
    ("dataset", "method"),
    [(d, m) for d in sorted(ACCURACY) for m in paper.ACCURACY[d] if m != "lfr"],
)
def test_baseline_reproduces_the_paper_or_has_a_note(dataset, method):
    rows = full_runs(dataset, method)
    notes = [
        row["note"]
        for row in lines("notes.jsonl")
        if (row["dataset"], row["method"]) == (dataset, method)
    ]
    assert len({row["seed"] for row in rows}) == len(rows) >= 3
    mean = 100 * np.mean([row["metrics"]["accuracy"] for row in rows])
    # Every result below the paper's has a note, and no other result has one.
    assert (mean >= paper.least_accuracy(dataset, method)) == (not notes)


@pytest.mark.parametrize("name", sorted(SECONDS))
def test_training_time_on_a_gpu(name):
    rows = [
        row
        for row in lines("speed.jsonl")
        if (row["recipe"], row["method"], row["device"]) == (name, "lfr", "cuda")
        and not row["reference"]
    ]
    assert rows
    for row in rows:
        assert "H200" in row["machine"]
        assert is_current(row)
        assert row["epochs"] == recipes.read(name).parameters["epochs"]
        assert row["seconds_total"] <= SECONDS[name]


def test_time_of_random_features_on_a_cpu():
    rows = [row for row in lines("speed.jsonl") if row["method"] == "random-features"]
    assert rows
    for row in rows:
        assert (row["recipe"], row["device"], row["threads"]) == ("har", "cpu", 2)
        assert recipes.read("har", "random-features").parameters["n_features"] == 8192
        assert row["seconds_total"] + row["seconds_transform"] <= 30


def test_time_of_encoder_passes():
    rows = lines("passes.jsonl")
    for row in rows:
        assert "H200" in row["machine"]
        assert is_current(row) == ((row["recipe"], row["method"]) not in MEASURED_BEFORE)
    seconds = {(row["recipe"], row["method"]): row["seconds_per_encoder_pass"] for row in rows}
    assert seconds["kvasir", "simclr"] <= 0.6
    for (recipe, method), value in seconds.items():
        if recipe in ("har", "income"):
            assert (value <= 3 * seconds[recipe, "lfr"]) == ((recipe, method) not in SLOWER)


def test_time_of_probes():
    rows = lines("probes.jsonl")
    assert rows
    for row in rows:
        probe = row["linear_classifier"]
        assert "H200" in row["machine"]
        assert (probe["shape"], probe["epochs"]) == ([7352, 2947, 2304, 6], 100)  # HAR
        assert probe["seconds"] <= 3
        assert probe["seconds_standardised"] <= 3


@pytest.mark.parametrize("name", sorted(CPU_RATIO))
def test_speedup_on_a_cpu(name):
    rows = [
        row
        for row in lines("speed.jsonl")
        if (row["recipe"], row["method"], row["device"]) == (name, "lfr", "cpu")
    ]
    seconds = {row["reference"]: row["seconds_per_epoch"] for row in rows}
    assert {row["threads"] for row in rows} == {2}
    assert seconds[True] / seconds[False] >= CPU_RATIO[name]
