"""Fit a model on one data set and evaluate it, as one line of the results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from aleator.benchmark.provenance import stamp
from aleator.benchmark.real_data.models import estimators, table_pipeline, word_frequencies
from aleator.benchmark.real_data.parts import RealParts
from aleator.evaluation import logistic_regression, ridge
from aleator.evaluation.label_draws import LABELS_PER_CLASS, labeling_order
from aleator.evaluation.metrics import classification_metrics, regression_metrics

FEW, ALL = "5 %", "all"
# What people use for tables and for texts, without an estimator of ours.
PIPELINE, WORDS = "pipeline", "tf-idf"
_FEW_SHARE = 0.05

# Fits on the labels of some training rows, and returns metrics on the test part.
Evaluate = Callable[[np.ndarray, int], dict[str, float]]


def models_of(parts: RealParts) -> list[str]:
    """Return the names of the models that are compared on data.

    Examples
    --------
    >>> models_of(RealParts(["a", "b"], np.arange(2), ["c"], np.arange(1)))
    ['LFR', 'RandomFeatures', 'RandomEncoder', 'tf-idf']
    """
    names = list(estimators())
    if hasattr(parts.X_train, "iloc"):
        names.append(PIPELINE)
    elif isinstance(parts.X_train, list) and isinstance(parts.X_train[0], str):
        names.append(WORDS)
    return names


def measure(name: str, folds: Sequence[RealParts], seed: int) -> dict[str, Any]:
    """Fit one model on unlabelled data, and evaluate it with few labels and with all.

    Few labels are 5 % of those of the training part, but at least five per class. All models of a
    seed learn from the same ones. A standardized logistic regression, whose penalty is chosen by
    the cross-entropy of held-out labels, or a ridge regression, whose penalty is chosen by R²,
    learns from the embedding; a pipeline learns from the labelled rows alone.

    Parameters
    ----------
    name : str
        One of `models_of`.
    folds : sequence of RealParts
        Data: one split, or several over which metrics are averaged.
    seed : int
        Seed of the model and of the labels that are drawn.

    Returns
    -------
    dict
        A line of the results.
    """
    found = [_measure_split(name, parts, seed) for parts in folds]
    first = folds[0]
    return {
        "model": name,
        "seed": seed,
        **({"folds": len(folds)} if len(folds) > 1 else {}),
        "width": found[0]["width"],
        "seconds": round(fmean(split["seconds"] for split in found), 1),
        "n_train": len(first.y_train),
        "n_test": len(first.y_test),
        "n_labels": {FEW: few_labels(first), ALL: len(first.y_train)},
        "metrics": {
            labels: _percent([split["metrics"][labels] for split in found]) for labels in (FEW, ALL)
        },
        **stamp("auto"),
    }


def _measure_split(name: str, parts: RealParts, seed: int) -> dict[str, Any]:
    start = time.perf_counter()
    evaluate, width = _fit(name, parts, seed)
    seconds = time.perf_counter() - start
    order = _order(parts, seed)
    counts = {FEW: few_labels(parts), ALL: len(order)}
    metrics = {labels: evaluate(np.sort(order[:count]), seed) for labels, count in counts.items()}
    return {"width": width, "seconds": seconds, "metrics": metrics}


def few_labels(parts: RealParts) -> int:
    """Return how many labels are few: 5 %, but at least five per class.

    Examples
    --------
    >>> few_labels(RealParts(None, np.arange(1000) % 2, None, np.arange(0)))
    50
    """
    least = 2 if parts.is_regression else LABELS_PER_CLASS * len(np.unique(parts.y_train))
    return min(len(parts.y_train), max(least, math.ceil(_FEW_SHARE * len(parts.y_train))))


def _order(parts: RealParts, seed: int) -> np.ndarray:
    if parts.is_regression:
        return np.random.default_rng([seed, 0]).permutation(len(parts.y_train))
    return labeling_order(parts.y_train, seed)


def _fit(name: str, parts: RealParts, seed: int) -> tuple[Evaluate, int | None]:
    if name == PIPELINE:
        return _pipeline_evaluation(parts), None
    if name == WORDS:
        train, test = word_frequencies(parts.X_train, parts.X_test)
    else:
        model = estimators()[name](seed).fit(parts.X_train)
        train, test = model.transform(parts.X_train), model.transform(parts.X_test)

    def evaluate(rows: np.ndarray, seed: int) -> dict[str, float]:
        data = train[rows], parts.y_train[rows], test, parts.y_test
        if parts.is_regression:
            result = ridge(*data, standardized=True, seeds=(seed,))
        else:
            result = logistic_regression(
                *data, standardized=True, choose_by="log_loss", seeds=(seed,)
            )
        return {metric: values[0] for metric, values in result.metrics.items()}

    return evaluate, train.shape[1]


def _pipeline_evaluation(parts: RealParts) -> Evaluate:
    def evaluate(rows: np.ndarray, seed: int) -> dict[str, float]:
        pipeline = table_pipeline(parts.X_train, is_regression=parts.is_regression)
        pipeline.fit(parts.X_train.iloc[rows], parts.y_train[rows])
        if parts.is_regression:
            return regression_metrics(parts.y_test, pipeline.predict(parts.X_test))
        scores = pipeline.predict_proba(parts.X_test)
        return classification_metrics(parts.y_test, scores, pipeline.classes_)

    return evaluate


def _percent(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average metrics over splits, in percent."""
    means = {name: fmean(metrics[name] for metrics in found) for name in found[0]}
    return {
        name: round(value if name == "rmse" else 100 * value, 2)
        for name, value in means.items()
        if not math.isnan(value)
    }
