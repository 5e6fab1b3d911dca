"""Scaling of targets."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator.projectors.target_scaling import TARGET_SCALINGS, TargetScaling
from tests.projectors.families import generator


class Mixing(nn.Module):
    def __init__(self, matrix, offset=0.0):
        super().__init__()
        self.matrix, self.offset = matrix, offset

    def forward(self, x):
        return x @ self.matrix + self.offset


def data(n_samples=1000):
    return torch.randn(n_samples, 4, generator=generator())


def projectors():
    draw = generator(1)
    return [Mixing(torch.randn(4, 3, generator=draw), offset) for offset in (5.0, -100.0)]


def outputs_of(modules, x):
    return torch.stack([module(x) for module in modules], 1)


@pytest.mark.parametrize("how", TARGET_SCALINGS)
def test_targets_have_zero_mean_and_unit_variance(how):
    x, modules = data(), projectors()
    scaled = TargetScaling.fit([m(x) for m in modules], how)(outputs_of(modules, x))
    assert scaled.shape == (1000, 2, 3)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-4)
    if how == "standardize":
        np.testing.assert_allclose(scaled.std(0, correction=0), 1, rtol=1e-3)


def test_whitening_gives_the_identity_but_for_its_floor():
    x, modules = data(), projectors()
    outputs = outputs_of(modules, x)
    scaled = TargetScaling.fit(outputs.unbind(1), "whiten")(outputs).double().numpy()
    for k in range(2):
        plain = outputs[:, k].double().numpy()
        correlation = np.corrcoef(plain.T)
        values, vectors = np.linalg.eigh(correlation)
        shrunk = values / (values + 0.1)  # the mean variance is one
        covariance = scaled[:, k].T @ scaled[:, k] / 1000
        np.testing.assert_allclose(covariance, (vectors * shrunk) @ vectors.T, atol=1e-3)
        off_diagonal = lambda matrix: np.abs(matrix - np.diag(np.diag(matrix))).max()  # noqa: E731
        assert off_diagonal(covariance) < off_diagonal(correlation) / 3


def test_independent_outputs_are_whitened_to_one_size():
    x = data()
    module = Mixing(torch.diag(torch.tensor([1.0, 10.0, 100.0, 1000.0])))
    scaled = TargetScaling.fit([module(x)], "whiten")(module(x)[:, None])[:, 0]
    covariance = scaled.T @ scaled / 1000
    np.testing.assert_allclose(covariance, np.eye(4) / 1.1, atol=0.02)


@pytest.mark.parametrize("how", TARGET_SCALINGS)
def test_constant_outputs_stay_small(how):
    """An output that is constant on the sample may be another elsewhere."""
    x = data()
    module = Mixing(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), 3.0)
    sample = x.clone()
    sample[:, 3] = 0.0
    scaling = TargetScaling.fit([module(sample)], how)
    assert scaling(module(x)[:, None]).abs().max() < 30
    assert torch.isfinite(scaling.matrix).all()
