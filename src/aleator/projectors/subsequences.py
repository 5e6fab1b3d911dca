"""Subsequences of the data as filters of series.

After shapelets (Ye and Keogh 2009) and their random selection with dilation (Guillaume, Vrain and
Elloumi 2022): the maximum of the responses says how well a series contains the subsequence.
"""

from __future__ import annotations

import math
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from aleator.projectors.dilated_filters import (
    draw_channels,
    draw_dilations,
    sorted_by_kind,
    usual_length,
)
from aleator.projectors.drawn import random_rows
from aleator.projectors.pooled_convolutions import PooledConvolutions, draw_thresholds

_LENGTH = 25
_N_THRESHOLDS = 1
_LEAST_NORM = 1e-6


class RandomSubsequences(PooledConvolutions):
    """Subsequences of the data, centered and scaled to unit length, as filters.

    Examples
    --------
    >>> sample = torch.randn(20, 3, 50)
    >>> features = RandomSubsequences.draw(sample, 32, torch.Generator().manual_seed(0))
    >>> features(sample).shape
    torch.Size([20, 32])
    """

    @classmethod
    def draw(
        cls,
        sample: Tensor,
        output_dim: int,
        generator: torch.Generator,
        lengths: Tensor | None = None,
    ) -> Self:
        """Draw subsequences of random series, at random places, on random channels.

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
        RandomSubsequences
        """
        count = math.ceil(output_dim / (_N_THRESHOLDS + 2))
        n_channels, n_steps = sample.shape[1], usual_length(sample, lengths)
        length = min(_LENGTH, n_steps)
        dilation = draw_dilations(count, n_steps, length, generator)
        place = torch.rand(count, generator=generator)
        if lengths is None:
            series = random_rows(sample, count, generator)
            start = place * (n_steps - (length - 1) * dilation)
        else:
            drawn = random_rows(torch.arange(len(sample)), count, generator)
            # A series that is shorter than the subsequence continues with zeros.
            series = F.pad(sample[drawn.to(sample.device)], (0, n_steps))
            start = place * (lengths.cpu()[drawn] - (length - 1) * dilation).clamp_min(0)
        steps = start.long()[:, None] + dilation[:, None] * torch.arange(length)
        steps = steps[:, None].expand(-1, n_channels, -1)
        weight = series.gather(2, steps.to(sample.device))
        if length > 1:  # a single value would vanish
            weight = weight - weight.mean(2, keepdim=True)
        weight = weight * draw_channels(count, n_channels, generator).to(sample.device)
        weight = weight / weight.flatten(1).norm(dim=1).clamp_min(_LEAST_NORM)[:, None, None]
        differenced = torch.rand(count, generator=generator) < 0.5
        dilation, differenced, weight = sorted_by_kind(dilation, differenced, weight)
        threshold = draw_thresholds(
            sample, weight, dilation, differenced, _N_THRESHOLDS, generator, lengths
        )
        module = cls(weight, dilation, differenced, threshold, output_dim, with_maximum=True)
        return module.to(sample.device)
