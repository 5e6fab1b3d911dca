"""Mixup as a view of any kind of data (Verma et al., DACL, 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

MIXINGS = ("linear", "geometric", "binary")


class Mixup(nn.Module):
    """Mix every sample with another sample of the batch.

    A sample keeps a share of itself that is drawn from U(least_share, 1).

    Parameters
    ----------
    mixings : sequence of {"linear", "geometric", "binary"}
        "linear" averages the two samples, "geometric" averages their logarithms (all values must
        be positive), "binary" takes each value from one or the other. If there are several, each
        sample draws one.
    least_share : float
        Smallest share of a sample in its mixture.

    Examples
    --------
    >>> x = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> bool(((Mixup(["linear"], least_share=0.9)(x) - x).abs() <= 0.1).all())
    True
    """

    def __init__(self, mixings: Sequence[str], least_share: float) -> None:
        super().__init__()
        self.mixings = tuple(mixings)
        self.least_share = least_share

    def forward(self, x: Tensor) -> Tensor:
        """Mix a batch.

        Parameters
        ----------
        x : Tensor of shape (n, ...)
            The batch.

        Returns
        -------
        Tensor of shape (n, ...)

        Examples
        --------
        >>> Mixup(["binary"], least_share=0.5).forward(torch.ones(3, 2)).shape
        torch.Size([3, 2])
        """
        other = x[draw_partners(len(x), x.device)]
        row_shape = (len(x), *[1] * (x.ndim - 1))
        drawn = torch.rand(row_shape, dtype=x.dtype, device=x.device)
        share = self.least_share + (1 - self.least_share) * drawn
        mixtures = [_MIXTURES[mixing](x, other, share) for mixing in self.mixings]
        mixed = mixtures[0]
        if len(mixtures) > 1:
            choice = torch.randint(len(mixtures), row_shape, device=x.device)
            for i, mixture in enumerate(mixtures[1:], start=1):
                mixed = torch.where(choice == i, mixture, mixed)
        return mixed


def draw_partners(count: int, device: torch.device) -> Tensor:
    """Draw another sample for every sample of a batch; each is drawn once.

    All partners are the same random number of positions away: batches are shuffled already.

    Parameters
    ----------
    count : int
        Samples in the batch.
    device : torch.device
        Where to draw.

    Returns
    -------
    Tensor of shape (count,)

    Examples
    --------
    >>> bool((draw_partners(5, torch.device("cpu")) == torch.arange(5)).any())
    False
    """
    offset = torch.randint(1, max(2, count), (1,), device=device)
    return (torch.arange(count, device=device) + offset) % count


def _linear(x: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return torch.lerp(other, x, share)


def _geometric(x: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return torch.lerp(other.log(), x.log(), share).exp()


def _binary(x: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return torch.where(torch.rand_like(x) < share, x, other)


_MIXTURES = {"linear": _linear, "geometric": _geometric, "binary": _binary}
