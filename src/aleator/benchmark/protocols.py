"""Evaluation protocols: each is a name in a result line and a way to compute its metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aleator.benchmark import recipes
from aleator.benchmark.datasets import Split
from aleator.benchmark.recipes import Recipe, hash_of, settings_on
from aleator.benchmark.timing import by_epoch, steady

# The values are those that result files store, hence the British spelling of one of them.
PAPER, STANDARDIZED = "paper", "standardised"
FINETUNED, TIMED = "finetuned", "timed"
_TRANSFER = "transfer to "

# Loads a data set by name.
Loader = Callable[[str], Split]


@dataclass(frozen=True)
class Case:
    """A trained estimator with the data to evaluate it on.

    Parameters
    ----------
    recipe : Recipe
        The recipe it was trained with.
    estimator : estimator object
        The fitted estimator.
    split : Split
        The labeled samples of the data set it was trained on.
    seed : int
        Seed of the probes.
    device : str
        Device of the probes.
    scale : float
        Fraction of the recipe's epochs, also applied to fine-tuning.
    load : callable
        Loads another data set by name, for transfer.
    """

    recipe: Recipe
    estimator: Any
    split: Split
    seed: int
    device: str
    scale: float
    load: Loader
    _embeddings: dict[str | None, Split] = field(default_factory=dict)

    def evaluation_data(self, target: str | None) -> Split:
        """Return the data of domain `target`, or of the training domain if it is None."""
        return self.split if target is None else self.load(target)

    def embedded(self, target: str | None) -> Split:
        """Return the embedding of `evaluation_data`, computed once for all probes."""
        if target not in self._embeddings:
            split = self.evaluation_data(target)
            train, test = (self.estimator.transform(X) for X in (split.X_train, split.X_test))
            self._embeddings[target] = Split(train, split.y_train, test, split.y_test)
        return self._embeddings[target]


def transfer_to(dataset: str, *, standardized: bool = False) -> str:
    """Name the protocol that evaluates on another domain.

    Parameters
    ----------
    dataset : str
        The target domain.
    standardized : bool, default=False
        Whether the probe standardizes the embedding.

    Returns
    -------
    protocol : str
        Name of the protocol, as result files store it.

    Examples
    --------
    >>> transfer_to("fault-b"), transfer_to("fault-b", standardized=True)
    ('transfer to fault-b', 'transfer to fault-b, standardised')
    """
    return _TRANSFER + dataset + (f", {STANDARDIZED}" if standardized else "")


def target_of(protocol: str) -> str | None:
    """Return the target domain of a transfer protocol, or None for any other protocol.

    Parameters
    ----------
    protocol : str
        Name of a protocol.

    Returns
    -------
    dataset : str or None
        The data set it evaluates on.

    Examples
    --------
    >>> target_of("transfer to fault-b, standardised"), target_of("paper")
    ('fault-b', None)
    """
    if not protocol.startswith(_TRANSFER):
        return None
    return protocol.removeprefix(_TRANSFER).removesuffix(f", {STANDARDIZED}")


def is_standardized(protocol: str) -> bool:
    """Return whether the probe of a protocol standardizes the embedding.

    Parameters
    ----------
    protocol : str
        Name of a protocol.

    Returns
    -------
    standardized : bool
        True for the standardized protocols.

    Examples
    --------
    >>> is_standardized("transfer to fault-b, standardised"), is_standardized("paper")
    (True, False)
    """
    return protocol.endswith(STANDARDIZED)


def config_hash(recipe: Recipe, protocol: str) -> str:
    """Hash everything that a result depends on.

    Parameters
    ----------
    recipe : Recipe
        The recipe that is trained.
    protocol : str
        The protocol. The settings of fine-tuning are part of the hash, if it is used.

    Returns
    -------
    config_hash : str
        16 hexadecimal digits.

    Examples
    --------
    >>> recipe = recipes.read("income")
    >>> config_hash(recipe, PAPER) == recipe.config_hash != config_hash(recipe, FINETUNED)
    True
    """
    if protocol != FINETUNED:
        return recipe.config_hash
    supervised = recipes.read(recipe.dataset, "supervised")
    return hash_of({"trained": recipe.config_hash, "tuned": _tuning_parameters(supervised)})


def evaluate(protocol: str, case: Case) -> dict[str, float]:
    """Compute the metrics of a protocol on the test part.

    Parameters
    ----------
    protocol : str
        Name of the protocol.
    case : Case
        The trained estimator and its data.

    Returns
    -------
    metrics : dict of str to float
        Fractions of one, or seconds per epoch for the protocol ``TIMED``.
    """
    if protocol == TIMED:
        return {"seconds_per_epoch": steady(by_epoch(case.estimator.history_))}
    if protocol == FINETUNED:
        return _fine_tune(case)
    target = target_of(protocol)
    if case.recipe.probe["kind"] == "own":
        return _evaluate_classifier(case, case.evaluation_data(target))
    return _evaluate_probe(case, case.embedded(target), standardized=is_standardized(protocol))


def _evaluate_classifier(case: Case, split: Split) -> dict[str, float]:
    from aleator.evaluation.metrics import classification_metrics

    scores = case.estimator.predict_proba(split.X_test)
    return classification_metrics(split.y_test, scores, case.estimator.classes_)


def _evaluate_probe(case: Case, embedded: Split, *, standardized: bool) -> dict[str, float]:
    """Fit the recipe's probe on the frozen embedding."""
    from aleator import evaluation

    settings = dict(case.recipe.probe)
    kind = settings.pop("kind")
    common: dict[str, Any] = {
        **embedded.arrays(), "standardized": standardized, "seeds": [case.seed],
        "device": case.device,
    }  # fmt: skip
    if kind == "logistic":
        return _first_seed(evaluation.logistic_regression(**common))
    probe = {"linear": evaluation.linear_classifier, "mlp": evaluation.mlp_classifier}[kind]
    return _first_seed(probe(**common, training=evaluation.ProbeTraining(**settings)))


def _fine_tune(case: Case) -> dict[str, float]:
    """Train encoder and linear layer with labels, starting from the pre-trained weights."""
    from aleator.evaluation import fine_tune

    supervised = recipes.read(case.recipe.dataset, "supervised").shortened(case.scale)
    settings = dict(settings_on(case.device, _tuning_parameters(supervised)))
    # The trained estimator determines the encoder and the scale of its data.
    for name in ("modality", "preprocessing", "encoder", "embedding_dim"):
        settings.pop(name, None)
    settings |= {**case.split.arrays(), "seeds": [case.seed], "device": case.device}
    return _first_seed(fine_tune(case.estimator, **settings))


def _tuning_parameters(supervised: Recipe) -> dict[str, Any]:
    return {**supervised.parameters, **supervised.finetuning}


def _first_seed(result: Any) -> dict[str, float]:
    return {name: values[0] for name, values in result.metrics.items()}
