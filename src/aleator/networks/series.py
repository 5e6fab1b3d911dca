"""One-dimensional convolutional networks for time series (appendix C; Wang et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from aleator.networks.shapes import flat_width

# A flattened embedding grows with the series; beyond this width, predictors from it to targets of
# the same width would not fit anywhere, and a linear layer brings it down.
WIDEST_FLAT_EMBEDDING = 4096
_REDUCED_EMBEDDING = 2048


def _block(channels_in: int, channels_out: int, *, bias: bool, norm: bool) -> list[nn.Module]:
    return [
        nn.Conv1d(channels_in, channels_out, kernel_size=8, padding=4, bias=bias),
        *([nn.BatchNorm1d(channels_out)] if norm else []),
        nn.ReLU(),
        nn.MaxPool1d(kernel_size=2, stride=2, padding=1),
    ]


def cnn_encoder(input_shape: Sequence[int], embedding_dim: int | None = None) -> nn.Module:
    """Three convolutional blocks, flattened; a linear layer only where another width is asked for.

    >>> flat_width(cnn_encoder((9, 128)), (9, 128))
    2304
    >>> flat_width(cnn_encoder((1, 5000), embedding_dim=64), (1, 5000))
    64
    """
    layers = [
        *_block(input_shape[0], 32, bias=False, norm=True),
        nn.Dropout(0.35),
        *_block(32, 64, bias=False, norm=True),
        *_block(64, 128, bias=False, norm=True),
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
        *_block(input_shape[0], 16, bias=False, norm=False),
        *_block(16, 32, bias=False, norm=False),
        nn.Flatten(),
    ]
    width = flat_width(nn.Sequential(*layers), input_shape)
    return nn.Sequential(*layers, nn.Linear(width, 256), nn.Linear(256, output_dim))
