"""Ways to judge a trained estimator. A protocol is a name in a result line and a function here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aleator.benchmark import recipes
from aleator.benchmark.datasets import Split
from aleator.benchmark.recipes import Recipe, hash_of, settings_on

PAPER, STANDARDISED = "paper", "standardised"
FINETUNED, TIMED = "finetuned", "timed"
_TRANSFER = "transfer to "

# Reads a data set by name.
Reader = Callable[[str], Split]


@dataclass(frozen=True)
class Case:
    """A trained estimator, what it was trained on, and where to find other data."""

    recipe: Recipe
    estimator: Any
    split: Split
    seed: int
    device: str
    scale: float
    read: Reader


def transfer_to(dataset: str) -> str:
    """The protocol that judges on another domain.

    >>> transfer_to("fault-b")
    'transfer to fault-b'
    """
    return _TRANSFER + dataset


def config_hash(recipe: Recipe, protocol: str) -> str:
    """What a line's result depends on: the recipe, and for fine-tuning how labels are used.

    >>> recipe = recipes.read("income")
    >>> config_hash(recipe, PAPER) == recipe.config_hash != config_hash(recipe, FINETUNED)
    True
    """
    if protocol != FINETUNED:
        return recipe.config_hash
    labelled = recipes.read(recipe.dataset, "supervised")
    return hash_of({"trained": recipe.config_hash, "tuned": _tuning(labelled)})


def judge(protocol: str, case: Case) -> dict[str, float]:
    """Metrics of a trained estimator on the test part, as shares of one."""
    if protocol == TIMED:
        return _timed(case)
    if protocol == FINETUNED:
        return _finetuned(case)
    if protocol.startswith(_TRANSFER):
        return _probed(case, case.read(protocol.removeprefix(_TRANSFER)), standardised=False)
    return _probed(case, case.split, standardised=protocol == STANDARDISED)


def _probed(case: Case, split: Split, *, standardised: bool) -> dict[str, float]:
    """By the recipe's probe, or by the classifier itself."""
    from aleator import evaluation
    from aleator.evaluation.metrics import of_classes

    settings = dict(case.recipe.probe)
    kind = settings.pop("kind")
    if kind == "own":
        scores = case.estimator.predict_proba(split.X_test)
        return of_classes(split.y_test, scores, case.estimator.classes_)
    parts = split.X_train, split.y_train, split.X_test, split.y_test
    common: dict[str, Any] = {
        "model": case.estimator, "standardised": standardised, "seeds": [case.seed],
        "device": case.device,
    }  # fmt: skip
    if kind == "logistic":
        result = evaluation.logistic_regression(*parts, **common)
    else:
        probe = {"linear": evaluation.linear_classifier, "mlp": evaluation.mlp_classifier}[kind]
        result = probe(*parts, **common, training=evaluation.ProbeTraining(**settings))
    return _first(result)


def _finetuned(case: Case) -> dict[str, float]:
    """Encoder and linear layer trained with labels, from where pre-training ended."""
    from aleator.evaluation import fine_tune

    labelled = recipes.read(case.recipe.dataset, "supervised").shortened(case.scale)
    settings = dict(settings_on(case.device, _tuning(labelled)))
    # The encoder and the scale of its data are the trained estimator's.
    for name in ("modality", "preprocessing", "encoder", "embedding_dim"):
        settings.pop(name, None)
    split = case.split
    result = fine_tune(
        case.estimator, split.X_train, split.y_train, split.X_test, split.y_test,
        seeds=[case.seed], device=case.device, **settings,
    )  # fmt: skip
    return _first(result)


def _tuning(labelled: Recipe) -> dict[str, Any]:
    return {**labelled.parameters, **labelled.finetuning}


def _timed(case: Case) -> dict[str, float]:
    """Seconds an epoch, the first (capture, warm-up) left out where there are others."""
    seconds: dict[int, float] = {}
    for record in getattr(case.estimator, "history_", []):
        seconds[record["epoch"]] = seconds.get(record["epoch"], 0.0) + record["seconds"]
    each = [seconds[epoch] for epoch in sorted(seconds)]
    return {"seconds_per_epoch": float(np.mean(each[1:] or each or [0.0]))}


def _first(result: Any) -> dict[str, float]:
    return {name: values[0] for name, values in result.metrics.items()}
