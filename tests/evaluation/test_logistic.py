"""Logistic regression on the device, against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from aleator.evaluation import design_matrix
from aleator.evaluation.design_matrix import DesignMatrix
from aleator.evaluation.logistic import fit_path
from tests.evaluation.data import overlapping_classes

CPU = torch.device("cpu")


def probabilities(rows, codes, penalties, test=None, **settings):
    classifiers = fit_path(DesignMatrix.fit(rows, CPU), codes, penalties, **settings)
    return [classifier.predict_proba(rows if test is None else test) for classifier in classifiers]


def expected_probabilities(rows, codes, penalty, test=None):
    model = LogisticRegression(C=1 / penalty, max_iter=100_000, tol=1e-8, solver="newton-cholesky")
    return model.fit(rows, codes).predict_proba(rows if test is None else test)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_probabilities_match_scikit_learn(random, n_classes):
    rows, codes = overlapping_classes(random, n_classes)
    penalties = [1.0, 100.0, 0.01]  # not the order in which they are fitted
    accurate = probabilities(rows, codes, penalties, tolerance=1e-8)
    approximate = probabilities(rows, codes, penalties)
    for penalty, tight, loose in zip(penalties, accurate, approximate, strict=True):
        expected = expected_probabilities(rows, codes, penalty)
        np.testing.assert_allclose(tight, expected, atol=1e-5)
        np.testing.assert_allclose(loose, expected, atol=5e-3)


def test_badly_conditioned_embedding(random):
    rows, codes = overlapping_classes(random, 3, n_features=8)
    rows = rows @ random.normal(size=(8, 8)) * 10.0 ** np.linspace(-3, 3, 8)
    (found,) = probabilities(rows, codes, [1.0], tolerance=1e-7)
    np.testing.assert_allclose(found, expected_probabilities(rows, codes, 1.0), atol=1e-5)


def test_more_features_than_samples(random):
    rows, codes = random.normal(size=(20, 50)), np.arange(20) % 3
    test = random.normal(size=(10, 50))
    (found,) = probabilities(rows, codes, [1.0], test, tolerance=1e-7)
    np.testing.assert_allclose(found, expected_probabilities(rows, codes, 1.0, test), atol=1e-5)


def test_embedding_in_pieces(random, monkeypatch):
    rows, codes = overlapping_classes(random, 3)
    rows = rows.astype(np.float32) + 100
    at_once = probabilities(rows, codes, [1.0, 0.01], tolerance=1e-8)
    monkeypatch.setattr(design_matrix, "_MOST_ENTRIES_IN_DOUBLE", 10)
    monkeypatch.setattr(design_matrix, "_ENTRIES_PER_PIECE", 100)
    in_pieces = probabilities(rows, codes, [1.0, 0.01], tolerance=1e-8)
    np.testing.assert_allclose(in_pieces, at_once, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_classes_with_a_tiny_penalty_stay_finite(n_classes):
    codes = np.arange(n_classes).repeat(20)
    rows = np.eye(n_classes)[codes] * 10
    (found,) = probabilities(rows, codes, [1e-8])
    assert np.isfinite(found).all()
    assert (found.argmax(1) == codes).all()
    assert found.max(1).min() > 0.99


def test_constant_features_do_not_change_the_result(random):
    rows, codes = overlapping_classes(random, 2)
    with_constant = np.hstack([rows, np.full((300, 3), 7.0)])
    np.testing.assert_allclose(
        probabilities(with_constant, codes, [1.0]), probabilities(rows, codes, [1.0]), atol=1e-6
    )


def test_number_of_steps_is_limited(random):
    rows, codes = overlapping_classes(random, 3)
    (early,) = probabilities(rows, codes, [1e-3], steps=1)
    assert np.abs(early - expected_probabilities(rows, codes, 1e-3)).max() > 0.01


def test_a_path_ends_where_a_single_fit_ends(random):
    rows, codes = overlapping_classes(random, 3)
    alone = probabilities(rows, codes, [0.1], tolerance=1e-8)[0]
    last = probabilities(rows, codes, [1000.0, 10.0, 0.1], tolerance=1e-8)[-1]
    np.testing.assert_allclose(last, alone, atol=1e-5)
