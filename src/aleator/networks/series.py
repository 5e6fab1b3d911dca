"""One-dimensional convolutional networks for time series (appendix C; Wang et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from aleator.networks.shapes import flat_width

# A flattened embedding grows with the series; beyond this width, predictors from it to targets of
# the same width would not fit anywhere, and a linear layer brings it down.
WIDEST_FLAT_EMBEDDING = 4096
_REDUCED_EMBEDDING = 2048


class AsImages(nn.Module):
    """Series as images of height one.

    The layers that follow are one-dimensional convolutions written as two-dimensional ones: only
    for those do GPU libraries have kernels with channels last, several times faster here.
    """

    def forward(self, x: Tensor) -> Tensor:
        """`n × channels × time` to `n × channels × 1 × time`."""
        return x.unsqueeze(2)


def _block(channels_in: int, channels_out: int, *, norm: bool) -> list[nn.Module]:
    return [
        nn.Conv2d(channels_in, channels_out, kernel_size=(1, 8), padding=(0, 4), bias=False),
        *([nn.BatchNorm2d(channels_out)] if norm else []),
        nn.ReLU(),
        nn.MaxPool2d(kernel_size=(1, 2), stride=(1, 2), padding=(0, 1)),
    ]


def block_lengths(length: int, blocks: int = 3) -> list[int]:
    """Time steps before the first block and after each.

    >>> block_lengths(128)
    [128, 65, 34, 18]
    """
    lengths = [length]
    for _ in range(blocks):
        lengths.append((lengths[-1] + 1) // 2 + 1)
    return lengths


def cnn_encoder(input_shape: Sequence[int], embedding_dim: int | None = None) -> nn.Module:
    """Three convolutional blocks, flattened; a linear layer only where another width is asked for.

    >>> flat_width(cnn_encoder((9, 128)), (9, 128))
    2304
    >>> flat_width(cnn_encoder((1, 5000), embedding_dim=64), (1, 5000))
    64
    """
    layers = [
        AsImages(),
        *_block(input_shape[0], 32, norm=True),
        nn.Dropout(0.35),
        *_block(32, 64, norm=True),
        *_block(64, 128, norm=True),
        nn.Flatten(),
    ]
    width = flat_width(nn.Sequential(*layers), input_shape)
    if embedding_dim is None:
        embedding_dim = width if width <= WIDEST_FLAT_EMBEDDING else _REDUCED_EMBEDDING
    if embedding_dim != width:
        layers.append(nn.Linear(width, embedding_dim))
    return nn.Sequential(*layers)


def cnn_projector(input_shape: Sequence[int], output_dim: int) -> nn.Module:
    """Two convolutional blocks and two linear layers with nothing between them.

    >>> flat_width(cnn_projector((3, 50), 16), (3, 50))
    16
    """
    layers = [
        AsImages(),
        *_block(input_shape[0], 16, norm=False),
        *_block(16, 32, norm=False),
        nn.Flatten(),
    ]
    width = flat_width(nn.Sequential(*layers), input_shape)
    return nn.Sequential(*layers, nn.Linear(width, 256), nn.Linear(256, output_dim))
