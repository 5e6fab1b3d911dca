"""Studies of what the paper leaves open: why a cell differs, and settings chosen without test sets.

`benchmarks/README.md` names them where it explains a difference from the paper.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from aleator.benchmark.finetuning_protocols import FineTuning
from aleator.benchmark.recipes import Recipe
from aleator.benchmark.study import Study, Vary

_SERIES, _TABLES = ("har", "epilepsy"), ("theorem", "income")
# The study whose tables have the settings of fine-tuning as columns.
FINETUNE_SETTINGS = "finetune-settings"
# Those of the paper's appendix C; the recipes have rates that were chosen on held-out samples.
_PAPER_DROP_RATES = {"income": 0.1, "theorem": 0.8}


def each(axis: str, values: Iterable[Any]) -> Vary:
    """Make a function that sets one parameter of a recipe to each of some values.

    Parameters
    ----------
    axis : str
        Name of the parameter.
    values : iterable of object
        Its values; their texts are the names of the variants.

    Returns
    -------
    vary : callable
        The function.

    Examples
    --------
    >>> from aleator.benchmark import recipes
    >>> [recipe.variant for recipe in each("epochs", (1, 2))(recipes.read("income"))]
    ['1', '2']
    """
    return lambda recipe: [recipe.varied(str(value), **{axis: value}) for value in values]


def _supervised(recipe: Recipe) -> list[Recipe]:
    """Vary the schedule and, for tables, the layer between the encoder and the classes."""
    variants = [recipe.varied("constant", schedule="constant"), recipe.varied("cosine")]
    if recipe.parameters["encoder"] != "mlp-hidden":
        return variants
    changes = {"encoder": "mlp"}
    return [
        *(recipe.varied(f"{v.variant}, one more layer", **{**v.parameters, **changes})
          for v in variants),
        *variants,
    ]  # fmt: skip


def _stab(recipe: Recipe) -> list[Recipe]:
    """Train the encoder; only its biases and the predictor, as the authors' program; or nothing."""
    rate = _PAPER_DROP_RATES[recipe.dataset]
    return [
        recipe.varied("encoder", drop_rate=rate),
        recipe.varied("biases and predictor", drop_rate=rate, trains="heads"),
        recipe.varied("nothing", drop_rate=rate, trains="heads", epochs=0),
    ]


def _decoders(recipe: Recipe) -> list[Recipe]:
    return [
        recipe.varied("convolutions"),
        recipe.varied("transposed convolutions", decoder="cnn-transposed"),
        recipe.varied(
            "transposed convolutions, embedding of 256", decoder="cnn-transposed", embedding_dim=256
        ),
        recipe.varied("linear layers", decoder="mlp"),
    ]


def _views(recipe: Recipe) -> list[Recipe]:
    """Make views as strong as in TS-TCC, as the recipe has, or as in the LFR authors' program."""
    weak = {"weak_scale": 0.1, "segments": 4, "strong_noise": 0.05}
    return [recipe.varied("TS-TCC"), recipe.varied("LFR's authors", view_options=weak)]


FIDELITY_STUDIES = (
    Study(
        "simsiam-norm", "Normalization of SimSiam's projection head", (*_SERIES, *_TABLES),
        methods=("simsiam",), vary=each("projector_norm", ("none", "hidden", "end", "both")),
        axis="normalization", seeds=(0, 1), held_out=True,
    ),
    Study(
        "views", "Strength of the views of SimCLR and SimSiam", _SERIES,
        methods=("simclr", "simsiam"), vary=_views, axis="views of",
    ),
    Study(
        "stab-rate", "Drop rate of STab, on held-out samples", _TABLES, methods=("stab",),
        vary=each("drop_rate", (0.1, 0.2, 0.4, 0.6, 0.8)), axis="drop rate", seeds=(0, 1, 2),
        held_out=True,
    ),
    Study(
        "stab-trains", "What STab trains", _TABLES, methods=("stab",), vary=_stab, axis="trained",
    ),
    Study(
        "dacl-share", "Smallest share of a sample in DACL's mixture", (*_SERIES, *_TABLES),
        methods=("dacl",), vary=each("least_share", (0.5, 0.9)), axis="smallest share",
    ),
    Study(
        "diet-epochs", "Length of the training of DIET", ("income",), methods=("diet",),
        vary=each("epochs", (10, 25, 50, 100)), axis="epochs",
    ),
    Study(
        "decoder", "Decoder of the autoencoder", _SERIES, methods=("autoencoder",), vary=_decoders,
        axis="decoder",
    ),
    Study(
        "supervised", "Schedule and last layers of supervised training", (*_SERIES, *_TABLES),
        methods=("supervised",), vary=_supervised, axis="schedule",
    ),
    Study(
        "logreg-iterations", "Iterations of logistic regression on raw values",
        (*_SERIES, "har-5881", "epilepsy-7360", "theorem"), methods=("logreg",),
        vary=each("max_iter", (100, 300, 1000, 3000)), axis="iterations", seeds=(0,),
    ),
    Study(
        FINETUNE_SETTINGS, "Learning rate and length of fine-tuning", (*_SERIES, *_TABLES),
        tuple(FineTuning(*factors).protocol for factors in product((1, 10), (0.3, 1, 3, 10))),
        methods=("random", "diet", "simsiam", "simclr", "scarf", "stab", "lfr"), seeds=(0, 1, 2),
    ),
    Study(
        "fewer-rows", "As many training samples as in the notebooks of the authors",
        ("har-5881", "epilepsy-7360"), methods=("logreg", "supervised", "random", "lfr"),
    ),
)  # fmt: skip
