"""Recipes, readers, the reference, the command lines, and the committed results."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aleator import LFR
from aleator.benchmark import accuracy, datasets, recipes, reference, speed
from aleator.evaluation import probes

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"

# The bars: accuracy as a share of one, seconds of a cold fit on one H200.
ACCURACY = {"income": 0.849, "theorem": 0.510, "har": 0.925, "epilepsy": 0.977}
SECONDS = {"income": 10, "theorem": 4, "har": 40, "epilepsy": 65, "kvasir": 120}
CPU_RATIO = {"income": 2.0, "har": 1.8}


def lines(name):
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_is_a_valid_estimator(name):
    recipe = recipes.read(name)
    assert recipe.dataset == name
    assert recipe.method == "lfr"
    assert len(recipe.origin) > 40
    estimator = LFR(**recipe.parameters)
    estimator._check_parameters()
    estimator._counts()


def test_the_papers_five_are_there():
    assert set(speed.RECIPES) <= set(recipes.names())
    with pytest.raises(ValueError, match="no recipe 'iris'; known: epilepsy"):
        recipes.read("iris")


def test_a_hash_changes_with_what_changes_a_result():
    recipe = recipes.read("income")
    other = recipes.Recipe(**{**vars(recipe), "parameters": {**recipe.parameters, "epochs": 3}})
    assert other.config_hash != recipe.config_hash
    reworded = recipes.Recipe(**{**vars(recipe), "origin": "elsewhere"})
    assert reworded.config_hash == recipe.config_hash


@pytest.mark.parametrize("name", ["income", "theorem", "har", "epilepsy"])
def test_real_data_are_read_as_the_paper_counts_them(data_folder, name):
    split = datasets.load(name, data_folder)
    assert split.X_train.dtype == np.float32
    assert np.isfinite(split.X_train).all()
    if name == "epilepsy":
        assert split.X_train.min() == 0
        assert max(split.X_train.max(), split.X_test.max()) == 1
        assert split.y_train.mean() == pytest.approx(0.2, abs=0.01)
    if name == "income":
        assert split.y_train.mean() == pytest.approx(0.249, abs=0.001)


def test_missing_data_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("ALEATOR_DATA", raising=False)
    with pytest.raises(ValueError, match="ALEATOR_DATA"):
        datasets.load("har")
    with pytest.raises(FileNotFoundError, match="uci_har_inertial"):
        datasets.load("har", tmp_path)
    X, y = np.zeros((10, 9, 128), np.float32), np.arange(10) % 6
    np.savez(tmp_path / "uci_har_inertial.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    with pytest.raises(ValueError, match="are they complete"):
        datasets.load("har", tmp_path)


def test_the_reference_learns_what_the_engine_learns(random):
    """Two programs with other shuffles: the losses agree in the large."""
    X = random.normal(size=(400, 12)).astype(np.float32)
    settings = LFR(
        epochs=5,
        n_projectors=3,
        embedding_dim=16,
        batch_size=50,
        random_state=0,
        preprocessing=None,
    )
    import torch

    run = reference.train_literally(settings, X, torch.device("cpu"))
    ours = [r["loss"] for r in settings.fit(X).history_ if r["phase"] == "encoder"]
    np.testing.assert_allclose(run.encoder_losses, ours, rtol=0.15)
    assert run.encoder_losses[-1] < 0.8 * run.encoder_losses[0]
    assert len(run.predictor_losses) == len(run.seconds) == 5


@pytest.mark.parametrize("extra", [[], ["--reference"]])
def test_speed_prints_one_json_line(extra):
    command = [sys.executable, "-m", "aleator.benchmark.speed", "theorem", "--device", "cpu"]
    out = subprocess.run(
        [*command, "--epochs", "2", *extra], capture_output=True, text=True, check=True
    ).stdout
    line = json.loads(out)
    wanted = {"recipe", "method", "device", "reference", "epochs", "seconds_total",
              "seconds_per_epoch", "peak_memory_bytes"}  # fmt: skip
    assert wanted <= set(line)
    assert (line["recipe"], line["device"], line["epochs"]) == ("theorem", "cpu", 2)
    assert line["reference"] is bool(extra)
    assert 0 < line["seconds_per_epoch"] < line["seconds_total"]
    assert line["peak_memory_bytes"] > 1e6


def test_wrong_commands_are_explained(capsys):
    assert speed.main(["theorem", "--data", "/nowhere", "--device", "cpu"]) == 2
    assert "error: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        speed.main(["iris"])
    with pytest.raises(SystemExit):
        speed.main(["theorem", "--epochs", "0"])
    assert accuracy.main(["iris"]) == 2


def test_accuracy_writes_one_line_a_run(data_folder, tmp_path, monkeypatch, capsys):
    short = recipes.read("theorem")
    short.parameters.update(epochs=1, n_projectors=2, n_candidates=2)
    monkeypatch.setattr(recipes, "read", lambda name: short)
    out = tmp_path / "lines.jsonl"
    command = ["theorem", "--data", str(data_folder), "--seeds", "0", "1", "--device", "cpu"]
    assert accuracy.main([*command, "--out", str(out)]) == 0
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["seed"] for line in written] == [0, 1]
    wanted = "dataset method seed protocol config_hash version commit device metrics seconds"
    assert set(written[0]) == {*wanted.split(), "probe_seconds"}
    assert 0.3 < written[0]["metrics"]["accuracy"] < 0.6
    assert capsys.readouterr().out == out.read_text()


def test_probes_on_separable_data(random):
    labels = random.integers(3, size=600) + 5
    rows = (np.eye(3)[labels - 5] * 4 + random.normal(size=(600, 3))).astype(np.float32)
    parts = rows[:400], labels[:400], rows[400:], labels[400:]
    assert probes.logistic_regression(*parts).accuracy > 0.95
    linear = probes.linear_classifier(*parts, learning_rate=0.01, device="cpu", epochs=30)
    assert linear.accuracy > 0.95
    again = probes.linear_classifier(*parts, learning_rate=0.01, device="cpu", epochs=30)
    assert again.accuracy == linear.accuracy


@pytest.mark.parametrize("name", sorted(ACCURACY))
def test_committed_accuracy_meets_the_bar(name):
    rows = [row for row in lines("lfr.jsonl") if row["dataset"] == name]
    assert len({row["seed"] for row in rows}) >= 3
    assert {row["config_hash"] for row in rows} == {recipes.read(name).config_hash}
    assert np.mean([row["metrics"]["accuracy"] for row in rows]) >= ACCURACY[name]


@pytest.mark.parametrize("name", sorted(SECONDS))
def test_committed_speed_meets_the_bar(name):
    rows = [
        row
        for row in lines("speed.jsonl")
        if row["recipe"] == name and row["device"] == "cuda" and not row["reference"]
    ]
    assert rows
    for row in rows:
        assert "H200" in row["machine"]
        assert row["config_hash"] == recipes.read(name).config_hash
        assert row["epochs"] == recipes.read(name).parameters["epochs"]
        assert row["seconds_total"] <= SECONDS[name]


@pytest.mark.parametrize("name", sorted(CPU_RATIO))
def test_committed_cpu_ratio_meets_the_bar(name):
    rows = [row for row in lines("speed.jsonl") if row["recipe"] == name and row["device"] == "cpu"]
    seconds = {row["reference"]: row["seconds_per_epoch"] for row in rows}
    assert {row["threads"] for row in rows} == {2}
    assert seconds[True] / seconds[False] >= CPU_RATIO[name]


def test_the_readmes_tables_are_generated():
    root = RESULTS.parents[1]
    command = [sys.executable, str(root / "benchmarks" / "tables.py")]
    tables = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert tables.strip() in (root / "README.md").read_text(encoding="utf-8")
