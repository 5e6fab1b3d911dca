"""Gradients kept as factors.

The gradient of a weight of shape (K, d, e) that maps the same m rows to K heads is the product of
the gradient of the outputs and the rows. An optimizer that can use the two factors asks for them
(`accept_factors`); then the product is never formed, and the weight carries the factors instead of
a ``.grad``.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# With more rows than this, forming the product is no longer the smaller part of the work.
_MOST_ROWS = 512


def times_all_heads(rows: Tensor, weight: nn.Parameter) -> Tensor:
    """Multiply rows (m, e) by a weight (K, d, e), as one tall product of shape (m, K, d).

    Examples
    --------
    >>> times_all_heads(torch.ones(5, 3), nn.Parameter(torch.ones(2, 4, 3))).shape
    torch.Size([5, 2, 4])
    """
    return _TimesAllHeads.apply(rows, weight)


def offer_factors(weight: nn.Parameter) -> None:
    """Mark a weight that is used with `times_all_heads`."""
    weight.takes_factors = False  # type: ignore[attr-defined]
    weight.factors = None  # type: ignore[attr-defined]


def offers_factors(weight: nn.Parameter) -> bool:
    """Whether a weight can carry factors."""
    return hasattr(weight, "takes_factors")


def accept_factors(weight: nn.Parameter) -> None:
    """Ask for factors instead of a gradient."""
    weight.takes_factors = True  # type: ignore[attr-defined]


def factors_of(weight: nn.Parameter) -> tuple[Tensor, Tensor] | None:
    """Gradient of the outputs (m, K, d) and rows (m, e) of the last backward pass, if kept."""
    return getattr(weight, "factors", None)


def drop_factors(weight: nn.Parameter) -> None:
    """Drop the factors, as one drops a gradient."""
    if offers_factors(weight):
        weight.factors = None  # type: ignore[attr-defined]


class _TimesAllHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: nn.Parameter) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.weight = weight  # the parameter itself, not a saved copy, so that it can carry factors
        return F.linear(rows, weight.flatten(0, 1)).unflatten(1, weight.shape[:2])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (rows,) = ctx.saved_tensors
        weight = ctx.weight
        grad_rows = grad_weight = None
        with torch.autocast(rows.device.type, enabled=False):
            if ctx.needs_input_grad[0]:
                grad_rows = grad_output.flatten(1) @ weight.flatten(0, 1)
            if ctx.needs_input_grad[1]:
                if getattr(weight, "takes_factors", False) and len(rows) <= _MOST_ROWS:
                    weight.factors = (grad_output, rows)
                else:
                    grad_weight = (grad_output.flatten(1).mT @ rows).view_as(weight)
        return grad_rows, grad_weight
