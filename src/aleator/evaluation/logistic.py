"""Multinomial logistic regression on the device, for one penalty or for several.

The objective is scikit-learn's: the sum of the cross-entropies of all samples plus half the penalty
times the squared weights, with an unpenalized intercept. scikit-learn's ``C`` is one over the
penalty.

The Hessian is bounded by the matrix that has half the covariance of the embedding in place of the
term that depends on the probabilities (Böhning, Multinomial logistic regression algorithm, 1992).
In the coordinates of the principal components that bound is diagonal. Scaled by it the problem is
well conditioned, and L-BFGS needs tens of steps instead of hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from aleator.evaluation.lbfgs import minimize_lbfgs
from aleator.evaluation.pca import PrincipalComponents

_STEPS = 1000
_TOLERANCE = 1e-4
# With two classes scikit-learn has one weight vector. Here there are two of opposite sign, whose
# squares sum to half of that of scikit-learn's vector, so the penalty is doubled.
_TWO_CLASS_FACTOR = 2.0


@dataclass(frozen=True)
class LinearClassifierWeights:
    """A fitted classifier in the coordinates of the principal components.

    Attributes
    ----------
    weight : Tensor of shape (n_classes, n_components)
        Weights.
    intercept : Tensor of shape (n_classes,)
        Intercepts.
    """

    weight: Tensor
    intercept: Tensor

    def predict_proba(self, scores: Tensor) -> np.ndarray:
        """Probability of every class.

        Parameters
        ----------
        scores : Tensor of shape (n_samples, n_components)
            Samples in the coordinates of the principal components.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        logits = torch.addmm(self.intercept, scores, self.weight.T)
        return logits.softmax(1).cpu().numpy()


def fit_path(
    pca: PrincipalComponents,
    codes: np.ndarray,
    penalties: Sequence[float],
    *,
    steps: int = _STEPS,
    tolerance: float = _TOLERANCE,
) -> list[LinearClassifierWeights]:
    """Fit one classifier per penalty.

    The fits run from the strongest penalty to the weakest, each from the solution of the previous
    one.

    Parameters
    ----------
    pca : PrincipalComponents
        Principal components of the training samples.
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
    list of LinearClassifierWeights
        The fitted classifiers, in the order of `penalties`.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]])
    >>> pca = PrincipalComponents.fit(X, torch.device("cpu"))
    >>> weak, strong = fit_path(pca, np.array([0, 1, 0, 1]), [0.01, 100.0])
    >>> weak.predict_proba(pca.scores).argmax(1).tolist()
    [0, 1, 0, 1]
    >>> strong.predict_proba(pca.scores)[:, 1].round(2).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    n_classes = int(codes.max()) + 1
    device = pca.scores.device
    one_hot = torch.zeros(n_classes, len(codes), dtype=torch.float64, device=device)
    one_hot[torch.from_numpy(codes).to(device), torch.arange(len(codes), device=device)] = 1
    log_prior = one_hot.mean(1).log()
    # The solution for an infinite penalty.
    current = LinearClassifierWeights(
        one_hot.new_zeros(n_classes, pca.scores.shape[1]), log_prior - log_prior.mean()
    )
    fitted: dict[float, LinearClassifierWeights] = {}
    for penalty in sorted(set(penalties), reverse=True):
        current = fitted[penalty] = _fit(pca, one_hot, penalty, current, steps, tolerance)
    return [fitted[penalty] for penalty in penalties]


def _fit(
    pca: PrincipalComponents,
    one_hot: Tensor,
    penalty: float,
    start: LinearClassifierWeights,
    steps: int,
    tolerance: float,
) -> LinearClassifierWeights:
    """Fit one classifier by L-BFGS from `start`.

    All matrices have classes as their first dimension, which keeps the matrix products fast.
    """
    n_classes, n_samples = one_hot.shape
    decay = penalty * (_TWO_CLASS_FACTOR if n_classes == 2 else 1.0) / n_samples
    # The last column is the intercept: the weight of a constant feature, without penalty.
    scale = torch.cat([pca.variances / 2 + decay, pca.variances.new_full((1,), 0.5)]).rsqrt()
    transposed_scores = pca.scores.T

    def objective(scaled: Tensor) -> tuple[Tensor, Tensor]:
        """Objective divided by the number of samples, and its gradient."""
        actual = scaled * scale
        weight, intercept = actual[:, :-1], actual[:, -1:]
        logits = torch.addmm(intercept, weight, transposed_scores)
        log_total = logits.logsumexp(0)
        cross_entropy = log_total.sum() - (logits * one_hot).sum()
        residual = (logits - log_total).exp_().sub_(one_hot).div_(n_samples)
        gradient = torch.cat(
            [residual @ pca.scores + decay * weight, residual.sum(1, keepdim=True)], 1
        )
        return cross_entropy / n_samples + decay / 2 * weight.square().sum(), gradient * scale

    scaled_start = torch.cat([start.weight, start.intercept[:, None]], 1) / scale
    actual = minimize_lbfgs(objective, scaled_start, steps=steps, tolerance=tolerance) * scale
    return LinearClassifierWeights(actual[:, :-1], actual[:, -1])
