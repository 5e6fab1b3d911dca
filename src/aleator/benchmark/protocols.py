"""Evaluation protocols: each is a name in a result line and a way to compute its metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import stdev
from typing import Any, Self

import numpy as np

from aleator.benchmark import recipes
from aleator.benchmark.datasets import Split
from aleator.benchmark.finetuning_protocols import FineTuning
from aleator.benchmark.method_names import CLASSIFIERS
from aleator.benchmark.recipes import Recipe, hash_of, settings_on
from aleator.benchmark.timing import by_epoch, steady

# The values are those that result files store, hence the British spelling of one of them.
PAPER, STANDARDIZED = "paper", "standardised"
TIMED, PROJECTORS = "timed", "projectors"
_TRANSFER, _TARGET_LABELS = "transfer to ", ", labeled target"
_LABELS, _ALL = " labels", "all"

# How often samples are drawn for a number of labels below all.
_DRAWS = 3
# The method that stands for raw values in label curves: there its recipe is not used.
_RAW_VALUES = "logreg"

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
        The estimator, fitted if `needs_training` is true for one of the protocols.
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


@dataclass(frozen=True)
class Transfer:
    """The protocol that evaluates on another domain than that of the training.

    Parameters
    ----------
    target : str
        The other domain.
    target_labels : bool, default=False
        Whether the probe is fitted on the target domain. Otherwise it is fitted on the domain of
        the training, as in CA-TCC (Eldele et al. 2023), which the paper follows.
    standardized : bool, default=False
        Whether the probe standardizes the embedding.

    Examples
    --------
    >>> Transfer("fault-b").protocol, Transfer("fault-b", target_labels=True).protocol
    ('transfer to fault-b', 'transfer to fault-b, labeled target')
    >>> Transfer.parse("transfer to fault-b, standardised").standardized
    True
    """

    target: str
    target_labels: bool = False
    standardized: bool = False

    @property
    def protocol(self) -> str:
        """Name of the protocol, as result files store it."""
        suffixes = (_TARGET_LABELS if self.target_labels else "", _suffix(self.standardized))
        return _TRANSFER + self.target + "".join(suffixes)

    @classmethod
    def parse(cls, protocol: str) -> Self | None:
        """Read the name of a protocol; None if it is not a transfer.

        Parameters
        ----------
        protocol : str
            Name of a protocol.

        Returns
        -------
        Transfer or None
        """
        if not protocol.startswith(_TRANSFER):
            return None
        standardized = is_standardized(protocol)
        name = protocol.removeprefix(_TRANSFER).removesuffix(_suffix(standardized))
        target = name.removesuffix(_TARGET_LABELS)
        return cls(target, target_labels=target != name, standardized=standardized)


def _suffix(standardized: bool) -> str:
    return f", {STANDARDIZED}" if standardized else ""


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


def with_labels(count: int | None) -> str:
    """Name the protocol that uses a number of labels only.

    Parameters
    ----------
    count : int or None
        Number of labels; None means all.

    Returns
    -------
    protocol : str
        Name of the protocol, as result files store it.

    Examples
    --------
    >>> with_labels(30), with_labels(None)
    ('30 labels', 'all labels')
    """
    return f"{_ALL if count is None else count}{_LABELS}"


def uses_labels(protocol: str) -> bool:
    """Return whether a protocol is a point of a label curve.

    Parameters
    ----------
    protocol : str
        Name of a protocol.

    Returns
    -------
    uses_labels : bool
        True for the protocols that `with_labels` names.

    Examples
    --------
    >>> uses_labels("30 labels"), uses_labels("all labels"), uses_labels("paper")
    (True, True, False)
    """
    return protocol.endswith(_LABELS)


def needs_training(recipe: Recipe, protocol: str) -> bool:
    """Return whether a protocol evaluates the estimator trained on the whole training set.

    Parameters
    ----------
    recipe : Recipe
        The recipe that is trained.
    protocol : str
        Name of a protocol.

    Returns
    -------
    needs_training : bool
        False for points of a label curve where a classifier learns from a few labels, or where the
        raw values are used.

    Examples
    --------
    >>> supervised = recipes.read("income", "supervised")
    >>> needs_training(supervised, "10 labels"), needs_training(supervised, "all labels")
    (False, True)
    >>> needs_training(recipes.read("income", "lfr"), "10 labels")
    True
    """
    if recipe.method not in CLASSIFIERS or not uses_labels(protocol):
        return True
    return recipe.method != _RAW_VALUES and protocol == with_labels(None)


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
    >>> config_hash(recipe, PAPER) == recipe.config_hash != config_hash(recipe, "finetuned")
    True
    """
    tuning = FineTuning.parse(protocol)
    if tuning is None:
        return recipe.config_hash
    settings = tuning.applied_to(recipes.read(recipe.dataset, "supervised").finetuning)
    return hash_of({"trained": recipe.config_hash, "tuned": settings})


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
        Fractions of one, or seconds per epoch for the protocol ``TIMED``. For a number of labels
        they are means over draws, with the numbers ``labels`` and ``draws``, and the standard
        deviation of the accuracy over draws. For the protocol ``PROJECTORS`` they are those of all
        labels for the outputs of the projectors, with what `projector_diagnostics` measures.
    """
    if protocol == TIMED:
        return {"seconds_per_epoch": steady(by_epoch(case.estimator.history_))}
    if tuning := FineTuning.parse(protocol):
        return _fine_tune(case, tuning)
    if protocol == PROJECTORS:
        return _evaluate_projectors(case)
    if uses_labels(protocol):
        return _evaluate_label_count(case, protocol.removesuffix(_LABELS))
    transfer = Transfer.parse(protocol)
    target = transfer.target if transfer else None
    if case.recipe.probe["kind"] == "own":
        return _evaluate_classifier(case, case.evaluation_data(target))
    embedded = case.embedded(target)
    if transfer and not transfer.target_labels:
        source = case.embedded(None)
        embedded = Split(source.X_train, source.y_train, embedded.X_test, embedded.y_test)
    return _evaluate_probe(case, embedded, standardized=is_standardized(protocol))


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
    probe: Any = {"linear": evaluation.linear_classifier, "mlp": evaluation.mlp_classifier}[kind]
    architecture = {n: settings.pop(n) for n in ("hidden", "layer_norm") if n in settings}
    training = evaluation.ProbeTraining(**settings)
    return _first_seed(probe(**common, **architecture, training=training))


def _evaluate_label_count(case: Case, count: str) -> dict[str, float]:
    """Average metrics over draws of labeled samples, the same ones for all methods of a seed."""
    from aleator.evaluation.label_curve import classifier_evaluation, probe_evaluation
    from aleator.evaluation.label_draws import labeling_order

    split, recipe = case.split, case.recipe
    n_samples = len(split.y_train)
    n_labels = n_samples if count == _ALL else int(count)
    if n_labels > n_samples:
        raise ValueError(f"{recipe.dataset} has {n_samples} labeled training samples")
    draws = [
        np.sort(labeling_order(split.y_train, case.seed, draw)[:n_labels])
        for draw in range(1 if count == _ALL else _DRAWS)
    ]
    if recipe.method == _RAW_VALUES or recipe.method not in CLASSIFIERS:
        embedded = _flattened(split) if recipe.method == _RAW_VALUES else case.embedded(None)
        evaluate = probe_evaluation(**embedded.arrays(), seed=case.seed, device=case.device)
        results = [evaluate(rows) for rows in draws]
    elif count == _ALL:
        results = [_evaluate_classifier(case, split)]
    else:
        # Few samples make short epochs: a shortened benchmark takes as many steps for them as for
        # all samples, but not more epochs than the recipe has.
        full = recipes.read(recipe.dataset, recipe.method)
        scaled = full.shortened(min(1.0, case.scale * n_samples / n_labels), n_labels)
        classifier = scaled.estimator(case.device, case.seed)
        evaluate = classifier_evaluation(classifier, **split.arrays())
        results = [evaluate(rows) for rows in draws]
    means = {name: float(np.mean([result[name] for result in results])) for name in results[0]}
    accuracies = [result["accuracy"] for result in results]
    deviation = stdev(accuracies) if len(accuracies) > 1 else 0.0
    return {**means, "accuracy_std": deviation, "labels": n_labels, "draws": len(draws)}


def _evaluate_projectors(case: Case) -> dict[str, float]:
    """Probe the outputs of LFR's projectors as if they were the embedding, and measure them."""
    from aleator.benchmark import projector_diagnostics

    split = case.split
    train, test = (
        projector_diagnostics.projector_outputs(case.estimator, X)
        for X in (split.X_train, split.X_test)
    )
    outputs = Split(train, split.y_train, test, split.y_test)
    probed = _evaluate_label_count(replace(case, _embeddings={None: outputs}), _ALL)
    measured = projector_diagnostics.measure(
        (split.X_train, split.X_test), (train, test), len(case.estimator.projectors_)
    )
    return {**probed, **measured}


def _flattened(split: Split) -> Split:
    train, test = (np.asarray(X).reshape(len(X), -1) for X in (split.X_train, split.X_test))
    return Split(train, split.y_train, test, split.y_test)


def _fine_tune(case: Case, tuning: FineTuning) -> dict[str, float]:
    """Train encoder and linear layer with labels, starting from the pre-trained weights."""
    from aleator.evaluation import fine_tune

    recipe = recipes.read(case.recipe.dataset, "supervised")
    supervised = recipe.shortened(case.scale, len(case.split.X_train))
    settings = dict(settings_on(case.device, tuning.applied_to(supervised.finetuning)))
    # The trained estimator determines the encoder and the scale of its data.
    for name in ("modality", "preprocessing", "encoder", "embedding_dim"):
        settings.pop(name, None)
    settings |= {**case.split.arrays(), "seeds": [case.seed], "device": case.device}
    return _first_seed(fine_tune(case.estimator, **settings))


def _first_seed(result: Any) -> dict[str, float]:
    return {name: values[0] for name, values in result.metrics.items()}
