"""Losses between predictions and targets.

Pure functions of tensors. Every pairwise loss takes inputs of shape (m, d) or (K, m, d) (K heads at
once), computes in float32 or better whatever the surrounding precision, and returns a scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_SMALLEST_NORM = 1e-12

# With more rows than this per column, sums over all pairs of rows are computed from Gram matrices.
_ROWS_PER_COLUMN = 4

PairLoss = Callable[[Tensor, Tensor], Tensor]

__all__ = [
    "batchwise_barlow_twins", "bbt_to_unit_target", "cosine_distance", "info_nce",
    "mean_squared_error", "nt_xent", "temporal_contrast", "unit_rows",
]  # fmt: skip


def unit_rows(rows: Tensor) -> Tensor:
    """Scale every row (last axis) to unit length; a row of zeros stays zero.

    Parameters
    ----------
    rows : Tensor of shape (..., d)
        Vectors.

    Returns
    -------
    Tensor of shape (..., d)

    Examples
    --------
    >>> unit_rows(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return F.normalize(_full_precision(rows), dim=-1, eps=_SMALLEST_NORM)


def batchwise_barlow_twins(
    prediction: Tensor, target: Tensor, off_diagonal_weight: float = 0.01
) -> Tensor:
    """Batch-wise Barlow Twins (equation 5 of the LFR paper).

    With ``c[i, j]`` the cosine between target i and prediction j, the loss is
    ``sum_i (1 - c[i, i])² + off_diagonal_weight · sum_{i ≠ j} c[i, j]²``: summed over rows,
    averaged over the K heads.

    Parameters
    ----------
    prediction : Tensor of shape (m, d) or (K, m, d)
        Outputs of the heads.
    target : Tensor of the same shape
        Outputs of the projectors.
    off_diagonal_weight : float, default=0.01
        Weight of pairs of different rows (the paper's lambda).

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> rows = torch.eye(3)
    >>> batchwise_barlow_twins(rows, rows).item()
    0.0
    >>> batchwise_barlow_twins(-rows, rows).item()
    12.0
    """
    _check_same_shape(prediction, target)
    return bbt_to_unit_target(prediction, unit_rows(target), off_diagonal_weight)


def bbt_to_unit_target(
    prediction: Tensor, unit_target: Tensor, off_diagonal_weight: float = 0.01
) -> Tensor:
    """Compute `batchwise_barlow_twins` for a target whose rows have unit length already.

    Parameters
    ----------
    prediction : Tensor of shape (m, d) or (K, m, d)
        Outputs of the heads.
    unit_target : Tensor of the same shape
        Outputs of the projectors, with rows of unit length.
    off_diagonal_weight : float, default=0.01
        Weight of pairs of different rows.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> bbt_to_unit_target(2 * torch.eye(2), torch.eye(2)).item()
    0.0
    """
    prediction, unit_target = _full_precision(prediction), _full_precision(unit_target)
    if prediction.ndim == 2:
        prediction, unit_target = prediction[None], unit_target[None]
    rows, width = prediction.shape[1:]
    many_rows = rows > _ROWS_PER_COLUMN * width
    function = _BarlowTwinsByGram if many_rows else _BarlowTwinsByPairs
    with torch.autocast(prediction.device.type, enabled=False):
        return function.apply(prediction, unit_target, off_diagonal_weight)


def nt_xent(view1: Tensor, view2: Tensor, temperature: float) -> Tensor:
    """SimCLR's contrastive loss: identify the partner of every row among all rows of both views.

    Averaged over the 2m rows. Chen et al., A simple framework for contrastive learning of visual
    representations, 2020.

    Parameters
    ----------
    view1 : Tensor of shape (m, d) or (K, m, d)
        First view.
    view2 : Tensor of the same shape
        Second view; row i is the partner of row i of the first.
    temperature : float
        Temperature of the softmax over cosines.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> view = torch.eye(2)
    >>> round(nt_xent(view, view, temperature=1.0).item(), 4)  # log(e + 1 + 1) - 1
    0.5514
    """
    _check_same_shape(view1, view2)
    rows = unit_rows(torch.cat([view1, view2], dim=-2))
    with torch.autocast(rows.device.type, enabled=False):
        similarity = rows @ rows.transpose(-1, -2) / temperature
    count = rows.shape[-2]
    itself = torch.eye(count, dtype=torch.bool, device=rows.device)
    similarity = similarity.masked_fill(itself, float("-inf"))
    partner = torch.arange(count, device=rows.device).roll(count // 2)
    return _cross_entropy(similarity, partner)


def info_nce(prediction: Tensor, target: Tensor, temperature: float = 0.1) -> Tensor:
    """Identify the target of each prediction among the targets of the batch, by cosine.

    Parameters
    ----------
    prediction : Tensor of shape (m, d) or (K, m, d)
        Outputs of the heads.
    target : Tensor of the same shape
        Outputs of the projectors.
    temperature : float, default=0.1
        Temperature of the softmax over cosines.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> round(info_nce(torch.eye(2), torch.eye(2), temperature=1.0).item(), 4)  # log(1 + 1/e)
    0.3133
    """
    _check_same_shape(prediction, target)
    with torch.autocast(prediction.device.type, enabled=False):
        cosines = unit_rows(prediction) @ unit_rows(target).transpose(-1, -2)
    own = torch.arange(cosines.shape[-1], device=cosines.device)
    return _cross_entropy(cosines / temperature, own)


def temporal_contrast(prediction: Tensor, future: Tensor) -> Tensor:
    """Identify the prediction of each future among those of the batch, by dot product.

    Temporal contrasting of TS-TCC (Eldele et al. 2021).

    Parameters
    ----------
    prediction : Tensor of shape (K, m, d)
        Predictions of K steps ahead for m series.
    future : Tensor of shape (K, m, d)
        The steps themselves.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> far_apart = 100 * torch.eye(2)[None]
    >>> temporal_contrast(far_apart, far_apart).item()
    0.0
    """
    _check_same_shape(prediction, future)
    with torch.autocast(prediction.device.type, enabled=False):
        scores = _full_precision(future) @ _full_precision(prediction).transpose(-1, -2)
    own = torch.arange(scores.shape[-1], device=scores.device)
    return _cross_entropy(scores, own)


def cosine_distance(prediction: Tensor, target: Tensor) -> Tensor:
    """One minus the cosine between each prediction and its target, averaged.

    Parameters
    ----------
    prediction : Tensor of shape (m, d) or (K, m, d)
        Predictions.
    target : Tensor of the same shape
        Targets.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> cosine_distance(torch.eye(2), -torch.eye(2)).item()
    2.0
    """
    _check_same_shape(prediction, target)
    return 1 - (unit_rows(prediction) * unit_rows(target)).sum(-1).mean()


def mean_squared_error(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean of the squared differences.

    Parameters
    ----------
    prediction : Tensor of shape (m, d) or (K, m, d)
        Predictions.
    target : Tensor of the same shape
        Targets.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> mean_squared_error(torch.zeros(2, 2), torch.ones(2, 2)).item()
    1.0
    """
    _check_same_shape(prediction, target)
    return F.mse_loss(_full_precision(prediction), _full_precision(target))


class _BarlowTwinsByPairs(torch.autograd.Function):
    """Batch-wise Barlow Twins over all pairs of rows, with its gradient written out.

    The time of small batches is that of launching kernels, of which autograd would need twice as
    many. With e the cosines minus one on the diagonal, and w one there and `weight` elsewhere, the
    loss is ``sum w e²``.
    """

    @staticmethod
    def forward(ctx: Any, prediction: Tensor, target: Tensor, weight: float) -> Tensor:
        direction, length = _direction_and_length(prediction)
        error = torch.bmm(target, direction.transpose(1, 2))
        own = error.diagonal(dim1=1, dim2=2).sub_(1)
        weighted_error = error * (2 * weight / len(prediction))
        weighted_error.diagonal(dim1=1, dim2=2).copy_(own * (2 / len(prediction)))
        ctx.save_for_backward(direction, target, length, weighted_error)
        return torch.dot(weighted_error.flatten(), error.flatten()) / 2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        direction, target, length, weighted_error = ctx.saved_tensors
        weighted_error = weighted_error * grad_output
        grad_prediction = grad_target = None
        with torch.autocast(direction.device.type, enabled=False):
            if ctx.needs_input_grad[0]:
                grad_direction = torch.bmm(weighted_error.transpose(1, 2), target)
                grad_prediction = _gradient_of_rows(grad_direction, direction, length)
            if ctx.needs_input_grad[1]:
                grad_target = torch.bmm(weighted_error, direction)
        return grad_prediction, grad_target, None


class _BarlowTwinsByGram(torch.autograd.Function):
    """The same loss for many short rows: ``sum c²`` over all pairs is ``<TᵀT, UᵀU>``.

    That takes d × d products instead of m × m: for a batch of 4096 rows of 64 features, 1/64 of
    the work, and no matrix of all pairs.
    """

    @staticmethod
    def forward(ctx: Any, prediction: Tensor, target: Tensor, weight: float) -> Tensor:
        direction, length = _direction_and_length(prediction)
        own = (target * direction).sum(-1, keepdim=True)
        of_target, of_direction = (torch.bmm(x.transpose(1, 2), x) for x in (target, direction))
        pairs = torch.dot(of_target.flatten(), of_direction.flatten())
        ctx.save_for_backward(direction, target, length, own, of_target, of_direction)
        ctx.weight = weight
        return (weight * pairs + ((1 - own).square() - weight * own.square()).sum()) / len(target)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        direction, target, length, own, of_target, of_direction = ctx.saved_tensors
        share = grad_output * (2 / len(target))
        of_own = (own - 1 - ctx.weight * own) * share
        share = share * ctx.weight
        grad_prediction = grad_target = None
        with torch.autocast(direction.device.type, enabled=False):
            if ctx.needs_input_grad[0]:
                grad_direction = torch.bmm(direction, of_target * share).addcmul_(target, of_own)
                grad_prediction = _gradient_of_rows(grad_direction, direction, length)
            if ctx.needs_input_grad[1]:
                grad_target = torch.bmm(target, of_direction * share).addcmul_(direction, of_own)
        return grad_prediction, grad_target, None


def _direction_and_length(rows: Tensor) -> tuple[Tensor, Tensor]:
    length = torch.linalg.vector_norm(rows, dim=-1, keepdim=True).clamp_min_(_SMALLEST_NORM)
    return rows / length, length


def _gradient_of_rows(grad_direction: Tensor, direction: Tensor, length: Tensor) -> Tensor:
    """Gradient of rows from that of their directions, which is overwritten."""
    along = (direction * grad_direction).sum(-1, keepdim=True)
    return grad_direction.addcmul_(direction, along, value=-1).div_(length)


def _full_precision(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def _cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    flat = scores.reshape(-1, scores.shape[-1])
    return F.cross_entropy(flat, labels.repeat(flat.shape[0] // len(labels)))


def _check_same_shape(first: Tensor, second: Tensor) -> None:
    if first.shape != second.shape or first.ndim not in (2, 3):
        raise ValueError(
            "a loss needs two tensors of the same shape, (m, d) or (K, m, d), "
            f"got {tuple(first.shape)} and {tuple(second.shape)}"
        )
