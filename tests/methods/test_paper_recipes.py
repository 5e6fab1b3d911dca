"""LFR.paper: the settings of the paper, whatever the defaults of LFR are."""

import pytest

from aleator import LFR
from aleator.benchmark import recipes
from aleator.benchmark.datasets.catalog import DOMAINS
from aleator.methods import paper_recipes

# LFR().get_params() of version 0.3.
DEFAULTS_0_3 = {
    "batch_size": 128, "betas": (0.9, 0.999), "device": "auto", "embedding_dim": None,
    "encoder": "auto", "epochs": 100, "learning_rate": None, "loss": "bbt", "memory_limit": None,
    "modality": "auto", "momentum": 0.9, "n_candidates": None, "n_projectors": 6,
    "off_diagonal_weight": 0.01, "optimizer": "adam", "precision": "auto", "predictor": "auto",
    "predictor_epochs": None, "predictor_hidden": 256, "predictor_layers": 2,
    "predictor_learning_rate": None, "predictors": None, "preprocessing": "auto",
    "progress": True, "projector": "auto", "projector_init": "default", "projectors": None,
    "random_state": None, "schedule": "constant", "selection_size": None, "steps": None,
    "training": "alternating", "verbose": 0, "warmup_epochs": 0, "weight_decay": 0.0,
    "weight_dropout": 0.0,
}  # fmt: skip
ADDED = {
    "n_extra_projectors": None,
    "target_dim": None,
    "target_scaling": "auto",
    "devices": 1,
    "num_nodes": 1,
    "strategy": "ddp",
}
# Data sets in the place of others, whose recipes they have.
STAND_INS = dict.fromkeys([*DOMAINS["cwru-load"], *DOMAINS["cwru-size"]], "fault-a")
STAND_INS |= {"mimic3-demo": "mimic3", "har-5881": "har", "epilepsy-7360": "epilepsy"}
DATASETS = sorted(
    dataset for dataset, method in recipes.names() if method == "lfr" and dataset not in STAND_INS
)


def comparable(parameters):
    """YAML has lists where Python has tuples."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in parameters.items()}


def test_without_a_data_set_it_is_what_lfr_was_in_0_3():
    assert LFR.paper().get_params() == {**DEFAULTS_0_3, **ADDED}


def test_every_data_set_has_a_recipe():
    assert sorted(paper_recipes.RECIPES) == DATASETS
    assert len(DATASETS) == 14


@pytest.mark.parametrize("dataset", DATASETS)
def test_recipes_are_those_of_the_benchmarks(dataset):
    in_benchmarks = recipes.read(dataset).parameters
    expected = {**DEFAULTS_0_3, **ADDED, **in_benchmarks}
    assert comparable(LFR.paper(dataset).get_params()) == comparable(expected)


@pytest.mark.parametrize("dataset", STAND_INS)
def test_stand_ins_have_the_recipes_of_others(dataset):
    assert recipes.read(dataset).parameters == recipes.read(STAND_INS[dataset]).parameters


@pytest.mark.parametrize("dataset", DATASETS)
def test_benchmarks_train_what_the_recipe_says(dataset):
    """What a recipe does not mention has not changed with the defaults."""
    made = recipes.read(dataset).estimator("cpu", seed=3).get_params()
    expected = {**DEFAULTS_0_3, **ADDED, **recipes.read(dataset).parameters}
    expected |= {"device": "cpu", "random_state": 3, "progress": False}
    if "precision" in recipes.read(dataset).parameters:
        expected["precision"] = "32"
    assert comparable(made) == comparable(expected)


def test_parameters_can_be_changed():
    lfr = LFR.paper("har", epochs=3, n_projectors=2)
    assert (lfr.epochs, lfr.n_projectors, lfr.encoder) == (3, 2, "cnn")
    assert LFR.paper("har").epochs == 200


def test_an_unknown_data_set_is_refused():
    with pytest.raises(ValueError, match="no recipe for 'iris': give one of 'cifar10', 'epilepsy'"):
        LFR.paper("iris")


def test_a_subclass_stays_one():
    class Own(LFR):
        pass

    assert type(Own.paper("har")) is Own
