"""Temporal convolutional networks for monitoring data (the MIMIC-III recipe; Yèche et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CHANNELS = 64


class CausalBlock(nn.Module):
    """Two causal convolutions with layer norm over channels and a residual connection.

    Examples
    --------
    >>> CausalBlock(3, 8, dilation=2)(torch.zeros(5, 3, 10)).shape
    torch.Size([5, 8, 10])
    """

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.convolutions = nn.ModuleList(
            nn.Conv1d(channels, out_channels, kernel_size=2, dilation=dilation)
            for channels in (in_channels, out_channels)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(out_channels) for _ in range(2))
        self.shortcut: nn.Module = nn.Identity()
        if in_channels != out_channels:
            self.shortcut = nn.Conv1d(in_channels, out_channels, kernel_size=1)
        for module in self.modules():
            if isinstance(module, nn.Conv1d):
                nn.init.normal_(module.weight, std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        """Process (n, channels, time); each step depends on itself and earlier steps."""
        h = x
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            h = convolution(F.pad(h, (self.dilation, 0)))
            h = torch.relu(norm(h.transpose(1, 2)).transpose(1, 2))
        return torch.relu(h + self.shortcut(x))


def causal_blocks(in_channels: int, count: int) -> nn.Sequential:
    """`count` causal blocks, each with twice the dilation of the one before.

    Examples
    --------
    >>> causal_blocks(3, 2)(torch.zeros(1, 3, 9)).shape
    torch.Size([1, 64, 9])
    """
    widths = [in_channels, *[CHANNELS] * count]
    return nn.Sequential(
        *(CausalBlock(widths[i], widths[i + 1], dilation=2**i) for i in range(count))
    )


class TCNEncoder(nn.Module):
    """Five causal blocks, flattened, then a linear layer.

    Parameters
    ----------
    input_shape : sequence of int
        Channels and time steps.
    embedding_dim : int, default=None
        Width of the embedding; None is 64.
    static_channel : int, default=None
        Index of a channel that holds one value per sample, for example an age; the value of its
        last step is used. It bypasses the convolutions and is concatenated before the last linear
        layer.

    Examples
    --------
    >>> TCNEncoder((42, 48), 64, static_channel=0)(torch.zeros(2, 42, 48)).shape
    torch.Size([2, 64])
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        embedding_dim: int | None = None,
        static_channel: int | None = None,
    ) -> None:
        super().__init__()
        channels, length = input_shape
        width = CHANNELS if embedding_dim is None else embedding_dim
        self.static_channel = static_channel
        dynamic = channels if static_channel is None else channels - 1
        if dynamic < 1:
            raise ValueError("a TCN needs at least one channel besides the static one")
        self.blocks = causal_blocks(dynamic, 5)
        self.reduce = nn.Linear(CHANNELS * length, width)
        self.static_dropout = nn.Dropout(0.5)
        self.mix = nn.Linear(width + channels - dynamic, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Embed a batch.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            The batch.

        Returns
        -------
        Tensor of shape (n, embedding_dim)

        Examples
        --------
        >>> TCNEncoder((2, 9), 8).forward(torch.zeros(3, 2, 9)).shape
        torch.Size([3, 8])
        """
        static = x[:, :0, -1]
        if (at := self.static_channel) is not None:
            static = self.static_dropout(x[:, at : at + 1, -1])
        h = self.reduce(self.feature_maps(x).flatten(1))
        return self.norm(self.mix(torch.cat([h, static], dim=1)))

    def feature_maps(self, x: Tensor) -> Tensor:
        """Output of the causal blocks before time is flattened.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            The batch.

        Returns
        -------
        Tensor of shape (n, 64, time)

        Examples
        --------
        >>> TCNEncoder((2, 9), 8).feature_maps(torch.zeros(3, 2, 9)).shape
        torch.Size([3, 64, 9])
        """
        if (at := self.static_channel) is not None:
            x = torch.cat([x[:, :at], x[:, at + 1 :]], dim=1)
        return self.blocks(x)


def tcn_encoder(input_shape: Sequence[int], embedding_dim: int | None = None) -> nn.Module:
    """Build the encoder of the MIMIC-III recipe: the first of several channels is static.

    Examples
    --------
    >>> tcn_encoder((42, 48)).static_channel
    0
    """
    return TCNEncoder(input_shape, embedding_dim, static_channel=0 if input_shape[0] > 1 else None)


def tcn_projector(input_shape: Sequence[int], output_dim: int) -> nn.Module:
    """Three causal blocks over all channels, flattened, then a linear layer.

    Examples
    --------
    >>> tcn_projector((2, 7), 5)(torch.zeros(3, 2, 7)).shape
    torch.Size([3, 5])
    """
    channels, length = input_shape
    return nn.Sequential(
        causal_blocks(channels, 3), nn.Flatten(), nn.Linear(CHANNELS * length, output_dim)
    )
