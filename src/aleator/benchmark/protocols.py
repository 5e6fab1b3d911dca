"""Ways to judge a trained estimator. A protocol is a name in a result line and a function here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aleator.benchmark import recipes
from aleator.benchmark.datasets import Split
from aleator.benchmark.recipes import Recipe, hash_of, settings_on
from aleator.benchmark.timing import by_epoch, steady

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

    @cached_property
    def embedded(self) -> Split:
        """The embedding of what it was trained on, made once for all probes."""
        return _embedding_of(self.split, self.estimator)


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
        return {"seconds_per_epoch": steady(by_epoch(case.estimator.history_))}
    if protocol == FINETUNED:
        return _finetuned(case)
    away = case.read(protocol.removeprefix(_TRANSFER)) if protocol.startswith(_TRANSFER) else None
    if case.recipe.probe["kind"] == "own":
        return _by_itself(case, away or case.split)
    embedded = _embedding_of(away, case.estimator) if away else case.embedded
    return _probed(case, embedded, standardised=protocol == STANDARDISED)


def _by_itself(case: Case, split: Split) -> dict[str, float]:
    from aleator.evaluation.metrics import of_classes

    scores = case.estimator.predict_proba(split.X_test)
    return of_classes(split.y_test, scores, case.estimator.classes_)


def _embedding_of(split: Split, estimator: Any) -> Split:
    train, test = (estimator.transform(X) for X in (split.X_train, split.X_test))
    return Split(train, split.y_train, test, split.y_test)


def _probed(case: Case, embedded: Split, *, standardised: bool) -> dict[str, float]:
    """By the recipe's probe, on frozen embeddings."""
    from aleator import evaluation

    settings = dict(case.recipe.probe)
    kind = settings.pop("kind")
    common: dict[str, Any] = {
        **embedded.arrays(), "standardised": standardised, "seeds": [case.seed],
        "device": case.device,
    }  # fmt: skip
    if kind == "logistic":
        return _first(evaluation.logistic_regression(**common))
    probe = {"linear": evaluation.linear_classifier, "mlp": evaluation.mlp_classifier}[kind]
    return _first(probe(**common, training=evaluation.ProbeTraining(**settings)))


def _finetuned(case: Case) -> dict[str, float]:
    """Encoder and linear layer trained with labels, from where pre-training ended."""
    from aleator.evaluation import fine_tune

    labelled = recipes.read(case.recipe.dataset, "supervised").shortened(case.scale)
    settings = dict(settings_on(case.device, _tuning(labelled)))
    # The encoder and the scale of its data are the trained estimator's.
    for name in ("modality", "preprocessing", "encoder", "embedding_dim"):
        settings.pop(name, None)
    settings |= {**case.split.arrays(), "seeds": [case.seed], "device": case.device}
    return _first(fine_tune(case.estimator, **settings))


def _tuning(labelled: Recipe) -> dict[str, Any]:
    return {**labelled.parameters, **labelled.finetuning}


def _first(result: Any) -> dict[str, float]:
    return {name: values[0] for name, values in result.metrics.items()}
