"""Minimization of a smooth convex function by L-BFGS.

`torch.optim.LBFGS` is not used: its first use imports torch's compiler, which takes longer than
most fits, and it synchronizes with the device several times per evaluation. This implementation
synchronizes once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

# Number of (step, change of the gradient) pairs from which the curvature is estimated.
_HISTORY_SIZE = 10
# Armijo condition of the line search, and the number of halvings after which it gives up.
_SUFFICIENT_DECREASE, _MAX_HALVINGS = 1e-4, 30
# Relative differences between function values below this are rounding errors.
_ROUNDING = 1e-15

# A step, the change of the gradient along it, and their inner product.
_History = deque[tuple[Tensor, Tensor, Tensor]]


def minimize_lbfgs(
    function: Callable[[Tensor], tuple[Tensor, Tensor]],
    start: Tensor,
    *,
    steps: int,
    tolerance: float,
) -> Tensor:
    """Minimize a convex function by L-BFGS with a backtracking line search.

    Liu and Nocedal, On the limited memory BFGS method for large scale optimization, 1989.

    The first step assumes a curvature of one, so the function should be scaled such that its
    curvature is about one at most.

    Parameters
    ----------
    function : callable
        Takes a tensor like `start` and returns the value of the function, a scalar tensor, and its
        gradient, a tensor of the same shape as `start`.
    start : Tensor
        Starting point. It is not modified.
    steps : int
        Maximum number of steps.
    tolerance : float
        Stop when no entry of the gradient exceeds this absolute value. The search also stops when
        a step no longer decreases the function.

    Returns
    -------
    Tensor
        The minimizer, of the same shape as `start`.

    Examples
    --------
    >>> target = torch.tensor([1.0, -2.0], dtype=torch.float64)
    >>> def bowl(x):
    ...     return (x - target).square().sum() / 2, x - target
    >>> minimize_lbfgs(bowl, torch.zeros_like(target), steps=10, tolerance=1e-9).tolist()
    [1.0, -2.0]
    """
    point = start
    value_tensor, gradient = function(point)
    value, largest = torch.stack([value_tensor, gradient.abs().max()]).tolist()
    history: _History = deque(maxlen=_HISTORY_SIZE)
    for _ in range(steps):
        if largest <= tolerance:
            break
        direction = _search_direction(gradient, history)
        slope_tensor = (gradient * direction).sum()
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            step = length * direction
            value_tensor, new_gradient = function(point + step)
            # One transfer for all three numbers: the only synchronization with the device.
            new_value, slope, largest = torch.stack(
                [value_tensor, slope_tensor, new_gradient.abs().max()]
            ).tolist()
            bound = value + _SUFFICIENT_DECREASE * length * slope + _ROUNDING * abs(value)
            if new_value <= bound:
                break
            length /= 2
        else:
            break
        change = new_gradient - gradient
        history.append((step, change, (step * change).sum()))
        point, gradient = point + step, new_gradient
        decrease, value = value - new_value, new_value
        if decrease <= _ROUNDING * abs(value):
            break
    return point


def _search_direction(gradient: Tensor, history: _History) -> Tensor:
    """Minus the approximate inverse Hessian times the gradient, by the two-loop recursion."""
    direction = -gradient
    coefficients = []
    for step, change, curvature in reversed(history):
        coefficient = (step * direction).sum() / curvature
        coefficients.append(coefficient)
        direction = direction - coefficient * change
    if history:
        _, change, curvature = history[-1]
        direction = direction * (curvature / change.square().sum())
    for (step, change, curvature), coefficient in zip(history, reversed(coefficients), strict=True):
        direction = direction + (coefficient - (change * direction).sum() / curvature) * step
    return direction
