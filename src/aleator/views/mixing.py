"""Mixup noise as a view of anything (Verma et al., DACL, 2021): a sample with some of another."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

KINDS = ("linear", "geometric", "binary")


class Mixed(nn.Module):
    """Each sample keeps a share, drawn from U(least, 1), of itself; the rest is of another one.

    "linear" averages the two, "geometric" does so with their logarithms (all values must be
    positive), "binary" takes each value whole from one or the other. With several kinds, each
    sample draws one.

    >>> x = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> bool(((Mixed(["linear"], least=0.9)(x) - x).abs() <= 0.1).all())
    True
    """

    def __init__(self, kinds: Sequence[str], least: float) -> None:
        super().__init__()
        self.kinds = tuple(kinds)
        self.least = least

    def forward(self, x: Tensor) -> Tensor:
        """Mix every sample with another of the batch."""
        other = x[partners(len(x), x.device)]
        a_row = (len(x), *[1] * (x.ndim - 1))
        share = self.least + (1 - self.least) * torch.rand(a_row, device=x.device)
        mixtures = [_MIXTURES[kind](x, other, share) for kind in self.kinds]
        mixed = mixtures[0]
        if len(mixtures) > 1:
            kind = torch.randint(len(mixtures), a_row, device=x.device)
            for at, mixture in enumerate(mixtures[1:], start=1):
                mixed = torch.where(kind == at, mixture, mixed)
        return mixed


def partners(count: int, device: torch.device) -> Tensor:
    """For every sample of a batch another one; each is taken once.

    The one a random number of places further on: batches are shuffled already.

    >>> bool((partners(5, torch.device("cpu")) == torch.arange(5)).any())
    False
    """
    further = torch.randint(1, max(2, count), (1,), device=device)
    return (torch.arange(count, device=device) + further) % count


def _linear(x: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return torch.lerp(other, x, share)


def _geometric(x: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return torch.lerp(other.log(), x.log(), share).exp()


def _binary(x: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return torch.where(torch.rand_like(x) < share, x, other)


_MIXTURES = {"linear": _linear, "geometric": _geometric, "binary": _binary}
