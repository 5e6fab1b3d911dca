"""The matrix of samples of a regression, whatever its shape and its precision."""

import numpy as np
import pytest
import torch

from aleator.evaluation import design_matrix
from aleator.evaluation.design_matrix import DesignMatrix, LinearMap

CPU = torch.device("cpu")


@pytest.fixture
def in_pieces(monkeypatch):
    """Treat a small embedding as a large one."""
    monkeypatch.setattr(design_matrix, "_MOST_ENTRIES_IN_DOUBLE", 10)
    monkeypatch.setattr(design_matrix, "_ENTRIES_PER_PIECE", 40)
    monkeypatch.setattr(design_matrix, "_COVARIANCE_BLOCK", 4)


def test_covariance(random):
    rows = random.normal(size=(50, 6)) * np.arange(1, 7) + 2
    original = rows.copy()
    design = DesignMatrix.fit(rows, CPU)
    np.testing.assert_array_equal(rows, original)
    np.testing.assert_allclose(design.covariance, np.cov(rows.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(design.center, rows.mean(0))


def test_covariance_of_a_large_embedding(random, in_pieces):
    rows = random.normal(size=(50, 6)).astype(np.float32) + 1000
    design = DesignMatrix.fit(rows, CPU)
    assert design.rows.dtype == torch.float32
    assert [len(piece) for piece in design.pieces()] == [6] * 8 + [2]
    expected = np.cov(rows.T.astype(np.float64), bias=True)
    np.testing.assert_allclose(design.covariance, expected, rtol=1e-9)
    np.testing.assert_array_equal(design.covariance, design.covariance.T)


def test_columns_of_fewer_samples_than_features(random):
    rows = random.normal(size=(6, 50)) * np.arange(1, 51) + 2
    design = DesignMatrix.fit(rows, CPU)
    centered = rows - rows.mean(0)
    products = centered @ centered.T
    np.testing.assert_allclose(design.rows @ design.rows.T, products, atol=1e-9 * products.max())
    weight = torch.from_numpy(random.normal(size=(3, 6)))
    outputs = LinearMap.of_columns(design, weight, torch.zeros(3).double())(rows)
    expected = design.rows @ weight.T
    # The samples are centered, so what is constant over all of them is no part of a weight.
    np.testing.assert_allclose(outputs - outputs.mean(0), expected - expected.mean(0), atol=1e-4)


def test_cholesky(random):
    design = DesignMatrix.fit(random.normal(size=(50, 6)), CPU)
    factor = design.cholesky(0.5, 2.0)
    assert (factor.triu(1) == 0).all()
    expected = design.covariance / 2 + 2 * torch.eye(6)
    np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-12)


@pytest.mark.parametrize("offset", [0, 10, 1000])
def test_few_samples_that_do_not_differ_in_all_directions(offset, random):
    """Inner products of many features are rounded by more than the number of samples suggests."""
    for n_samples in (6, 12) * 10:
        rows = random.normal(size=(n_samples, 3)) @ random.normal(size=(3, 8192)) + offset
        design = DesignMatrix.fit(rows.astype(np.float32), CPU)
        assert design.rows.isfinite().all()


@pytest.mark.parametrize("n_samples", [1, 6, 50])
def test_samples_that_are_all_equal_say_nothing(n_samples):
    rows = np.full((n_samples, 10), 3.0)
    design = DesignMatrix.fit(rows, CPU)
    assert design.covariance.abs().max() < 1e-100
    weight = torch.ones(2, design.rows.shape[1]).double()
    outputs = LinearMap.of_columns(design, weight, torch.tensor([1.0, 2.0]).double())(rows)
    np.testing.assert_allclose(outputs, np.tile([1.0, 2.0], (n_samples, 1)))


@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
def test_cholesky_without_a_penalty_of_columns_that_are_equal(random, shape):
    rows = random.normal(size=shape)
    rows[:, 1] = rows[:, 0]
    rows[1] = rows[0]
    assert DesignMatrix.fit(rows, CPU).cholesky(1.0, 0.0).isfinite().all()
