"""Studies of LFR: their variants, and two of their cells from end to end."""

from types import SimpleNamespace

import numpy as np
import pytest

from aleator import LFR, cli
from aleator.benchmark import cells, datasets, projector_diagnostics, recipes, runner
from aleator.benchmark.cells import merged
from aleator.benchmark.research_studies import (
    DIAGNOSIS,
    LFR_DEFAULTS,
    RESEARCH_STUDIES,
    default_epochs,
    default_width,
)
from aleator.benchmark.studies import STUDIES
from aleator.benchmark.study import few_labels
from aleator.training.distribution import OneProcess
from aleator.training.plan import Duration

RESEARCH = {study.name: study for study in RESEARCH_STUDIES}


def variants(study, dataset):
    return {c.recipe.variant: c.recipe for c in RESEARCH[study].cells([dataset], seeds=[0])}


@pytest.mark.parametrize("dataset", ["epilepsy", "theorem"])
def test_default_variants_are_what_lfr_does_by_default(dataset):
    """All settings that a study replaces by the recipe of the defaults, written out."""
    X = datasets.small(dataset, 24).X_train
    width = min(default_width(dataset), 512)  # that of small sets
    explicit = {**LFR_DEFAULTS, "embedding_dim": width, "epochs": 20}
    default, same = (
        LFR(**parameters, device="cpu", random_state=0).fit(X) for parameters in ({}, explicit)
    )
    assert len(default.history_) == len(same.history_) == 20
    assert np.array_equal(default.transform(X), same.transform(X))


@pytest.mark.parametrize("dataset", RESEARCH_STUDIES[0].datasets)
def test_default_length_of_the_training(dataset):
    n_samples = 4 * datasets.DATASETS[dataset].train // 5
    context = SimpleNamespace(sampler=SimpleNamespace(length=n_samples), processes=OneProcess())
    assert LFR()._duration(context) == Duration(default_epochs(dataset))


@pytest.mark.parametrize("name", [name for name in RESEARCH if "feature-families" not in name])
@pytest.mark.parametrize("dataset", ["har", "income"])
def test_studies_share_the_runs_of_the_defaults(name, dataset):
    default = recipes.read(dataset, "lfr-default").config_hash
    assert [r.config_hash for r in variants(name, dataset).values()].count(default) == 1


def test_families_differ_in_nothing_but_the_projectors():
    series, table = variants("research-families", "har"), variants("research-families", "theorem")
    assert next(iter(series)) == "convolutions + subsequences"
    assert {"hydra", "spectrum", "networks (cnn)", "networks (cnn), beta"} < set(series)
    assert series["hydra"].parameters == {"projector": "hydra"}
    assert list(table) == ["trees", "fourier", "landmarks", "sums", "networks (mlp)"]
    assert list(variants("research-families", "income"))[:2] == ["trees + sums", "trees"]
    network = table["networks (mlp)"].parameters
    assert network["loss"] == "mse"  # networks have another loss by default
    assert network["n_candidates"] == 16  # and are selected
    assert network["target_scaling"] == "standardize"  # and not scaled


def test_embeddings_of_some_widths_are_measured_without_training():
    found = variants("research-width", "theorem")
    assert list(found)[:3] == ["64, random weights", "256, random weights", "1024, random weights"]
    assert list(found)[3:] == ["64", "128", "256", "512", "1024", "2048"]
    untrained = recipes.read("theorem", "random-default")
    assert found["1024, random weights"].config_hash == untrained.config_hash, "the default width"
    assert found["64, random weights"].parameters["embedding_dim"] == 64


def test_the_linear_part_is_solved_for_other_numbers_of_projectors():
    series, table = (variants("research-projectors", name) for name in ("har", "theorem"))
    assert series["16"].parameters == table["64"].parameters == {}, "the defaults"
    assert table["4"].parameters["n_projectors"] + table["4"].parameters["n_extra_projectors"] == 4
    assert table["16"].parameters["n_extra_projectors"] == 0
    assert series["64"].parameters["n_extra_projectors"] == 48


def test_equal_cells_are_run_once():
    todo = [cell for study in RESEARCH_STUDIES for cell in study.cells()]
    assert all(cell.held_out and cell.seed < 3 for cell in todo)
    trainings = merged(todo, set())
    assert len(trainings) < len(todo) - 100
    both = [c for c in trainings if "projectors" in c.protocols and len(c.protocols) == 3]
    assert len(both) == len(RESEARCH[DIAGNOSIS].cells())  # families are trained for both studies


def test_labels():
    for study in RESEARCH_STUDIES:
        for cell in study.cells(seeds=[0]):
            counts = (f"{few_labels(cell.recipe.dataset)[0]} labels", "all labels")
            assert cell.protocols == (("projectors",) if study.name == DIAGNOSIS else counts)


def test_unknown_parameters_are_explained():
    recipe = recipes.read("har", "random-features")
    message = "variant 'x' of random-features on har changes loss, which RandomFeatures does not"
    with pytest.raises(ValueError, match=message):
        recipe.varied("x", n_features=3, loss="mse")


def test_projectors_are_measured():
    (default,) = RESEARCH[DIAGNOSIS].cells(["theorem"], seeds=[0], small=True)[:1]
    (line,) = cells.run(default, None, "cpu")
    metrics = line["metrics"]
    assert line["held_out"]
    assert metrics["labels"] == 76
    assert metrics["accuracy"] > 0.5  # there are six classes
    assert 1 < metrics["rank_of_one"] <= metrics["rank_of_all"] <= 76
    assert metrics["linear_r2"] < 1


def test_a_study_from_end_to_end(tmp_path, capsys):
    command = ["bench", "research-training", "--datasets", "theorem", "--small", "--seeds", "0",
               "--device", "cpu", "--out", str(tmp_path)]  # fmt: skip
    assert cli.main(command) == 0
    table = capsys.readouterr().out
    assert "| training | Theorem, 30 | Theorem, all |" in table
    assert "| joint (default) |" in table
    assert "test sets were not used" in table
    stored = runner.read_lines(tmp_path / "runs.jsonl")
    assert [line["variant"] for line in stored].count("alternating") == 2
    assert all(line["held_out"] for line in stored)
    assert not runner.lines_of(STUDIES["labels"].cells(["theorem"], seeds=[0], small=True), stored)


def test_group_of_studies(tmp_path, capsys):
    assert cli.main(["bench", "research", "--tables-only", "--out", str(tmp_path)]) == 0
    missing = capsys.readouterr().err.splitlines()
    assert missing == [f"{name}: no results" for name in RESEARCH]


@pytest.mark.parametrize("n_inputs", [5, 500])
def test_linear_share_of_outputs(n_inputs):
    """With fewer and with more inputs than samples; rectified inputs are linear by π / (2π − 2)."""
    random = np.random.default_rng(0)
    factors = random.normal(size=(400, 5))
    X = factors @ np.linalg.qr(random.normal(size=(n_inputs, 5)))[0].T
    shares = {}
    for name, Y in {"linear": 3 * factors + 1, "rectified": factors.clip(0),
                    "even": factors**2}.items():  # fmt: skip
        metrics = projector_diagnostics.measure((X[:300], X[300:]), (Y[:300], Y[300:]), 1)
        shares[name] = metrics["linear_r2"]
    assert shares["linear"] == pytest.approx(1, abs=0.01)
    assert shares["rectified"] == pytest.approx(np.pi / (2 * np.pi - 2), abs=0.05)
    assert shares["even"] == pytest.approx(0, abs=0.05)
