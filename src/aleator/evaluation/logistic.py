"""Multinomial logistic regression on the device, for one penalty or for several.

The objective is scikit-learn's: the sum of the cross-entropies of all samples plus half the penalty
times the squared weights, with an unpenalized intercept. scikit-learn's ``C`` is one over the
penalty.

The Hessian is bounded by the matrix that has half the covariance of the embedding in place of the
term that depends on the probabilities (Böhning, Multinomial logistic regression algorithm, 1992).
Scaled by the Cholesky factor of that bound the problem is well conditioned, and L-BFGS needs tens
of steps instead of hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from aleator.evaluation.design_matrix import DesignMatrix, LinearMap
from aleator.evaluation.lbfgs import minimize_lbfgs

_STEPS = 1000
_TOLERANCE = 1e-4
# With two classes scikit-learn has one weight vector. Here there are two of opposite sign, whose
# squares sum to half of that of scikit-learn's vector, so the penalty is doubled.
_TWO_CLASS_FACTOR = 2.0


@dataclass(frozen=True)
class LogisticClassifier:
    """A fitted classifier.

    Attributes
    ----------
    logits : LinearMap
        The logits of all classes as a function of the embedding.
    """

    logits: LinearMap

    def predict_proba(self, embedding: np.ndarray) -> np.ndarray:
        """Probability of every class.

        Parameters
        ----------
        embedding : ndarray of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self.logits(embedding).softmax(1).cpu().numpy()


def fit_path(
    design: DesignMatrix,
    codes: np.ndarray,
    penalties: Sequence[float],
    *,
    steps: int = _STEPS,
    tolerance: float = _TOLERANCE,
) -> list[LogisticClassifier]:
    """Fit one classifier per penalty.

    The fits run from the strongest penalty to the weakest, each from the solution of the previous
    one.

    Parameters
    ----------
    design : DesignMatrix
        Training samples.
    codes : ndarray of shape (n_samples,)
        Class of every sample, an integer from 0 to n_classes - 1.
    penalties : sequence of float
        Penalties on half the squared weights.
    steps : int, default=1000
        Maximum number of L-BFGS steps per penalty.
    tolerance : float, default=1e-4
        A fit ends when no entry of the gradient, per sample and in scaled coordinates, exceeds this
        absolute value.

    Returns
    -------
    list of LogisticClassifier
        The fitted classifiers, in the order of `penalties`.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]])
    >>> design = DesignMatrix.fit(X, torch.device("cpu"))
    >>> weak, strong = fit_path(design, np.array([0, 1, 0, 1]), [0.01, 100.0])
    >>> weak.predict_proba(X).argmax(1).tolist()
    [0, 1, 0, 1]
    >>> strong.predict_proba(X)[:, 1].round(2).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    n_classes = int(codes.max()) + 1
    device = design.center.device
    one_hot = torch.zeros(n_classes, len(codes), dtype=torch.float64, device=device)
    one_hot[torch.from_numpy(codes).to(device), torch.arange(len(codes), device=device)] = 1
    log_prior = one_hot.mean(1, keepdim=True).log()
    # The solution for an infinite penalty. The last column is the intercept.
    current = torch.cat(
        [one_hot.new_zeros(n_classes, len(design.center)), log_prior - log_prior.mean()], 1
    )
    fitted: dict[float, LogisticClassifier] = {}
    for penalty in sorted(set(penalties), reverse=True):
        current = _fit(design, one_hot, penalty, current, steps, tolerance)
        logits = LinearMap.of_columns(design, current[:, :-1], current[:, -1])
        fitted[penalty] = LogisticClassifier(logits)
    return [fitted[penalty] for penalty in penalties]


def _fit(
    design: DesignMatrix,
    one_hot: Tensor,
    penalty: float,
    start: Tensor,
    steps: int,
    tolerance: float,
) -> Tensor:
    """Find the weights of one classifier by L-BFGS from `start`.

    All matrices have classes as their first dimension, which keeps the matrix products fast. The
    intercept is the weight of a constant feature, without penalty.
    """
    n_classes, n_samples = one_hot.shape
    decay = penalty * (_TWO_CLASS_FACTOR if n_classes == 2 else 1.0) / n_samples
    factor = design.cholesky(0.5, decay)
    constant_factor = math.sqrt(0.5)

    def actual(scaled: Tensor) -> Tensor:
        weight = torch.linalg.solve_triangular(factor.T, scaled[:, :-1].T, upper=True)
        return torch.cat([weight.T, scaled[:, -1:] / constant_factor], 1)

    def objective(scaled: Tensor) -> tuple[Tensor, Tensor]:
        """Objective divided by the number of samples, and its gradient."""
        parameters = actual(scaled)
        weight, intercept = parameters[:, :-1], parameters[:, -1:]
        offset = intercept - (weight @ design.center)[:, None]
        cross_entropy = offset.new_zeros(())
        gradient, intercept_gradient = torch.zeros_like(weight), torch.zeros_like(intercept)
        pieces = design.pieces()
        for rows, targets in zip(pieces, one_hot.split(design.piece_size, 1), strict=True):
            logits = torch.addmm(offset, weight, rows.T)
            log_total = logits.logsumexp(0)
            cross_entropy += log_total.sum() - (logits * targets).sum()
            residual = (logits - log_total).exp_().sub_(targets)
            gradient.addmm_(residual, rows)
            intercept_gradient += residual.sum(1, keepdim=True)
        gradient -= intercept_gradient * design.center
        gradient.div_(n_samples).add_(weight, alpha=decay)
        intercept_gradient /= n_samples * constant_factor
        gradient = torch.linalg.solve_triangular(factor, gradient.T, upper=False).T
        value = cross_entropy / n_samples + decay / 2 * weight.square().sum()
        return value, torch.cat([gradient, intercept_gradient], 1)

    scaled_start = torch.cat([start[:, :-1] @ factor, start[:, -1:] * constant_factor], 1)
    return actual(minimize_lbfgs(objective, scaled_start, steps=steps, tolerance=tolerance))
