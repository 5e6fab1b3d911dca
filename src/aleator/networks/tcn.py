"""Temporal convolutional networks for monitoring data (the MIMIC-III recipe; Yèche et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CHANNELS = 64


class CausalBlock(nn.Module):
    """Two causal convolutions with layer norm over channels, around a residual connection.

    >>> CausalBlock(3, 8, dilation=2)(torch.zeros(5, 3, 10)).shape
    torch.Size([5, 8, 10])
    """

    def __init__(self, channels_in: int, channels_out: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.convolutions = nn.ModuleList(
            nn.Conv1d(channels, channels_out, kernel_size=2, dilation=dilation)
            for channels in (channels_in, channels_out)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(channels_out) for _ in range(2))
        self.shortcut: nn.Module = nn.Identity()
        if channels_in != channels_out:
            self.shortcut = nn.Conv1d(channels_in, channels_out, kernel_size=1)
        for module in self.modules():
            if isinstance(module, nn.Conv1d):
                nn.init.normal_(module.weight, std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        """Each step sees itself and what came before it."""
        h = x
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            h = convolution(F.pad(h, (self.dilation, 0)))
            h = torch.relu(norm(h.transpose(1, 2)).transpose(1, 2))
        return torch.relu(h + self.shortcut(x))


def causal_blocks(channels_in: int, count: int) -> nn.Sequential:
    """`count` causal blocks, each looking back twice as far as the one before.

    >>> causal_blocks(3, 2)(torch.zeros(1, 3, 9)).shape
    torch.Size([1, 64, 9])
    """
    widths = [channels_in, *[CHANNELS] * count]
    return nn.Sequential(
        *(CausalBlock(widths[i], widths[i + 1], dilation=2**i) for i in range(count))
    )


class TCNEncoder(nn.Module):
    """Five causal blocks, flattened, then a linear layer.

    `static_channel` names a channel that holds one value a sample (an age, say; the value of its
    last step is taken). It by-passes the convolutions and joins before the last linear layer.

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
        moving = channels if static_channel is None else channels - 1
        if moving < 1:
            raise ValueError("a TCN needs at least one channel besides the static one")
        self.blocks = causal_blocks(moving, 5)
        self.reduce = nn.Linear(CHANNELS * length, width)
        self.static_dropout = nn.Dropout(0.5)
        self.mix = nn.Linear(width + channels - moving, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Embed `n × channels × time`."""
        static = x[:, :0, -1]
        if (at := self.static_channel) is not None:
            static = self.static_dropout(x[:, at : at + 1, -1])
        h = self.reduce(self.feature_maps(x).flatten(1))
        return self.norm(self.mix(torch.cat([h, static], dim=1)))

    def feature_maps(self, x: Tensor) -> Tensor:
        """What the moving channels look like along time, before it is flattened."""
        if (at := self.static_channel) is not None:
            x = torch.cat([x[:, :at], x[:, at + 1 :]], dim=1)
        return self.blocks(x)


def tcn_encoder(input_shape: Sequence[int], embedding_dim: int | None = None) -> nn.Module:
    """The MIMIC-III recipe's encoder: the first channel is static (if there are others).

    >>> tcn_encoder((42, 48)).static_channel
    0
    """
    return TCNEncoder(input_shape, embedding_dim, static_channel=0 if input_shape[0] > 1 else None)


def tcn_projector(input_shape: Sequence[int], output_dim: int) -> nn.Module:
    """Three causal blocks over all channels, flattened, then a linear layer.

    >>> tcn_projector((2, 7), 5)(torch.zeros(3, 2, 7)).shape
    torch.Size([3, 5])
    """
    channels, length = input_shape
    return nn.Sequential(
        causal_blocks(channels, 3), nn.Flatten(), nn.Linear(CHANNELS * length, output_dim)
    )
