"""Batch normalization over the rows of all processes, on CPUs too.

torch's own, `nn.SyncBatchNorm`, runs on GPUs only. Statistics of processes are merged as in Chan,
Golub and LeVeque, Algorithms for computing the sample variance, 1983.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aleator.training.collectives import Collectives
from aleator.training.shares import Share


def normalize_batch(module: Any, x: Tensor, share: Share, group: Collectives) -> Tensor:
    """Normalize the rows of this process by the statistics of the whole batch.

    Parameters
    ----------
    module : nn.BatchNorm1d, 2d or 3d, or a bank of them
        The layer, whose averages move as if it had seen the whole batch.
    x : Tensor of shape (n, features, ...)
        Rows of this process. Those of a bank have several axes of features.
    share : Share
        Which rows of the batch they are.
    group : Collectives
        The processes.

    Returns
    -------
    Tensor of the shape of x
    """
    bank = getattr(module, "shape_of_heads", None)
    if bank is not None:
        return _normalize(module, x.flatten(1), share, group).unflatten(1, x.shape[1:])
    return _normalize(module, x, share, group)


def _normalize(module: Any, x: Tensor, share: Share, group: Collectives) -> Tensor:
    weight, bias, running_mean, running_var = (
        None if value is None else value.flatten()
        for value in (
            getattr(module, name, None)
            for name in ("weight", "bias", "running_mean", "running_var")
        )
    )
    with torch.no_grad():
        mean, variance, total = _statistics(x if share.count else x[:0], group)
        least = getattr(module, "min_values", None)
        if least is not None and total < least:
            return x  # in all processes, however many values this one has
        if module.training and running_mean is not None and running_var is not None:
            module.num_batches_tracked.add_(1)
            momentum = module.momentum
            if momentum is None:
                momentum = 1 / float(module.num_batches_tracked)
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            unbiased = variance * (total / (total - 1).clamp_min(1))
            running_var.lerp_(unbiased.to(running_mean.dtype), momentum)
        scale = (variance + module.eps).rsqrt().to(_working(x))
    mean = mean.to(_working(x))
    return _Normalize.apply(x, weight, bias, mean, scale, share.count, total, group)


def _statistics(x: Tensor, group: Collectives) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance of every feature and their number of values, from one message.

    The number does not follow from that of rows: graphs, for example, have few nodes or many.
    """
    dims = _dims(x)
    precise = _precise(x)
    count = x.numel() // x.shape[1]
    mean = x.sum(dims, dtype=precise) / max(1, count)
    squares = (x - _spread(mean.to(_working(x)), x)).square().sum(dims, dtype=precise)
    gathered = group.gather(torch.cat([mean, squares, mean.new_full((1,), count)]))
    means, sums, n = gathered.split([len(mean), len(mean), 1], dim=1)
    total = n.sum()
    divisor = total.clamp_min(1)
    whole_mean = (n * means).sum(0) / divisor
    whole_sum = (sums + n * (means - whole_mean).square()).sum(0)
    return whole_mean, whole_sum / divisor, total


class _Normalize(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        scale: Tensor,
        rows: int,
        total: Tensor,
        group: Collectives,
    ) -> Tensor:
        normal = (x - _spread(mean, x)) * _spread(scale, x)
        ctx.save_for_backward(normal, weight, scale)
        ctx.rows, ctx.total, ctx.group, ctx.dtype = rows, total, group, x.dtype
        out = normal if weight is None else normal * _spread(weight, x)
        return (out if bias is None else out + _spread(bias, x)).to(x.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        normal, weight, scale = ctx.saved_tensors
        dims = _dims(grad)
        grad = grad.to(normal.dtype)
        sums = torch.stack([grad.sum(dims), (grad * normal).sum(dims)])
        # Gradients of weight and bias are summed with those of all other parameters.
        own = sums.clone()
        ctx.group.sum([sums])
        mean, mean_along = (_spread(part / ctx.total, grad) for part in sums)
        grad_x = (grad - mean - normal * mean_along) * _spread(scale, grad)
        if not ctx.rows:  # a row that counts nothing has not moved the statistics
            grad_x = torch.zeros_like(grad_x)
        if weight is not None:
            grad_x = grad_x * _spread(weight, grad)
        grad_weight = own[1].to(weight.dtype) if ctx.needs_input_grad[1] else None
        grad_bias = own[0].to(weight.dtype) if ctx.needs_input_grad[2] else None
        return grad_x.to(ctx.dtype), grad_weight, grad_bias, None, None, None, None, None


def _dims(x: Tensor) -> list[int]:
    return [0, *range(2, x.ndim)]


def _precise(x: Tensor) -> torch.dtype:
    """Type of sums, as torch has it: double on a CPU, single on a GPU."""
    return torch.float64 if x.device.type == "cpu" else _working(x)


def _working(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _spread(values: Tensor, x: Tensor) -> Tensor:
    """Let a value per feature fit the axes of x."""
    return values.view(1, -1, *[1] * (x.ndim - 2))
