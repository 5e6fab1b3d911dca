"""Convolutional networks for series of different lengths and with gaps.

Convolutions see a series that is filled (see `fill_gaps`), beside channels that say what was
observed. After every layer, steps after the end of a series are set to zero, and time is pooled up
to the end, so that an embedding does not depend on what follows. Layers are normalized over the
channels of a step: statistics of a batch would depend on its lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.networks.observed import fill_gaps, within

_ENCODER_CHANNELS = (32, 64, 128)
_PROJECTOR_CHANNELS = (16, 32)
_KERNEL = 9


class IrregularCNN(nn.Module):
    """Convolutional blocks, each of which halves time, and mean and maximum over the rest.

    Parameters
    ----------
    in_channels : int
        Channels of the series.
    widths : sequence of int
        Channels of the output of every block.
    output_dim : int or None, default=None
        Width of the output; a linear layer is added if it is not twice the last of `widths`.

    Examples
    --------
    >>> network = IrregularCNN(3, (8, 16))
    >>> series = torch.randn(2, 3, 30)
    >>> series[0, :, 20:] = torch.nan
    >>> network(series).shape, bool(network(series).isnan().any())
    (torch.Size([2, 32]), False)
    """

    def __init__(
        self, in_channels: int, widths: Sequence[int], output_dim: int | None = None
    ) -> None:
        super().__init__()
        sizes = list(pairwise([2 * in_channels, *widths]))
        self.convolutions = nn.ModuleList(
            nn.Conv1d(before, after, _KERNEL, padding=_KERNEL // 2, bias=False)
            for before, after in sizes
        )
        self.norms = nn.ModuleList(nn.LayerNorm(after) for _, after in sizes)
        width = 2 * widths[-1]
        self.output = nn.Identity() if output_dim in (None, width) else nn.Linear(width, output_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Embed series.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            Series; NaN where nothing was observed.

        Returns
        -------
        Tensor of shape (n, output_dim)
        """
        filled, lengths = fill_gaps(x)
        h = torch.cat([filled, (~x.isnan()).to(x.dtype)], 1)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            h = torch.relu(norm(convolution(h).transpose(1, 2)).transpose(1, 2))
            h = h * within(lengths, h.shape[-1])[:, None]
            # What follows the end is zero, which is never above the output of a ReLU.
            h = F.max_pool1d(h, 2, ceil_mode=True)
            lengths = (lengths + 1) // 2
        mean = h.sum(-1) / lengths[:, None]
        return self.output(torch.cat([mean, h.amax(-1)], 1))


def irregular_cnn_encoder(
    input_shape: Sequence[int], embedding_dim: int | None = None
) -> IrregularCNN:
    """Build three blocks of 32, 64 and 128 channels.

    Examples
    --------
    >>> irregular_cnn_encoder((2, 9))(torch.zeros(1, 2, 9)).shape
    torch.Size([1, 256])
    """
    return IrregularCNN(input_shape[0], _ENCODER_CHANNELS, embedding_dim)


def irregular_cnn_projector(input_shape: Sequence[int], output_dim: int) -> nn.Module:
    """Build two blocks of 16 and 32 channels, and a linear layer.

    Examples
    --------
    >>> irregular_cnn_projector((2, 9), 5)(torch.zeros(1, 2, 9)).shape
    torch.Size([1, 5])
    """
    network = IrregularCNN(input_shape[0], _PROJECTOR_CHANNELS)
    return nn.Sequential(network, nn.Linear(2 * _PROJECTOR_CHANNELS[-1], output_dim))
