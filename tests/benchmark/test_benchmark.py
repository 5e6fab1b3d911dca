"""Recipes, readers, the reference, the command lines, and the committed results."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aleator import LFR
from aleator.benchmark import accuracy, datasets, paper, recipes, reference, speed

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"

# The bars: accuracy as a share of one, seconds of a cold fit on one H200.
ACCURACY = {"income": 0.849, "theorem": 0.510, "har": 0.925, "epilepsy": 0.977}
SECONDS = {"income": 10, "theorem": 4, "har": 40, "epilepsy": 65, "kvasir": 120}
CPU_RATIO = {"income": 2.0, "har": 1.8}
SHAPE_OF = {"table": 1, "series": 2, "image": 3}  # axes of a sample


# Methods whose encoder pass takes more than three of LFR's, and why.
SLOWER = {
    ("har", "tstcc"): "two encoder passes, then four transformer blocks and two losses over time",
    ("income", "stab"): "two encoder passes, and a mask a weight is drawn for each (3.04 of LFR's)",
}


def lines(name):
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


@pytest.mark.parametrize(("dataset", "method"), recipes.names())
def test_every_recipe_is_a_valid_estimator(dataset, method):
    recipe = recipes.read(dataset, method)
    assert (recipe.dataset, recipe.method) == (dataset, method)
    assert len(recipe.origin) > 40
    assert recipe.probe["kind"] in ("logistic", "linear", "own")
    estimator = recipe.estimator("cpu", seed=0)
    assert type(estimator).__name__ == recipes.METHODS[method]
    estimator._check_parameters()
    assert SHAPE_OF[estimator.modality] == len(datasets.SOURCES[dataset].shape)
    assert (recipe.probe["kind"] == "own") == hasattr(estimator, "predict")


def test_the_papers_five_are_there():
    assert {(name, "lfr") for name in speed.RECIPES} <= set(recipes.names())
    with pytest.raises(ValueError, match="no recipe 'iris'; known: epilepsy"):
        recipes.read("iris")
    with pytest.raises(ValueError, match="no recipe of 'tstcc' for income; known: logreg"):
        recipes.read("income", "tstcc")


@pytest.mark.parametrize("dataset", sorted(paper.ACCURACY))
def test_every_cell_of_the_papers_table_has_a_recipe(dataset):
    assert set(recipes.methods_for(dataset)) == set(paper.ACCURACY[dataset])


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
              "seconds_per_epoch", "seconds_per_encoder_pass", "peak_memory_bytes"}  # fmt: skip
    assert wanted <= set(line)
    assert (line["recipe"], line["device"], line["epochs"]) == ("theorem", "cpu", 2)
    assert line["reference"] is bool(extra)
    assert 0 < line["seconds_per_epoch"] < line["seconds_total"]
    assert line["peak_memory_bytes"] > 1e6


@pytest.mark.parametrize("method", ["scarf", "supervised"])
def test_speed_of_any_method(method, capsys):
    command = ["theorem", "--method", method, "--device", "cpu", "--epochs", "1"]
    assert speed.main(command) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["recipe"], line["method"]) == ("theorem", method)
    assert line["seconds_per_encoder_pass"] == line["seconds_per_epoch"] > 0


def test_lfrs_encoder_pass_is_part_of_its_epoch():
    line = speed.measure("theorem", "cpu", epochs=2)
    assert 0 < line["seconds_per_encoder_pass"] < line["seconds_per_epoch"]


def test_wrong_commands_are_explained(capsys):
    assert speed.main(["theorem", "--method", "random", "--device", "cpu"]) == 2
    assert "trains nothing" in capsys.readouterr().err
    assert speed.main(["theorem", "--method", "tstcc", "--device", "cpu"]) == 2
    assert "no recipe of 'tstcc' for theorem" in capsys.readouterr().err
    assert speed.main(["theorem", "--method", "dacl", "--reference"]) == 2
    assert "only LFR has a literal reference" in capsys.readouterr().err
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
    monkeypatch.setattr(recipes, "read", lambda name, method: short)
    out = tmp_path / "lines.jsonl"
    command = ["theorem", "--data", str(data_folder), "--seeds", "0", "1", "--device", "cpu"]
    assert accuracy.main([*command, "--out", str(out)]) == 0
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["seed"] for line in written] == [0, 1]
    wanted = "dataset method seed protocol config_hash version commit device metrics seconds"
    assert set(written[0]) == {*wanted.split(), "probe_seconds", "embedding_std", "effective_rank"}
    assert 0.3 < written[0]["metrics"]["accuracy"] < 0.6
    assert capsys.readouterr().out == out.read_text()


def test_accuracy_of_classifiers_and_of_all_methods(data_folder, monkeypatch, capsys):
    command = ["theorem", "--data", str(data_folder), "--seeds", "0", "--device", "cpu"]
    assert accuracy.main([*command, "--methods", "logreg", "random"]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["method"], second["method"]) == ("logreg", "random")
    assert first["protocol"] == "paper: its own classifier, last epoch"
    assert 0.44 < first["metrics"]["accuracy"] < 0.47
    monkeypatch.setattr(accuracy, "run", lambda recipe, *_: {"method": recipe.method})
    assert accuracy.main([*command, "--methods", "all"]) == 0
    ran = [json.loads(line)["method"] for line in capsys.readouterr().out.splitlines()]
    assert ran == recipes.methods_for("theorem")
    assert len(ran) == 10


@pytest.mark.parametrize("name", sorted(ACCURACY))
def test_committed_accuracy_meets_the_bar(name):
    rows = [row for row in lines("lfr.jsonl") if row["dataset"] == name]
    assert len({row["seed"] for row in rows}) >= 3
    assert {row["config_hash"] for row in rows} == {recipes.read(name).config_hash}
    assert np.mean([row["metrics"]["accuracy"] for row in rows]) >= ACCURACY[name]


@pytest.mark.parametrize(
    ("dataset", "method"),
    [(d, m) for d, cells in paper.ACCURACY.items() for m in cells if m != "lfr"],
)
def test_committed_baselines_reach_the_paper_or_say_what_was_tried(dataset, method):
    mine = [
        row
        for row in lines("baselines.jsonl")
        if (row["dataset"], row["method"]) == (dataset, method)
    ]
    runs = [row for row in mine if "note" not in row]
    notes = [row["note"] for row in mine if "note" in row]
    if not runs:
        assert notes, "a cell without runs must say why"
        return
    assert len({row["seed"] for row in runs}) == len(runs) >= 3
    assert {row["config_hash"] for row in runs} == {recipes.read(dataset, method).config_hash}
    mean = 100 * np.mean([row["metrics"]["accuracy"] for row in runs])
    # A note stands beside a cell that stays out, and beside no other.
    assert (mean >= paper.least_accuracy(dataset, method)) == (not notes)


@pytest.mark.parametrize("name", sorted(SECONDS))
def test_committed_speed_meets_the_bar(name):
    rows = [
        row
        for row in lines("speed.jsonl")
        if (row["recipe"], row["method"], row["device"]) == (name, "lfr", "cuda")
        and not row["reference"]
    ]
    assert rows
    for row in rows:
        assert "H200" in row["machine"]
        assert row["config_hash"] == recipes.read(name).config_hash
        assert row["epochs"] == recipes.read(name).parameters["epochs"]
        assert row["seconds_total"] <= SECONDS[name]


def test_committed_passes_meet_their_bars():
    rows = lines("passes.jsonl")
    for row in rows:
        assert "H200" in row["machine"]
        assert row["config_hash"] == recipes.read(row["recipe"], row["method"]).config_hash
    seconds = {(row["recipe"], row["method"]): row["seconds_per_encoder_pass"] for row in rows}
    assert seconds["kvasir", "simclr"] <= 0.6
    for (recipe, method), own in seconds.items():
        if recipe in ("har", "income"):
            assert (own <= 3 * seconds[recipe, "lfr"]) == ((recipe, method) not in SLOWER)


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
