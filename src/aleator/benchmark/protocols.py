"""Ways to judge a trained estimator. A protocol is a name in a result line and a function here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
    _embeddings: dict[str | None, Split] = field(default_factory=dict)

    def judged_on(self, target: str | None) -> Split:
        """The data of another domain, or what it was trained on."""
        return self.split if target is None else self.read(target)

    def embedded(self, target: str | None) -> Split:
        """The embedding of those data, made once for all probes."""
        if target not in self._embeddings:
            split = self.judged_on(target)
            train, test = (self.estimator.transform(X) for X in (split.X_train, split.X_test))
            self._embeddings[target] = Split(train, split.y_train, test, split.y_test)
        return self._embeddings[target]


def transfer_to(dataset: str, *, standardised: bool = False) -> str:
    """The protocol that judges on another domain.

    >>> transfer_to("fault-b"), transfer_to("fault-b", standardised=True)
    ('transfer to fault-b', 'transfer to fault-b, standardised')
    """
    return _TRANSFER + dataset + (f", {STANDARDISED}" if standardised else "")


def target_of(protocol: str) -> str | None:
    """The domain that a protocol judges on; None: that of the training.

    >>> target_of("transfer to fault-b, standardised"), target_of("paper")
    ('fault-b', None)
    """
    if not protocol.startswith(_TRANSFER):
        return None
    return protocol.removeprefix(_TRANSFER).removesuffix(f", {STANDARDISED}")


def is_standardised(protocol: str) -> bool:
    """Whether its probe standardises the embedding.

    >>> is_standardised("transfer to fault-b, standardised"), is_standardised("paper")
    (True, False)
    """
    return protocol.endswith(STANDARDISED)


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
    target = target_of(protocol)
    if case.recipe.probe["kind"] == "own":
        return _by_itself(case, case.judged_on(target))
    return _probed(case, case.embedded(target), standardised=is_standardised(protocol))


def _by_itself(case: Case, split: Split) -> dict[str, float]:
    from aleator.evaluation.metrics import classification_metrics

    scores = case.estimator.predict_proba(split.X_test)
    return classification_metrics(split.y_test, scores, case.estimator.classes_)


def _probed(case: Case, embedded: Split, *, standardised: bool) -> dict[str, float]:
    """By the recipe's probe, on frozen embeddings."""
    from aleator import evaluation

    settings = dict(case.recipe.probe)
    kind = settings.pop("kind")
    common: dict[str, Any] = {
        **embedded.arrays(), "standardized": standardised, "seeds": [case.seed],
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
