"""Metrics against scikit-learn's and against values computed by hand."""

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from aleator.evaluation.metrics import classification_metrics, regression_metrics


def test_against_scikit_learn(random):
    classes = np.array(["a", "b", "c", "d"])
    labels = classes[random.integers(4, size=200)]
    scores = random.random((200, 4)) + 0.5 * (labels[:, None] == classes)
    scores /= scores.sum(1, keepdims=True)
    predicted = classes[scores.argmax(1)]
    result = classification_metrics(labels, scores, classes)
    assert result == pytest.approx(
        {
            "accuracy": sklearn_metrics.accuracy_score(labels, predicted),
            "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(labels, predicted),
            "macro_f1": sklearn_metrics.f1_score(labels, predicted, average="macro"),
            "auroc": sklearn_metrics.roc_auc_score(labels, scores, multi_class="ovr"),
            "kappa": sklearn_metrics.cohen_kappa_score(labels, predicted, weights="linear"),
        }
    )


def test_two_classes(random):
    labels = random.integers(2, size=100)
    positive = random.random(100) + 0.3 * labels
    result = classification_metrics(labels, np.stack([1 - positive, positive], 1), np.arange(2))
    assert result["auroc"] == pytest.approx(sklearn_metrics.roc_auc_score(labels, positive))


def test_kappa_by_hand():
    """With three ordered classes an error by two counts twice as much as an error by one."""
    scores = np.eye(3)[[0, 1, 2, 2]]
    result = classification_metrics(np.array([0, 1, 2, 0]), scores, np.arange(3))
    # The observed distances sum to 2; those expected by chance to sum_ij r_i p_j |i - j| / n.
    expected = sum(
        row * column * abs(i - j) / 4
        for i, row in enumerate([2, 1, 1])
        for j, column in enumerate([1, 1, 2])
    )
    assert result["kappa"] == pytest.approx(1 - 2 / expected)


def test_class_without_test_samples():
    scores = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]])
    result = classification_metrics(np.array([0, 1]), scores, np.arange(3))
    assert result["accuracy"] == result["balanced_accuracy"] == result["macro_f1"] == 1
    assert result["auroc"] == 1


def test_class_without_training_samples_counts_as_missed():
    labels, scores = np.array([0, 1, 2, 2]), np.eye(2)[[0, 1, 1, 1]]
    result = classification_metrics(labels, scores, np.arange(2))
    predicted = np.array([0, 1, 1, 1])
    assert result["accuracy"] == 0.5
    assert result["balanced_accuracy"] == pytest.approx(2 / 3)
    assert result["macro_f1"] == pytest.approx(
        sklearn_metrics.f1_score(labels, predicted, average="macro", zero_division=0)
    )
    assert result["kappa"] == pytest.approx(
        sklearn_metrics.cohen_kappa_score(labels, predicted, weights="linear")
    )
    assert np.isfinite(result["auroc"])


def test_regression(random):
    targets, predicted = random.normal(size=50), random.normal(size=50)
    result = regression_metrics(targets, predicted)
    assert result["r2"] == pytest.approx(sklearn_metrics.r2_score(targets, predicted))
    assert result["rmse"] ** 2 == pytest.approx(
        sklearn_metrics.mean_squared_error(targets, predicted)
    )
