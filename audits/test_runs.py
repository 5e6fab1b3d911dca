"""Committed result lines belong to the current recipes and are complete."""

import pytest

from aleator.benchmark import nearest_neighbors_figure, recipes
from aleator.benchmark.cells import Cell, key_of
from aleator.benchmark.datasets.catalog import DOMAINS
from aleator.benchmark.fidelity_studies import FIDELITY_STUDIES
from aleator.benchmark.studies import STUDIES
from audits.committed import lines

# Not run; listed in benchmarks/README.md too.
NOT_RUN = {
    (study, "cifar10", method, 0)
    for study in ("cifar10", "finetune")
    for method in ("diet", "simsiam", "simclr", "dacl")
}
NOT_RUN |= {("embedding-dim", "kvasir-v1", m, 0) for m in ("simsiam", "simclr", "dacl")}
NOT_RUN |= {("finetune", "income", "stab", s) for s in (0, 4)}
DEFAULTS = ("random-default", "random-features", "lfr-default")
# They are not shortened: see test_results_of_the_defaults_are_complete.
NOT_RUN |= {("cifar10", "cifar10", method, 0) for method in DEFAULTS}

# Trainings of the studies of differences from the paper that were not run; in the README, too.
MISSING = {"views": 10, "diet-epochs": 15, "finetune-settings": 48, "fewer-rows": 2}


def test_lines_belong_to_current_recipes():
    fields = {"dataset", "dataset_sha256", "method", "config_hash", "seed", "protocol", "version",
              "commit", "device", "metrics", "seconds", "epochs_scale"}  # fmt: skip
    rows = lines("runs.jsonl")
    assert rows
    expected = {
        key
        for scale in {row["epochs_scale"] for row in rows}
        for study in STUDIES.values()
        for cell in study.cells(seeds=range(5), epochs_scale=scale)
        for key in cell.keys
    }
    expected |= Cell(recipes.read("cifar10"), 0, (nearest_neighbors_figure.NEIGHBORS,)).keys
    for row in rows:
        assert key_of(row) in expected
        assert fields <= set(row)
        assert not row["small"]
        assert "dirty" not in row["commit"]
        if "accuracy" in row["metrics"]:
            assert 0 <= row["metrics"]["accuracy"] <= 1


@pytest.mark.parametrize(
    ("study", "dataset", "scale"),
    [
        *((study, name, 1.0) for study in ("table1", "finetune")
          for name in ("har", "epilepsy", "income", "theorem", "kvasir-v1")),
        ("table1", "physionet2012", 1.0),
        *(("transfer", name, 1.0) for group in ("cwru-load", "cwru-size")
          for name in DOMAINS[group]),
        ("finetune", "cifar10", 0.05),
        ("cifar10", "cifar10", 0.05),
        *((study, "kvasir-v1", 0.25) for study in (
            "projectors", "batch-size", "predictor-epochs", "embedding-dim", "selection-size",
            "loss", "diversity")),
        ("embedding-dim", "theorem", 1.0),
        ("stab-dropout", "theorem", 1.0),
    ],
)  # fmt: skip
def test_studies_are_complete(study, dataset, scale):
    done = {key_of(row) for row in lines("runs.jsonl")}
    # As many seeds as the paper in tables, three in ablations, one in shortened runs.
    seeds = [0] if scale < 1 else [0, 1, 2] if STUDIES[study].vary else None
    missing = {
        (study, dataset, cell.recipe.method, cell.seed)
        for cell in STUDIES[study].cells([dataset], None, seeds, scale)
        if not cell.keys <= done
    }
    assert missing == {entry for entry in NOT_RUN if entry[:2] == (study, dataset)}


@pytest.mark.parametrize("study", FIDELITY_STUDIES, ids=lambda study: study.name)
def test_studies_of_differences_are_complete(study):
    done = {key_of(row) for row in lines("runs.jsonl")}
    missing = [cell for cell in study.cells() if not cell.keys <= done]
    assert len(missing) == MISSING.get(study.name, 0), "update MISSING and benchmarks/README.md"


@pytest.mark.parametrize(
    ("study", "dataset"),
    [("cifar10", "cifar10"), *(("labels", name) for name in STUDIES["labels"].datasets)],
)
def test_results_of_the_defaults_are_complete(study, dataset):
    done = {key_of(row) for row in lines("runs.jsonl")}
    cells = STUDIES[study].cells([dataset], DEFAULTS)
    assert {cell.recipe.method for cell in cells} == set(DEFAULTS)
    for cell in cells:
        assert cell.keys <= done
