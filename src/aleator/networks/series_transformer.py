"""A transformer encoder of series, whose tokens are patches of time steps (Nie et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.networks.transformer import AttentionBlock

_MOST_PATCHES = 64
_WIDTH, _DEPTH, _HEADS, _MLP_WIDTH = 128, 4, 4, 256


class SeriesTransformer(nn.Module):
    """Linear embedding of patches with learned positions, pre-norm blocks, and a mean over patches.

    A series has at most 64 patches, so that time and memory grow with its length only linearly.

    Parameters
    ----------
    input_shape : sequence of int
        Channels and time steps.
    embedding_dim : int or None, default=None
        Width of the embedding; a linear layer is added if it is not that of the blocks, 128. None
        is 128.

    Examples
    --------
    >>> encoder = SeriesTransformer((3, 500))
    >>> encoder(torch.zeros(2, 3, 500)).shape, encoder.patch_length
    (torch.Size([2, 128]), 8)
    >>> encoder.feature_maps(torch.zeros(2, 3, 500)).shape
    torch.Size([2, 128, 63])
    """

    def __init__(self, input_shape: Sequence[int], embedding_dim: int | None = None) -> None:
        super().__init__()
        channels, time = input_shape
        self.patch_length = math.ceil(time / _MOST_PATCHES)
        n_patches = math.ceil(time / self.patch_length)
        self.embed = nn.Conv1d(channels, _WIDTH, self.patch_length, stride=self.patch_length)
        self.positions = nn.Parameter(
            nn.init.trunc_normal_(torch.empty(n_patches, _WIDTH), std=0.02)
        )
        self.blocks = nn.Sequential(
            *(AttentionBlock(_WIDTH, _HEADS, _MLP_WIDTH) for _ in range(_DEPTH))
        )
        self.norm = nn.LayerNorm(_WIDTH)
        self.output = (
            nn.Identity() if embedding_dim in (None, _WIDTH) else nn.Linear(_WIDTH, embedding_dim)
        )

    def feature_maps(self, x: Tensor) -> Tensor:
        """Encode the patches of series.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            Series; the last patch is filled up with zeros.

        Returns
        -------
        Tensor of shape (n, 128, n_patches)
        """
        x = F.pad(x, (0, -x.shape[2] % self.patch_length))
        tokens = self.embed(x).transpose(1, 2) + self.positions
        return self.norm(self.blocks(tokens)).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Encode series.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            Series.

        Returns
        -------
        Tensor of shape (n, embedding_dim)
        """
        return self.output(self.feature_maps(x).mean(2))
