"""Counts of the winners among competing random convolutions of series.

After Hydra (Dempster, Schmidt and Webb 2023): within a group of filters of one dilation, every time
step goes to the filter with the largest response.
"""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor

from aleator.networks.observed import within
from aleator.projectors.dilated_filters import (
    draw_channels,
    draw_dilations,
    ranges_of_kinds,
    responses_in_pieces,
    responses_within,
    sorted_by_kind,
    usual_length,
)
from aleator.projectors.drawn import DrawnModule
from aleator.projectors.pooled_convolutions import RAMP

_LENGTH = 9
_GROUP = 8


class CompetingConvolutions(DrawnModule):
    """Groups of convolutions that compete for the time steps of a series.

    The features are the shares of time steps at which a filter has the largest response of its
    group, and those at which it has the smallest.

    Parameters
    ----------
    weight : Tensor of shape (groups, filters, channels, length), default=None
        Filters of every group.
    dilation : Tensor of shape (groups,), default=None
        Dilation of every group.
    differenced : Tensor of shape (groups,), default=None
        Whether a group is applied to the first differences of the series.
    output_dim : int, default=0
        Number of features; surplus features are left out.

    Examples
    --------
    >>> weight = torch.tensor([[[[1.0]], [[-1.0]]]])
    >>> one = torch.ones(1, dtype=torch.int64)
    >>> signs = CompetingConvolutions(weight, one, one < 0, output_dim=4)
    >>> signs(torch.tensor([[[1.0, 1, 1, -1]]])).tolist()
    [[0.75, 0.25, 0.25, 0.75]]
    """

    weight: Tensor
    dilation: Tensor
    differenced: Tensor
    output_dim: Tensor

    def __init__(
        self,
        weight: Tensor | None = None,
        dilation: Tensor | None = None,
        differenced: Tensor | None = None,
        output_dim: int = 0,
    ) -> None:
        super().__init__()
        self.store(
            weight=weight,
            dilation=dilation,
            differenced=differenced,
            output_dim=output_dim,
        )
        if weight is not None:
            self.prepare()

    def prepare(self) -> None:
        """Find the ranges of groups of one dilation."""
        self._ranges = ranges_of_kinds(self.differenced, self.dilation)
        self._width = int(self.output_dim)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the shares of the winners.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series; zero after their ends.
        lengths : Tensor of shape (m,), default=None
            Lengths of the series; None is all of `x`.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        n_groups, n_filters = self.weight.shape[:2]
        shares = x.new_empty(len(x), n_groups, 2 * n_filters)
        if lengths is None:
            for samples, groups, responses in responses_in_pieces(x, self.weight, self._ranges):
                shares[samples, groups] = _shares(responses.unflatten(1, (-1, n_filters)))
        else:
            within_ends = responses_within(x, lengths, self.weight, self._ranges)
            for samples, groups, responses, counts in within_ends:
                responses = responses.unflatten(1, (-1, n_filters))
                shares[samples, groups] = _shares_within(responses, counts)
        return shares.flatten(1)[:, : self._width]

    @classmethod
    def draw(
        cls,
        sample: Tensor,
        output_dim: int,
        generator: torch.Generator,
        lengths: Tensor | None = None,
    ) -> Self:
        """Draw groups of eight filters with normal weights of zero mean on random channels.

        Parameters
        ----------
        sample : Tensor of shape (n, channels, time)
            Series of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.
        lengths : Tensor of shape (n,), default=None
            Lengths of the series, which are zero after their ends; None is all of `sample`.

        Returns
        -------
        CompetingConvolutions
        """
        n_channels, n_steps = sample.shape[1], usual_length(sample, lengths)
        n_groups = math.ceil(output_dim / (2 * _GROUP))
        weight = torch.randn(n_groups, _GROUP, n_channels, _LENGTH, generator=generator)
        weight = weight - weight.mean(3, keepdim=True)
        # All filters of a group see the same channels, or the channel would decide who wins.
        weight = weight * draw_channels(n_groups, n_channels, generator)[:, None]
        weight = weight / weight.flatten(2).norm(dim=2)[..., None, None]
        dilation = draw_dilations(n_groups, n_steps, _LENGTH, generator)
        differenced = torch.rand(n_groups, generator=generator) < 0.5
        dilation, differenced, weight = sorted_by_kind(dilation, differenced, weight)
        return cls(weight, dilation, differenced, output_dim).to(sample.device)


def _shares(responses: Tensor) -> Tensor:
    """Shares of the wins and losses for responses of shape (m, groups, filters, time)."""
    above = responses - responses.amax(2, keepdim=True)
    below = responses - responses.amin(2, keepdim=True)
    wins = 1 + above.sign_().mean(-1)
    losses = 1 - below.sign_().mean(-1)
    return torch.cat([wins, losses], 2)


def _shares_within(responses: Tensor, counts: Tensor) -> Tensor:
    """As `_shares`, over the first `counts` steps; the other responses are zero.

    Who is close to the winner has part of the step, or rounding might decide who wins.
    """
    divisor = counts[:, None, None].to(responses.dtype)
    inside = within(counts, responses.shape[-1])[:, None, None]
    above = responses - responses.amax(2, keepdim=True)
    below = responses.amin(2, keepdim=True) - responses
    shares = [part.div_(RAMP).add_(1).clamp_min_(0).mul_(inside).sum(-1) for part in (above, below)]
    return torch.cat([share / divisor for share in shares], 2)
