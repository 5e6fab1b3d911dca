"""Classification metrics from scores of every class, and regression metrics."""

from __future__ import annotations

import numpy as np
from sklearn import metrics

CLASSIFICATION = ("accuracy", "balanced_accuracy", "macro_f1", "auroc", "kappa")


def classification_metrics(
    labels: np.ndarray, scores: np.ndarray, classes: np.ndarray
) -> dict[str, float]:
    """Metrics of a classifier that assigns a score to every class.

    The predicted class is the one with the highest score. A class without test samples is left out
    of the averages. A class without training samples is never predicted and counts as missed, but
    it has no scores and is left out of ``auroc``.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        True labels.
    scores : ndarray of shape (n_samples, n_classes)
        Score of every class; a higher score means a more likely class.
    classes : ndarray of shape (n_classes,)
        Labels of the columns of `scores`, sorted.

    Returns
    -------
    dict of str to float
        ``accuracy``, ``balanced_accuracy``, ``macro_f1``, ``auroc`` (one class against the rest,
        averaged over classes; for two classes the second against the first) and ``kappa`` (Cohen's
        kappa with linear weights, for classes in sorted order).

    Examples
    --------
    >>> labels, scores = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> result = classification_metrics(labels, scores, np.array([0, 1]))
    >>> round(result["accuracy"], 3), result["balanced_accuracy"], result["auroc"]
    (0.667, 0.75, 1.0)
    """
    predicted = classes[scores.argmax(1)]
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


def regression_metrics(targets: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Metrics of a regression.

    Parameters
    ----------
    targets : ndarray of shape (n_samples,)
        True values.
    predicted : ndarray of shape (n_samples,)
        Predicted values.

    Returns
    -------
    dict of str to float
        ``r2``, the coefficient of determination, and ``rmse``, the root mean squared error.

    Examples
    --------
    >>> regression_metrics(np.array([0.0, 2.0]), np.array([0.0, 2.0]))
    {'r2': 1.0, 'rmse': 0.0}
    """
    return {
        "r2": float(metrics.r2_score(targets, predicted)),
        "rmse": float(np.sqrt(((targets - predicted) ** 2).mean())),
    }


def _auroc(labels: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> float:
    columns = range(1, 2) if len(classes) == 2 else range(len(classes))
    areas = [
        metrics.roc_auc_score(labels == classes[column], scores[:, column])
        for column in columns
        if 0 < (labels == classes[column]).sum() < len(labels)
    ]
    return float(np.mean(areas)) if areas else float("nan")


def _linear_kappa(labels: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> float:
    if len(np.unique(np.concatenate([labels, predicted]))) == 1:
        return float("nan")  # kappa is undefined if agreement by chance is certain
    known = np.union1d(classes, labels)
    return float(metrics.cohen_kappa_score(labels, predicted, labels=known, weights="linear"))
