"""Logistic regression on the device, for one penalty or for many.

What is minimised is scikit-learn's objective: the cross-entropies of all samples plus half the
squared weights times the penalty, the intercept free (its C is one over the penalty).

The curvature of that is nowhere above the one with half the covariance of the embedding in the
place of the probabilities' own (Böhning, Multinomial logistic regression algorithm, 1992). Along
the principal axes that bound is diagonal. Measured in its units, the problem is well conditioned,
and L-BFGS needs tens of steps where it would need hundreds.
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
# Two classes share one vector of weights in scikit-learn, and have two that mirror each other here,
# whose squares add up to half of its own.
_MIRRORED = 2.0


@dataclass(frozen=True)
class Weights:
    """A fitted classifier in the coordinates of principal axes: classes × axes, and intercepts."""

    weight: Tensor
    intercept: Tensor

    def probabilities(self, rows: Tensor) -> np.ndarray:
        """Of every class, for rows in the same coordinates: rows × classes."""
        scores = torch.addmm(self.intercept, rows, self.weight.T)
        return scores.softmax(1).cpu().numpy()


def fit_path(
    along: PrincipalComponents,
    codes: np.ndarray,
    penalties: Sequence[float],
    *,
    steps: int = _STEPS,
    tolerance: float = _TOLERANCE,
) -> list[Weights]:
    """Classifiers of every penalty, in the order of `penalties`.

    They are fitted from the strongest penalty to the weakest, each from where the last ended. A fit
    ends after `steps`, or when no entry of the gradient, per sample and in the units of the bound,
    exceeds `tolerance`. `codes` are classes counted from zero.

    >>> along = PrincipalComponents.fit(np.array([[0.0], [1.0], [0.2], [0.8]]), torch.device("cpu"))
    >>> weak, strong = fit_path(along, np.array([0, 1, 0, 1]), [0.01, 100.0])
    >>> weak.probabilities(along.rows).argmax(1).tolist()
    [0, 1, 0, 1]
    >>> strong.probabilities(along.rows)[:, 1].round(2).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    classes = int(codes.max()) + 1
    place = along.rows.device
    truth = torch.zeros(classes, len(codes), dtype=torch.float64, device=place)
    truth[torch.from_numpy(codes).to(place), torch.arange(len(codes), device=place)] = 1
    shares = truth.mean(1).log()
    # Where an infinite penalty would end.
    current = Weights(truth.new_zeros(classes, along.rows.shape[1]), shares - shares.mean())
    found: dict[float, Weights] = {}
    for penalty in sorted(set(penalties), reverse=True):
        current = found[penalty] = _fitted(along, truth, penalty, current, steps, tolerance)
    return [found[penalty] for penalty in penalties]


def _fitted(
    along: PrincipalComponents,
    truth: Tensor,
    penalty: float,
    start: Weights,
    steps: int,
    tolerance: float,
) -> Weights:
    """L-BFGS from `start`. Classes come first everywhere, which keeps the products fast."""
    classes, count = truth.shape
    decay = penalty * (_MIRRORED if classes == 2 else 1.0) / count
    # One column more, for the intercept: of a coordinate that is one everywhere, without penalty.
    scale = torch.cat([along.variances / 2 + decay, along.variances.new_full((1,), 0.5)]).rsqrt()
    rows = along.rows.T

    def objective(scaled: Tensor) -> tuple[Tensor, Tensor]:
        """The mean of the objective over samples, and its gradient."""
        actual = scaled * scale
        weight, intercept = actual[:, :-1], actual[:, -1:]
        scores = torch.addmm(intercept, weight, rows)
        total = scores.logsumexp(0)
        surprise = total.sum() - (scores * truth).sum()
        excess = (scores - total).exp_().sub_(truth).div_(count)
        gradient = torch.cat([excess @ along.rows + decay * weight, excess.sum(1, keepdim=True)], 1)
        return surprise / count + decay / 2 * weight.square().sum(), gradient * scale

    scaled = torch.cat([start.weight, start.intercept[:, None]], 1) / scale
    actual = minimize_lbfgs(objective, scaled, steps=steps, tolerance=tolerance) * scale
    return Weights(actual[:, :-1], actual[:, -1])
