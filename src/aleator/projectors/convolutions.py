"""Random dilated convolutions of series with thresholds from the data.

After ROCKET (Dempster, Petitjean and Webb 2020), MiniRocket (2021) and MultiRocket (Tan et al.
2022): filters have random weights and dilations, thresholds are quantiles of the filters' own
responses to the data, and responses are pooled to the share above a threshold and their spread.
Half of the filters are applied to first differences.
"""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor

from aleator.projectors.dilated_filters import (
    draw_channels,
    draw_dilations,
    sorted_by_kind,
    usual_length,
)
from aleator.projectors.pooled_convolutions import PooledConvolutions, draw_thresholds

_LENGTH = 9
_N_THRESHOLDS = 2


class RandomConvolutions(PooledConvolutions):
    """Random convolutions with thresholds at quantiles of their own responses.

    Examples
    --------
    >>> sample = torch.randn(20, 3, 50)
    >>> features = RandomConvolutions.draw(sample, 32, torch.Generator().manual_seed(0))
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
        """Draw filters with normal weights of zero mean on random channels.

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
        RandomConvolutions
        """
        count = math.ceil(output_dim / (_N_THRESHOLDS + 1))
        n_channels, n_steps = sample.shape[1], usual_length(sample, lengths)
        weight = torch.randn(count, n_channels, _LENGTH, generator=generator)
        weight = weight - weight.mean(2, keepdim=True)
        weight = weight * draw_channels(count, n_channels, generator)
        weight = weight / weight.flatten(1).norm(dim=1)[:, None, None]
        dilation = draw_dilations(count, n_steps, _LENGTH, generator)
        differenced = torch.rand(count, generator=generator) < 0.5
        dilation, differenced, weight = sorted_by_kind(dilation, differenced, weight)
        threshold = draw_thresholds(
            sample, weight, dilation, differenced, _N_THRESHOLDS, generator, lengths
        )
        module = cls(weight, dilation, differenced, threshold, output_dim)
        return module.to(sample.device)
