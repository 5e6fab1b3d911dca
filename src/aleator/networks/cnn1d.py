"""One-dimensional convolutional networks for time series (appendix C; Wang et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

from aleator.networks.shapes import output_width

_ENCODER_CHANNELS = (32, 64, 128)
_PROJECTOR_CHANNELS = (16, 32)
_KERNEL = 8
# The first convolution of long series, as in the settings of TS-TCC for Fault Diagnosis.
_LONG_KERNEL, _LONG_STRIDE = 32, 4

# A flattened embedding grows with the length of the series. Predictors from a wider one to targets
# of the same width would not fit in memory, so it is reduced.
WIDEST_FLAT_EMBEDDING = 4096
_REDUCED_EMBEDDING = 2048
_POOLED_STEPS = 8


class AsImages(nn.Module):
    """Reshape series to images of height one.

    The layers that follow are one-dimensional convolutions written as two-dimensional ones: only
    for those do GPU libraries have channels-last kernels, which are several times faster here.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Reshape (n, channels, time) to (n, channels, 1, time)."""
        return x.unsqueeze(2)


def _block(
    in_channels: int, out_channels: int, *, norm: bool, kernel: int = _KERNEL, stride: int = 1
) -> list[nn.Module]:
    return [
        nn.Conv2d(
            in_channels,
            out_channels,
            (1, kernel),
            (1, stride),
            padding=(0, kernel // 2),
            bias=False,
        ),
        *([nn.BatchNorm2d(out_channels)] if norm else []),
        # In place, since long series would need gigabytes for one more copy of every activation.
        nn.ReLU(inplace=True),
        nn.MaxPool2d(kernel_size=(1, 2), stride=(1, 2), padding=(0, 1)),
    ]


def block_lengths(length: int, blocks: int = 3) -> list[int]:
    """Return the number of time steps before the first block and after each.

    Parameters
    ----------
    length : int
        Time steps of the input.
    blocks : int, default=3
        Number of blocks.

    Returns
    -------
    list of int

    Examples
    --------
    >>> block_lengths(128)
    [128, 65, 34, 18]
    """
    lengths = [length]
    for _ in range(blocks):
        lengths.append((lengths[-1] + 1) // 2 + 1)
    return lengths


def flat_embedding_width(length: int) -> int:
    """Width of the flattened output of `cnn_encoder` for series of `length` time steps.

    Parameters
    ----------
    length : int
        Time steps of the input.

    Returns
    -------
    int

    Examples
    --------
    >>> flat_embedding_width(128)
    2304
    """
    return _ENCODER_CHANNELS[-1] * block_lengths(length)[-1]


def cnn_encoder(
    input_shape: Sequence[int],
    embedding_dim: int | None = None,
    *,
    pooled: bool = False,
    strided: bool = False,
) -> nn.Module:
    """Three convolutional blocks, flattened.

    Parameters
    ----------
    input_shape : sequence of int
        Channels and time steps.
    embedding_dim : int, default=None
        Width of the embedding; a linear layer is added if it is not the flattened width. None is
        the flattened width up to 4096, and 2048 above.
    pooled : bool, default=False
        Average time to at most 8 steps before flattening, so that the width does not grow with
        the length of the series.
    strided : bool, default=False
        Make the first convolution 32 steps wide, with a stride of 4, as TS-TCC does for series of
        5120 steps.

    Returns
    -------
    torch.nn.Module

    Examples
    --------
    >>> output_width(cnn_encoder((9, 128)), (9, 128))
    2304
    >>> output_width(cnn_encoder((1, 5000), pooled=True), (1, 5000))
    1024
    """
    first, second, third = _ENCODER_CHANNELS
    kernel, stride = (_LONG_KERNEL, _LONG_STRIDE) if strided else (_KERNEL, 1)
    layers = [
        AsImages(),
        *_block(input_shape[0], first, norm=True, kernel=kernel, stride=stride),
        nn.Dropout(0.35),
        *_block(first, second, norm=True),
        *_block(second, third, norm=True),
    ]
    if pooled:
        window = math.ceil(block_lengths(input_shape[1])[-1] / _POOLED_STEPS)
        layers.append(nn.AvgPool2d(kernel_size=(1, window), ceil_mode=True))
    layers.append(nn.Flatten())
    width = output_width(nn.Sequential(*layers), input_shape)
    if embedding_dim is None:
        embedding_dim = width if width <= WIDEST_FLAT_EMBEDDING else _REDUCED_EMBEDDING
    if embedding_dim != width:
        layers.append(nn.Linear(width, embedding_dim))
    return nn.Sequential(*layers)


def cnn_projector(input_shape: Sequence[int], output_dim: int) -> nn.Module:
    """Two convolutional blocks and two linear layers without an activation between them.

    Parameters
    ----------
    input_shape : sequence of int
        Channels and time steps.
    output_dim : int
        Width of the output.

    Returns
    -------
    torch.nn.Module

    Examples
    --------
    >>> output_width(cnn_projector((3, 50), 16), (3, 50))
    16
    """
    first, second = _PROJECTOR_CHANNELS
    layers = [
        AsImages(),
        *_block(input_shape[0], first, norm=False),
        *_block(first, second, norm=False),
        nn.Flatten(),
    ]
    width = output_width(nn.Sequential(*layers), input_shape)
    return nn.Sequential(*layers, nn.Linear(width, 256), nn.Linear(256, output_dim))
