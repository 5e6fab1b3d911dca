"""Figures of merit, from scores of every class or from predicted numbers."""

from __future__ import annotations

import numpy as np
from sklearn import metrics

CLASSIFICATION = ("accuracy", "balanced_accuracy", "macro_f1", "auroc", "kappa")


def of_classes(labels: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Metrics of a classifier that gave every class a score (n × classes, higher is likelier).

    The class of the highest score is predicted. `auroc` compares each class with the rest and
    averages over classes (for two classes: the second against the first); `kappa` is Cohen's with
    linear weights, for classes in their sorted order.

    >>> labels, scores = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> found = of_classes(labels, scores, np.array([0, 1]))
    >>> round(found["accuracy"], 3), found["balanced_accuracy"], found["auroc"]
    (0.667, 0.75, 1.0)
    """
    predicted = classes[scores.argmax(1)]
    # A class that the test part lacks has no recall of its own, and is left out of averages. One
    # that the training part lacks is never predicted, and counts; but it has no scores for an area.
    present = np.unique(labels)
    recalls = [float((predicted[labels == c] == c).mean()) for c in present]
    return {
        "accuracy": float((predicted == labels).mean()),
        "balanced_accuracy": float(np.mean(recalls)),
        "macro_f1": float(
            metrics.f1_score(labels, predicted, labels=present, average="macro", zero_division=0)
        ),
        "auroc": _auroc(labels, scores, classes),
        "kappa": _linear_kappa(labels, predicted, classes),
    }


def of_numbers(targets: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Metrics of a regression: R² and the root of the mean squared error.

    >>> of_numbers(np.array([0.0, 2.0]), np.array([0.0, 2.0]))
    {'r2': 1.0, 'rmse': 0.0}
    """
    return {
        "r2": float(metrics.r2_score(targets, predicted)),
        "rmse": float(np.sqrt(((targets - predicted) ** 2).mean())),
    }


def _auroc(labels: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> float:
    columns = range(1, 2) if len(classes) == 2 else range(len(classes))
    areas = [
        metrics.roc_auc_score(labels == classes[at], scores[:, at])
        for at in columns
        if 0 < (labels == classes[at]).sum() < len(labels)
    ]
    return float(np.mean(areas)) if areas else float("nan")


def _linear_kappa(labels: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> float:
    if len(np.unique(np.concatenate([labels, predicted]))) == 1:
        return float("nan")  # agreement by chance is certain, so nothing can be said
    known = np.union1d(classes, labels)
    return float(metrics.cohen_kappa_score(labels, predicted, labels=known, weights="linear"))
