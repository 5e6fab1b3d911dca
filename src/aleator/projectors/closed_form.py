"""Linear problems of LFR that have an exact solution."""

from __future__ import annotations

import torch
from torch import Tensor

from aleator.projectors.feature_bank import principal_components

_TINY = 1e-12
# Components whose share of the variance of the first one is smaller are rounding.
_LEAST_VARIANCE = 1e-7
_ROWS_PER_PIECE = 1024


@torch.no_grad()
def reduced_rank_regression(
    features: Tensor, target_gram: Tensor, rank: int, penalty: float
) -> Tensor:
    """Find the linear embedding of features from which linear maps predict targets best.

    The problem is that of LFR with a linear encoder, linear predictors and the squared error. Its
    solution is a ridge regression of the targets on the features, followed by the principal
    components of the predictions (Izenman 1975; Mukherjee and Zhu 2011). It depends on the targets
    only through their Gram matrix, whose size does not grow with their number.

    Parameters
    ----------
    features : Tensor of shape (n, n_features)
        Centered features.
    target_gram : Tensor of shape (n, n)
        Inner products of the centered targets of all pairs of samples.
    rank : int
        Width of the embedding.
    penalty : float
        Penalty of the regression, as a share of the mean squared length of a sample's features.

    Returns
    -------
    Tensor of shape (n_features, min(rank, n))
        What features are multiplied by, in order of decreasing variance. Columns are zero where
        predictions have no more components.

    Examples
    --------
    >>> features = torch.randn(100, 5)
    >>> targets = 9 * features[:, :1]
    >>> found = reduced_rank_regression(features, targets @ targets.T, 1, 1e-6)
    >>> (found.abs() / found.abs().max()).round().flatten().tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    absolute = penalty * torch.linalg.vector_norm(features, dim=1).square().mean() + _TINY
    is_wide = len(features) < features.shape[1]  # then a smaller system has the same solution
    # Matrices of n × n values are large where n is, so that few of them exist at a time.
    factor = _cholesky(features @ features.T if is_wide else features.T @ features, absolute)
    if is_wide:
        # What is predicted are the targets without the residuals, which the penalty leaves.
        hat = torch.cholesky_inverse(factor).mul_(-absolute)
        hat.diagonal().add_(1)
    else:
        hat = features @ torch.cholesky_solve(features.T, factor)
    predicted_gram = torch.empty_like(target_gram)
    pieces = predicted_gram.split(_ROWS_PER_PIECE), hat.split(_ROWS_PER_PIECE)
    for predicted, rows in zip(*pieces, strict=True):
        torch.mm(rows @ target_gram, hat.T, out=predicted)
    directions = principal_components(predicted_gram, rank)
    variance = (directions * (predicted_gram @ directions)).sum(0)
    varies = variance > _LEAST_VARIANCE * variance.max()
    scale = torch.where(varies, variance, torch.inf).rsqrt()
    loadings = target_gram @ (hat.T @ directions * scale)
    if is_wide:
        return features.T @ torch.cholesky_solve(loadings, factor)
    return torch.cholesky_solve(features.T @ loadings, factor)


@torch.no_grad()
def ridge_regression(inputs: Tensor, targets: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """Predict targets from inputs by a linear map with an intercept.

    Parameters
    ----------
    inputs : Tensor of shape (n, n_inputs)
        Inputs.
    targets : Tensor of shape (n, n_targets)
        Targets.
    penalty : float
        Penalty, as a share of the mean variance of the inputs.

    Returns
    -------
    weight : Tensor of shape (n_inputs, n_targets)
        What inputs are multiplied by.
    intercept : Tensor of shape (n_targets,)
        What is added.

    Examples
    --------
    >>> inputs = torch.randn(100, 2)
    >>> weight, intercept = ridge_regression(inputs, 3 * inputs[:, :1] + 1, 1e-6)
    >>> (weight.T.abs() + 0.01).round().tolist(), intercept.round().tolist()
    ([[3.0, 0.0]], [1.0])
    """
    mean, middle = inputs.mean(0), targets.mean(0)
    centered = inputs - mean
    covariance = centered.T @ centered
    absolute = penalty * covariance.diagonal().mean() + _TINY
    weight = _ridge(covariance, centered.T @ (targets - middle), absolute)
    return weight, middle - mean @ weight


def _ridge(matrix: Tensor, right: Tensor, penalty: Tensor) -> Tensor:
    """Solve a positive semidefinite system; its diagonal is raised by a penalty, in place."""
    return torch.cholesky_solve(right, _cholesky(matrix, penalty))


def _cholesky(matrix: Tensor, penalty: Tensor) -> Tensor:
    matrix.diagonal().add_(penalty)
    return torch.linalg.cholesky(matrix)
