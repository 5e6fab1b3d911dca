"""The minimum of a smooth convex function, by L-BFGS.

Not by `torch.optim.LBFGS`, whose first use loads torch's compiler, which takes longer than most
fits, and which asks the device several questions an evaluation. This one asks one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

# Pairs of steps and changes of the gradient that the curvature is estimated from.
_MEMORY = 10
# A step must gain this share of what the slope promises; after so many halvings it is given up.
_SHARE, _HALVINGS = 1e-4, 30
# Differences of values below this share of them are rounding.
_ROUNDING = 1e-15


def minimize_lbfgs(
    function: Callable[[Tensor], tuple[Tensor, Tensor]],
    start: Tensor,
    *,
    steps: int,
    tolerance: float,
) -> Tensor:
    """Where a convex function, which gives its value and gradient, is least.

    Liu and Nocedal, On the limited memory BFGS method (1989). Ends when no entry of the gradient
    exceeds `tolerance`, when a step gains nothing, or after `steps`. The first step takes the
    curvature to be one: a function should be scaled so that it is at most about that.

    >>> target = torch.tensor([1.0, -2.0], dtype=torch.float64)
    >>> def bowl(x):
    ...     return (x - target).square().sum() / 2, x - target
    >>> minimize_lbfgs(bowl, torch.zeros_like(target), steps=10, tolerance=1e-9).tolist()
    [1.0, -2.0]
    """
    at = start
    value, gradient = function(at)
    least, largest = torch.stack([value, gradient.abs().max()]).tolist()
    remembered: deque[tuple[Tensor, Tensor, Tensor]] = deque(maxlen=_MEMORY)
    for _ in range(steps):
        if largest <= tolerance:
            break
        direction = _downhill(gradient, remembered)
        promise = (gradient * direction).sum()
        length = 1.0
        for _ in range(_HALVINGS):
            step = length * direction
            value, steeper = function(at + step)
            new, slope, largest = torch.stack([value, promise, steeper.abs().max()]).tolist()
            if new <= least + _SHARE * length * slope + _ROUNDING * abs(least):
                break
            length /= 2
        else:
            break
        change = steeper - gradient
        remembered.append((step, change, (step * change).sum()))
        at, gradient = at + step, steeper
        gained, least = least - new, new
        if gained <= _ROUNDING * abs(least):
            break
    return at


def _downhill(gradient: Tensor, remembered: deque[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """Minus the gradient over the curvature, as far as the last steps tell it."""
    direction = -gradient
    shares = []
    for step, change, bend in reversed(remembered):
        share = (step * direction).sum() / bend
        shares.append(share)
        direction = direction - share * change
    if remembered:
        _, change, bend = remembered[-1]
        direction = direction * (bend / change.square().sum())
    for (step, change, bend), share in zip(remembered, reversed(shares), strict=True):
        direction = direction + (share - (change * direction).sum() / bend) * step
    return direction
