"""Studies of LFR itself: one setting is varied at a time, and the test set is not used.

Every study varies one thing around LFR's defaults. The variant that is the default has the recipe
of the defaults, unchanged, so that all studies share its runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aleator.benchmark import recipes
from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.protocols import PROJECTORS
from aleator.benchmark.recipes import Recipe
from aleator.benchmark.study import Study, Vary, few_labels

if TYPE_CHECKING:
    from aleator.modalities import Modality

# What the defaults of LFR stand for; a test compares them with the estimator. The width of the
# embedding and the number of epochs depend on the data.
LFR_DEFAULTS: dict[str, Any] = {
    "n_projectors": 16,
    "target_dim": 256,
    "target_scaling": "standardize",
    "training": "joint",
    "loss": "mse",
}
DIAGNOSIS, FEATURE_COUNTS = "research-diagnosis", "research-feature-counts"
LFR, FEATURES = "lfr-default", "random-features"
UNTRAINED, RAW_VALUES = "random-default", "logreg"
FAMILY_AXIS = "family"
LFR_ROW = "LFR"

_DATASETS = ("har", "epilepsy", "kvasir-v1", "theorem", "income")
# Tables of one-hot encoded categories, which are recognized and have other random features.
_ONE_HOT = ("income",)
_SEEDS = (0, 1, 2)
_N_FEATURES = 4096
# The paper trains on images for 400 epochs, which takes minutes for each run.
_MOST_EPOCHS = 200


def default_epochs(dataset: str) -> int:
    """Return the number of epochs that LFR takes by default on four fifths of a training set.

    Parameters
    ----------
    dataset : str
        Name of the data set.

    Returns
    -------
    epochs : int
        20, or as many as have 500 steps.

    Examples
    --------
    >>> default_epochs("har"), default_epochs("income")
    (20, 5)
    """
    from aleator.methods import lfr  # here, because it imports torch

    n_samples = math.ceil(0.8 * DATASETS[dataset].train)
    return lfr.default_duration(n_samples, lfr.LFR().batch_size).count


def modality_of(dataset: str) -> Modality:
    """Return the kind of data of a data set.

    Parameters
    ----------
    dataset : str
        Name of the data set.

    Returns
    -------
    modality : Modality
        The modality that estimators infer.

    Examples
    --------
    >>> modality_of("har").name
    'series'
    """
    from aleator.modalities import infer_modality  # here, because it imports torch

    return infer_modality("auto", (1, *DATASETS[dataset].shape))


def default_width(dataset: str) -> int:
    """Return the width of the embedding that LFR learns from four fifths of a training set.

    Parameters
    ----------
    dataset : str
        Name of the data set.

    Returns
    -------
    width : int
        Number of dimensions.

    Examples
    --------
    >>> default_width("har"), default_width("kvasir-v1")
    (512, 1024)
    """
    from aleator.projectors import feature_encoder  # here, because it imports torch

    n_samples = math.ceil(0.8 * DATASETS[dataset].train)
    return feature_encoder.default_width(n_samples, modality_of(dataset).encoder_dim)


def _around(axis: str, values: Iterable[Any], default: Callable[[str], Any] | None = None) -> Vary:
    """Set one parameter to each of some values, one of which may be the default."""

    def vary(recipe: Recipe) -> list[Recipe]:
        known = default(recipe.dataset) if default else LFR_DEFAULTS[axis]
        return [
            recipe.varied(str(value).lower(), **({} if value == known else {axis: value}))
            for value in values
        ]

    return vary


def _drawn_families(dataset: str) -> dict[str, dict[str, Any]]:
    """Map the families that are drawn from data, and the default mix, to changes of a recipe."""
    from aleator.modalities.choices import is_drawn_from_data
    from aleator.modalities.table import with_column_blocks

    modality = with_column_blocks([]) if dataset in _ONE_HOT else modality_of(dataset)
    drawn = [name for name in modality.projectors if is_drawn_from_data(modality, name)]
    default: dict[str, dict[str, Any]] = {" + ".join(modality.random_features): {}}
    return default | {
        name: {"projector": name} for name in drawn if (name,) != tuple(modality.random_features)
    }


def _families(recipe: Recipe) -> list[Recipe]:
    """Vary the projectors; networks differ from the others in nothing but their kind."""
    network = recipes.read(recipe.dataset, "lfr").parameters["projector"]
    same_otherwise = {
        "projector": network,
        "n_candidates": LFR_DEFAULTS["n_projectors"],
        "target_dim": LFR_DEFAULTS["target_dim"],
        "target_scaling": LFR_DEFAULTS["target_scaling"],
        "loss": LFR_DEFAULTS["loss"],
    }
    families = {**_drawn_families(recipe.dataset), f"networks ({network})": same_otherwise}
    if network != "mlp":  # the initialization is one of convolutions
        beta = {"projector_init": "beta", "weight_dropout": 0.4}
        families[f"networks ({network}), beta"] = {**same_otherwise, **beta}
    return [recipe.varied(name, **changes) for name, changes in families.items()]


def _feature_families(recipe: Recipe) -> list[Recipe]:
    return [
        recipe.varied(name, **{**changes, "n_features": _N_FEATURES})
        for name, changes in _drawn_families(recipe.dataset).items()
    ]


def _feature_counts(recipe: Recipe) -> list[Recipe]:
    if recipe.method == LFR:
        return [recipe.varied(LFR_ROW)]
    counts = [recipe.varied(str(n), n_features=n) for n in (512, 1024, 2048, 4096, 8192)]
    reduced = recipe.varied(
        "principal components", n_features=modality_of(recipe.dataset).encoder_features,
        n_components=default_width(recipe.dataset),
    )  # fmt: skip
    return [*counts, reduced]


def _encoders(recipe: Recipe) -> list[Recipe]:
    """Vary the encoder, trained and untrained; the last row is the whole recipe of the paper."""
    untrained = {
        RAW_VALUES: "raw values",
        "random": "the paper's encoder, untrained",
        UNTRAINED: "the default encoder, untrained",
        "lfr": "the paper's encoder and projectors, the paper's recipe",
    }
    if recipe.method != LFR:
        return [recipe.varied(untrained[recipe.method])]
    paper = recipes.read(recipe.dataset, "lfr").parameters
    network = {n: paper[n] for n in ("encoder", "embedding_dim", "precision") if n in paper}
    return [
        recipe.varied("the paper's encoder, default projectors",
                      **network, epochs=min(paper["epochs"], _MOST_EPOCHS)),
        recipe.varied("the default encoder, default projectors"),
    ]  # fmt: skip


def _budgets(recipe: Recipe) -> list[Recipe]:
    if recipe.method == UNTRAINED:
        return [recipe.varied("random weights")]
    default = default_epochs(recipe.dataset)
    return _around("epochs", sorted({0, 5, 20, 80, default}), lambda _: default)(recipe)


def _widths(recipe: Recipe) -> list[Recipe]:
    """Vary the width of the embedding, of which fewer are measured without training."""
    if recipe.method != UNTRAINED:
        return _around("embedding_dim", (64, 128, 256, 512, 1024, 2048), default_width)(recipe)
    variants = _around("embedding_dim", (64, 256, 1024), default_width)(recipe)
    return [replace(variant, variant=f"{variant.variant}, random weights") for variant in variants]


def _solved_projectors(recipe: Recipe) -> list[Recipe]:
    """Vary for how many projectors the linear part is solved; at most 16 of them are trained."""
    most_kept = LFR_DEFAULTS["n_projectors"]
    default = most_kept * (1 + modality_of(recipe.dataset).extra_projectors)
    variants = []
    for count in (4, 16, 64):
        kept = min(count, most_kept)
        changes = {"n_projectors": kept, "n_extra_projectors": count - kept}
        variants.append(recipe.varied(str(count), **({} if count == default else changes)))
    return variants


def _study(name: str, title: str, axis: str, vary: Vary, methods: Sequence[str] = (LFR,)) -> Study:
    return Study(
        name, title, _DATASETS, (), tuple(methods), vary, axis,
        labels=few_labels, seeds=_SEEDS, held_out=True,
    )  # fmt: skip


# In the order of importance: what is run first, and read first.
RESEARCH_STUDIES = (
    _study("research-families", "Projectors that LFR predicts", FAMILY_AXIS, _families),
    Study(
        DIAGNOSIS, "What the outputs of projectors contain", _DATASETS, (PROJECTORS,), (LFR,),
        _families, FAMILY_AXIS, seeds=_SEEDS, held_out=True,
    ),
    _study(
        "research-encoder", "Encoder", "encoder and projectors", _encoders,
        (RAW_VALUES, "random", UNTRAINED, "lfr", LFR),
    ),
    _study(
        "research-feature-families", "Random features without training, by family", FAMILY_AXIS,
        _feature_families, (FEATURES,),
    ),
    _study(
        FEATURE_COUNTS, "Random features without training, by their number",
        "number of features", _feature_counts, (FEATURES, LFR),
    ),
    _study("research-budget", "Length of the training", "epochs", _budgets, (UNTRAINED, LFR)),
    _study(
        "research-loss", "Loss of LFR", "loss",
        _around("loss", ("bbt", "mse", "cosine", "infonce")),
    ),
    _study(
        "research-width", "Width of the embedding", "dimensions", _widths, (UNTRAINED, LFR)
    ),
    _study(
        "research-projectors", "Number of projectors", "projectors", _solved_projectors,
    ),
    _study(
        "research-target-dim", "Width of a projector", "outputs",
        _around("target_dim", (64, 256, 1024)),
    ),
    _study(
        "research-scaling", "Scaling of the targets", "scaling",
        _around("target_scaling", (None, "standardize", "whiten")),
    ),
    _study(
        "research-training", "Joint or alternating training", "training",
        _around("training", ("joint", "alternating")),
    ),
)  # fmt: skip
