"""Losses between what a head predicts and what it should have predicted.

Pure functions of tensors. Every pairwise loss takes `m × d` or `K × m × d` inputs (K heads at
once), computes in float32 or better whatever the surrounding precision, and returns a scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_SMALLEST_NORM = 1e-12

PairLoss = Callable[[Tensor, Tensor], Tensor]


def unit_rows(rows: Tensor) -> Tensor:
    """Scale every row (last axis) to length one; a row of zeros stays zero.

    >>> unit_rows(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return F.normalize(_full_precision(rows), dim=-1, eps=_SMALLEST_NORM)


def batchwise_barlow_twins(
    prediction: Tensor, target: Tensor, off_diagonal_weight: float = 0.01
) -> Tensor:
    """Batch-wise Barlow Twins (equation 5 of the LFR paper).

    With `c[i, j]` the cosine between target `i` and prediction `j`, the loss is
    `sum_i (1 - c[i, i])² + off_diagonal_weight · sum_{i ≠ j} c[i, j]²`: summed over rows, averaged
    over the K heads.

    >>> rows = torch.eye(3)
    >>> batchwise_barlow_twins(rows, rows).item()
    0.0
    >>> batchwise_barlow_twins(-rows, rows).item()
    12.0
    """
    _require_same_shape(prediction, target)
    return bbt_to_unit_target(prediction, unit_rows(target), off_diagonal_weight)


def bbt_to_unit_target(
    prediction: Tensor, unit_target: Tensor, off_diagonal_weight: float = 0.01
) -> Tensor:
    """`batchwise_barlow_twins` for a target whose rows have length one already.

    >>> bbt_to_unit_target(2 * torch.eye(2), torch.eye(2)).item()
    0.0
    """
    prediction, unit_target = _full_precision(prediction), _full_precision(unit_target)
    if prediction.ndim == 2:
        prediction, unit_target = prediction[None], unit_target[None]
    with torch.autocast(prediction.device.type, enabled=False):
        return _BatchwiseBarlowTwins.apply(prediction, unit_target, off_diagonal_weight)


def nt_xent(view1: Tensor, view2: Tensor, temperature: float) -> Tensor:
    """SimCLR's contrastive loss: every row's partner among all other rows of both views.

    Averaged over the 2m rows. Chen et al., A simple framework for contrastive learning (2020).

    >>> view = torch.eye(2)
    >>> round(nt_xent(view, view, temperature=1.0).item(), 4)  # log(e + 1 + 1) - 1
    0.5514
    """
    _require_same_shape(view1, view2)
    rows = unit_rows(torch.cat([view1, view2], dim=-2))
    with torch.autocast(rows.device.type, enabled=False):
        similarity = rows @ rows.transpose(-1, -2) / temperature
    count = rows.shape[-2]
    itself = torch.eye(count, dtype=torch.bool, device=rows.device)
    similarity = similarity.masked_fill(itself, float("-inf"))
    partner = torch.arange(count, device=rows.device).roll(count // 2)
    return _cross_entropy(similarity, partner)


def info_nce(prediction: Tensor, target: Tensor, temperature: float = 0.1) -> Tensor:
    """Find each prediction's own target among the targets of the batch, by cosine.

    >>> round(info_nce(torch.eye(2), torch.eye(2), temperature=1.0).item(), 4)  # log(1 + 1/e)
    0.3133
    """
    _require_same_shape(prediction, target)
    with torch.autocast(prediction.device.type, enabled=False):
        cosines = unit_rows(prediction) @ unit_rows(target).transpose(-1, -2)
    own = torch.arange(cosines.shape[-1], device=cosines.device)
    return _cross_entropy(cosines / temperature, own)


def cosine_distance(prediction: Tensor, target: Tensor) -> Tensor:
    """One minus the cosine between each prediction and its target, averaged.

    >>> cosine_distance(torch.eye(2), -torch.eye(2)).item()
    2.0
    """
    _require_same_shape(prediction, target)
    return 1 - (unit_rows(prediction) * unit_rows(target)).sum(-1).mean()


def mean_squared_error(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean of the squared differences.

    >>> mean_squared_error(torch.zeros(2, 2), torch.ones(2, 2)).item()
    1.0
    """
    _require_same_shape(prediction, target)
    return F.mse_loss(_full_precision(prediction), _full_precision(target))


class _BatchwiseBarlowTwins(torch.autograd.Function):
    """The loss with its gradient written out: half the kernels that autograd would launch.

    Small batches are bound by the number of kernels. With e the cosines less one on the diagonal
    and w one there and `weight` elsewhere, the loss is `sum w e²`. With g the gradient of a
    prediction's direction u, that of the prediction itself is `(g - u (u · g)) / length`.
    """

    @staticmethod
    def forward(ctx: Any, prediction: Tensor, target: Tensor, weight: float) -> Tensor:
        length = torch.linalg.vector_norm(prediction, dim=-1, keepdim=True)
        length = length.clamp_min_(_SMALLEST_NORM)
        direction = prediction / length
        error = torch.bmm(target, direction.transpose(1, 2))
        own = error.diagonal(dim1=1, dim2=2).sub_(1)
        slope = error * (2 * weight / len(prediction))
        slope.diagonal(dim1=1, dim2=2).copy_(own * (2 / len(prediction)))
        ctx.save_for_backward(direction, target, length, slope)
        return torch.dot(slope.flatten(), error.flatten()) / 2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        direction, target, length, slope = ctx.saved_tensors
        slope = slope * outer
        for_prediction = for_target = None
        with torch.autocast(direction.device.type, enabled=False):
            if ctx.needs_input_grad[0]:
                turn = torch.bmm(slope.transpose(1, 2), target)
                along = (direction * turn).sum(-1, keepdim=True)
                for_prediction = turn.addcmul_(direction, along, value=-1).div_(length)
            if ctx.needs_input_grad[1]:
                for_target = torch.bmm(slope, direction)
        return for_prediction, for_target, None


def _full_precision(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def _cross_entropy(scores: Tensor, right: Tensor) -> Tensor:
    flat = scores.reshape(-1, scores.shape[-1])
    return F.cross_entropy(flat, right.repeat(flat.shape[0] // len(right)))


def _require_same_shape(first: Tensor, second: Tensor) -> None:
    if first.shape != second.shape or first.ndim not in (2, 3):
        raise ValueError(
            "a loss needs two tensors of one shape, m × d or K × m × d; "
            f"got {tuple(first.shape)} and {tuple(second.shape)}"
        )
