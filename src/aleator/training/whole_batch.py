"""Layers, views and losses that look at a whole batch, of which a process has only a share.

Batch normalization computes its statistics over all processes. Dropout draws the mask of the whole
batch, of which a process uses its rows. A view gets the whole batch, and a process keeps its rows.
All processes draw the same numbers, and those that one process would draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from aleator.training.collectives import Collectives
from aleator.training.head_bank import BATCH_NORMS
from aleator.training.shared_norm import normalize_batch
from aleator.training.shares import Share

_DROPOUTS = (
    nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout,
)  # fmt: skip

Forward = Callable[[Tensor], Tensor]
GetShare = Callable[[], Share | None]


@contextmanager
def seeing_whole_batch(
    modules: Iterable[nn.Module],
    views: Sequence[nn.Module],
    share: GetShare,
    group: Collectives,
) -> Iterator[None]:
    """Let layers and views in `modules` see the whole batch, while there is one to share.

    Parameters
    ----------
    modules : iterable of torch.nn.Module
        All modules of a method.
    views : sequence of torch.nn.Module
        Those of them that change a batch.
    share : callable
        Function that returns the share of this process, or None outside of a step.
    group : Collectives
        The processes.
    """
    of_views = {id(part) for view in views for part in view.modules()}
    changed: dict[nn.Module, Forward] = {}
    for part in {id(part): part for module in modules for part in module.modules()}.values():
        if id(part) in of_views:
            continue  # it gets the whole batch with its view
        if isinstance(part, BATCH_NORMS):
            changed[part] = _normalizing(part, part.forward, share, group)
        elif isinstance(part, _DROPOUTS):
            changed[part] = _dropping(part, part.forward, share)
    for view in views:
        if not isinstance(view, nn.Identity):
            changed[view] = _viewing(view.forward, share, group)
    try:
        for module, forward in changed.items():
            # In the instance, where it comes before the method of the class.
            module.forward = forward
        yield
    finally:
        for module in changed:
            vars(module).pop("forward", None)


def _normalizing(module: Any, forward: Forward, get: GetShare, group: Collectives) -> Forward:
    def run(x: Tensor) -> Tensor:
        share = get()
        kept = getattr(module, "running_mean", None) is not None
        if share is None or (kept and not module.training):
            return forward(x)
        return normalize_batch(module, x, share, group)

    return run


def _dropping(module: nn.Module, forward: Forward, get: GetShare) -> Forward:
    def run(x: Tensor) -> Tensor:
        share = get()
        copies = None if share is None else share.copies(len(x))
        if share is None or copies is None or not module.training:
            return forward(x)
        # What the rows of others are does not matter: only their masks are drawn.
        places = share.places_of(copies)
        whole = _zeros(x, copies * share.total).index_copy_(0, places, x)
        return forward(whole).index_select(0, places)

    return run


def _viewing(forward: Forward, get: GetShare, group: Collectives) -> Forward:
    def run(x: Tensor) -> Tensor:
        share = get()
        if share is None:
            return forward(x)
        (whole,) = gather_rows([x], share, group)
        return forward(whole).index_select(0, share.places)

    return run


def _zeros(like: Tensor, rows: int) -> Tensor:
    """Return rows of zeros in the memory layout of a tensor, in whose order numbers are drawn."""
    per_row = like[0].numel()
    axes = sorted((stride, size) for stride, size in zip(like.stride(), like.shape, strict=True))
    filled = 1
    for stride, size in axes[:-1] if like.stride(0) == per_row else ():
        if size > 1 and stride != filled:
            break
        filled *= size
    zeros = like.new_zeros((rows, *like.shape[1:]))
    # Rows one after another, without gaps: for example images with channels last.
    return zeros.as_strided(zeros.shape, like.stride()) if filled == per_row else zeros


def gather_rows(tensors: Sequence[Tensor], share: Share, group: Collectives) -> list[Tensor]:
    """Return the rows of all processes for every tensor, in the order of the batch.

    A gradient of the result reaches the rows of this process only, and is not summed: every process
    differentiates the same loss.

    Parameters
    ----------
    tensors : sequence of Tensor
        The rows of this process.
    share : Share
        Which rows of the batch they are.
    group : Collectives
        The processes.

    Returns
    -------
    list of Tensor
    """
    whole: dict[int, Tensor] = {}
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        # All of one type in one message.
        positions = [i for i, tensor in enumerate(tensors) if tensor.dtype == dtype]
        flat = [tensors[i].flatten(1) if tensors[i].ndim > 1 else tensors[i][:, None]
                for i in positions]  # fmt: skip
        joined = _GatherRows.apply(torch.cat(flat, 1), share, group)
        parts = joined.split([part.shape[1] for part in flat], dim=1)
        for i, part in zip(positions, parts, strict=True):
            whole[i] = part.reshape(share.total, *tensors[i].shape[1:])
    return [whole[i] for i in range(len(tensors))]


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, share: Share, group: Collectives) -> Tensor:
        ctx.share = share
        filled = rows.new_zeros((max(share.counts), rows.shape[1]))
        filled[: share.count] = rows[: share.count]
        return group.gather(filled).flatten(0, 1).index_select(0, share.gathered)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        share = ctx.share
        own = grad.index_select(0, share.places)
        return own if share.count else torch.zeros_like(own), None, None
