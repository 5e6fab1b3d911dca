"""L-BFGS on functions with known minima."""

import torch

from aleator.evaluation.lbfgs import minimize_lbfgs


def test_badly_conditioned_quadratic():
    """The curvatures span four orders of magnitude."""
    curvature = torch.logspace(-4, 0, 30, dtype=torch.float64)
    target = torch.linspace(-1, 1, 30, dtype=torch.float64)

    def quadratic(x):
        return (curvature * (x - target).square()).sum() / 2, curvature * (x - target)

    found = minimize_lbfgs(quadratic, torch.zeros_like(target), steps=1000, tolerance=1e-10)
    assert torch.allclose(found, target, atol=1e-5)


def test_line_search_handles_curvature_far_above_one():
    def steep(x):
        return (1e6 * x.square() / 2).sum(), 1e6 * x

    start = torch.ones(1, dtype=torch.float64)
    assert minimize_lbfgs(steep, start, steps=50, tolerance=1e-3).abs() < 1e-8
    assert start == 1


def test_search_ends_when_rounding_allows_no_decrease():
    evaluated = []

    def flat(x):
        evaluated.append(x)
        return torch.logaddexp(x, -x).sum(), x.tanh()

    found = minimize_lbfgs(flat, torch.full((3,), 2.0).double(), steps=10_000, tolerance=0.0)
    assert found.abs().max() < 1e-6
    assert len(evaluated) < 200
