"""Recipes: the YAML files in benchmarks/configs."""

import pytest

from aleator.benchmark import datasets, paper, recipes, speed
from aleator.benchmark.method_names import METHODS
from aleator.benchmark.studies import STUDIES

N_AXES = {"table": 1, "series": 2, "image": 3}  # of a sample


@pytest.mark.parametrize(("dataset", "method"), recipes.names())
def test_recipe_is_a_valid_estimator(dataset, method):
    recipe = recipes.read(dataset, method)
    assert (recipe.dataset, recipe.method) == (dataset, method)
    assert len(recipe.origin) > 40
    assert recipe.probe["kind"] in ("logistic", "linear", "mlp", "own")
    estimator = recipe.estimator("cpu", seed=0)
    assert type(estimator).__name__ == METHODS[method].removesuffix(".paper")
    parameters = estimator.get_params()
    if "modality" in parameters:  # not one of scikit-learn's
        estimator._check_parameters()
        # "auto" infers it from the shape.
        n_axes = len(datasets.DATASETS[dataset].shape)
        assert N_AXES.get(estimator.modality, n_axes) == n_axes
    assert parameters.get("device", "cpu") == "cpu"
    assert parameters["random_state"] == 0
    assert (recipe.probe["kind"] == "own") == hasattr(estimator, "predict")


def test_timed_recipes_exist():
    paper = {name for name in speed.RECIPES if not name.startswith("default-")}
    assert {(name, "lfr") for name in paper} <= set(recipes.names())
    defaults = {name.removeprefix("default-") for name in speed.RECIPES} - paper - {"small"}
    assert defaults == {"har", "income", "kvasir-v1", "cifar10"} - paper
    assert {(name, "lfr-default") for name in defaults} <= set(recipes.names())


def test_unknown_recipes_raise():
    with pytest.raises(ValueError, match="no recipe for data set 'iris'; known: cifar10"):
        recipes.read("iris")
    message = "no recipe for method 'tstcc' on data set 'income'; known methods: logreg"
    with pytest.raises(ValueError, match=message):
        recipes.read("income", "tstcc")


@pytest.mark.parametrize("dataset", sorted(paper.ACCURACY))
def test_every_result_of_the_paper_has_a_recipe(dataset):
    assert set(recipes.methods_for(dataset)) >= set(paper.ACCURACY[dataset])


def test_hash_depends_on_parameters_only():
    recipe = recipes.read("income")
    other = recipes.Recipe(**{**vars(recipe), "parameters": {**recipe.parameters, "epochs": 3}})
    assert other.config_hash != recipe.config_hash
    reworded = recipes.Recipe(**{**vars(recipe), "origin": "elsewhere"})
    assert reworded.config_hash == recipe.config_hash


def test_hash_has_not_changed():
    """Committed results are found by these values."""
    assert recipes.hash_of({"b": [1, 2.5], "a": None}) == "6b1d84977084473f"
    assert recipes.read("income").config_hash == "5bffd4c36038253a"


def test_default_length_is_shortened_too():
    recipe = recipes.Recipe("income", "autoencoder", "a test", {"embedding_dim": 8})
    assert recipe.shortened(1, 100).parameters == {"embedding_dim": 8}
    assert recipe.shortened(0.05, 100).parameters == {"embedding_dim": 8, "epochs": 5}
    steps = recipes.Recipe("income", "autoencoder", "a test", {"steps": 200})
    assert steps.shortened(0.05, 100).parameters == {"steps": 10}
    untrained = recipes.Recipe("income", "random", "a test")
    assert untrained.shortened(0.05, 100).parameters == {}


@pytest.mark.parametrize(
    ("n_samples", "scale", "expected"),
    [
        (100, 0.2, {"epochs": 4}),  # of 20
        (100, 0.01, {"epochs": 1}),
        (25_600, 0.2, {"epochs": 1}),  # of 5, which are 500 steps
        (1_000_000, 0.2, {"steps": 100}),  # of 500, less than a pass
    ],
)
def test_the_default_length_of_lfr_depends_on_the_data(n_samples, scale, expected):
    recipe = recipes.read("theorem", "lfr-default")
    assert recipe.shortened(1, n_samples) == recipe
    assert recipe.shortened(scale, n_samples).parameters == expected


@pytest.mark.parametrize("dataset", STUDIES["finetune"].datasets)
def test_settings_of_fine_tuning_are_complete(dataset):
    supervised = recipes.read(dataset, "supervised")
    # Their defaults, a constant rate and no views, suit fine-tuning.
    optional = {"schedule", "view_options"}
    assert set(supervised.finetuning) >= {*supervised.parameters, "label_fraction"} - optional
