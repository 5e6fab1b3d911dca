"""Exact solutions of linear problems."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from aleator.projectors import closed_form
from aleator.projectors.closed_form import reduced_rank_regression, ridge_regression
from tests.projectors.families import generator


def correlated(n_samples=80, n_features=30, n_targets=20):
    draw = generator()
    features = torch.randn(n_samples, n_features, generator=draw)
    mixing = torch.randn(n_features, n_targets, generator=draw)
    noise = torch.randn(n_samples, n_targets, generator=draw)
    targets = features @ mixing * torch.linspace(1, 3, n_targets) + noise
    return features - features.mean(0), targets - targets.mean(0)


@pytest.mark.parametrize("rows_per_piece", [1024, 7])
def test_an_embedding_is_that_of_scikit_learn(rows_per_piece, monkeypatch):
    monkeypatch.setattr(closed_form, "_ROWS_PER_PIECE", rows_per_piece)
    for n_features in (30, 300):  # fewer and more than samples
        features, targets = correlated(n_features=n_features)
        penalty = 0.3 * features.square().sum(1).mean().item()
        predicted = Ridge(penalty, fit_intercept=False).fit(features, targets).predict(features)
        expected = PCA(6, svd_solver="full").fit_transform(predicted)
        ours = (features @ reduced_rank_regression(features, targets @ targets.T, 6, 0.3)).numpy()
        signs = np.sign((ours * expected).sum(0))
        np.testing.assert_allclose(ours * signs, expected, atol=1e-3 * np.abs(expected).max())


def test_no_other_embedding_of_its_rank_predicts_targets_better():
    features, targets = correlated()
    found = features @ reduced_rank_regression(features, targets @ targets.T, 4, 1e-6)

    def error(embedding):
        weight, intercept = ridge_regression(embedding, targets, 1e-9)
        return (embedding @ weight + intercept - targets).square().mean().item()

    components = torch.from_numpy(PCA(4).fit_transform(features)).float()
    assert error(found) < 0.9 * error(components)
    draw = generator(1)
    for _ in range(20):
        near = found + 0.05 * features @ torch.randn(30, 4, generator=draw)
        assert error(found) < error(near)


def test_the_rank_is_limited_by_samples_and_targets():
    for n_features in (30, 300):
        features, targets = correlated(n_features=n_features)
        gram = targets @ targets.T
        found = reduced_rank_regression(features, gram, 50, 0.1)
        assert found.shape == (n_features, 50)
        assert found[:, :20].any(0).all()
        assert not found[:, 20:].any(), "twenty targets have twenty components"
        few = reduced_rank_regression(features[:5], gram[:5, :5], 50, 0.1)
        assert few.shape == (n_features, 5)
        assert torch.isfinite(reduced_rank_regression(0 * features, gram, 3, 0.1)).all()


def test_ridge_regression_is_that_of_scikit_learn():
    inputs, targets = correlated()
    inputs, targets = inputs + 3, targets - 7
    penalty = 0.01 * ((inputs - inputs.mean(0)) ** 2).sum(0).mean().item()
    theirs = Ridge(penalty).fit(inputs, targets)
    weight, intercept = ridge_regression(inputs, targets, 0.01)
    np.testing.assert_allclose(weight.T, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(intercept, theirs.intercept_, atol=1e-2)
