"""Computing features of series of similar length together, so that little padding is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from aleator.networks.observed import series_lengths

# Series that are computed together at least, and steps by which their lengths differ at most, as a
# share of the longest.
_LEAST_ROWS, _DIFFERENCE = 8, 0.2


class LengthGroups(nn.Module):
    """A function of series that does not depend on padding, computed for groups of similar length.

    Parameters
    ----------
    inner : torch.nn.Module
        The function of series, NaN after the end of each.

    Examples
    --------
    >>> class Mean(nn.Module):
    ...     def forward(self, x):
    ...         return x.nanmean(2)
    >>> series = torch.tensor([[[1.0, 2.0, 3.0]], [[5.0, torch.nan, torch.nan]]])
    >>> LengthGroups(Mean())(series).tolist()
    [[2.0], [5.0]]
    """

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        """Compute the function.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series; NaN after the end of each.

        Returns
        -------
        Tensor of shape (m, k)
        """
        lengths = series_lengths(x)
        order = lengths.argsort(descending=True, stable=True)
        ranked = lengths[order].tolist()
        results, start = [], 0
        while start < len(ranked):
            stop = start + 1
            shortest = (1 - _DIFFERENCE) * ranked[start]
            while stop < len(ranked) and (stop < start + _LEAST_ROWS or ranked[stop] >= shortest):
                stop += 1
            results.append(self.inner(x[order[start:stop], :, : ranked[start]]))
            start = stop
        found = torch.cat(results)
        return torch.empty_like(found).index_copy_(0, order, found)


def in_length_groups(
    input_shape: Sequence[int],
    output_dim: int,
    sample: Tensor | None = None,
    *,
    build: Callable[..., nn.Module],
) -> LengthGroups:
    """Build a function of series that is computed for groups of similar length.

    Parameters
    ----------
    input_shape : sequence of int
        Channels and time steps.
    output_dim : int
        Number of features.
    sample : Tensor of shape (n, channels, time), default=None
        Series of the training data; None creates an empty module to be loaded.
    build : callable
        Factory ``(input_shape, output_dim, sample) -> module``.

    Returns
    -------
    LengthGroups

    Examples
    --------
    >>> from aleator.projectors.summaries import WindowSummaries
    >>> series = torch.randn(9, 2, 30)
    >>> in_length_groups((2, 30), 8, series, build=WindowSummaries.build)(series).shape
    torch.Size([9, 8])
    """
    return LengthGroups(build(input_shape, output_dim, sample))
