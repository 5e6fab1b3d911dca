"""Decoders: the encoders of appendix C in reverse, from an embedding to a sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from aleator.networks.cnn1d import block_lengths
from aleator.networks.mlp import mlp
from aleator.networks.resnet import ResidualBlock, resolve_stem
from aleator.networks.tcn import CHANNELS, causal_blocks


def mlp_decoder(embedding_dim: int, output_shape: Sequence[int]) -> nn.Module:
    """Four linear layers, as in the encoder of tables.

    Examples
    --------
    >>> import torch
    >>> mlp_decoder(8, (2, 5))(torch.zeros(3, 8)).shape
    torch.Size([3, 2, 5])
    """
    network = mlp((embedding_dim,), math.prod(output_shape), layers=4)
    return nn.Sequential(network, nn.Unflatten(1, tuple(output_shape)))


def cnn_decoder(embedding_dim: int, output_shape: Sequence[int]) -> nn.Module:
    """Three convolutional blocks of 128, 64 and 32 channels, each with more time steps.

    A linear layer comes first if the embedding is not the encoder's flattened output.

    Examples
    --------
    >>> import torch
    >>> cnn_decoder(2304, (9, 128))(torch.zeros(2, 2304)).shape
    torch.Size([2, 9, 128])
    >>> cnn_decoder(16, (1, 1))(torch.zeros(2, 16)).shape
    torch.Size([2, 1, 1])
    """
    channels, length = output_shape
    shortest, *lengths = reversed(block_lengths(length))
    parts: list[nn.Module] = []
    if embedding_dim != 128 * shortest:
        parts.append(nn.Linear(embedding_dim, 128 * shortest))
    parts.append(nn.Unflatten(1, (128, 1, shortest)))
    # Without normalization, which would make the loss independent of the scale of the embedding:
    # weight decay would then shrink the embedding to zero.
    for (before, after), size in zip(pairwise([128, 64, 32, 32]), lengths, strict=True):
        parts += [
            nn.Upsample(size=(1, size)),
            nn.Conv2d(before, after, kernel_size=(1, 7), padding=(0, 3)),
            nn.ReLU(),
        ]
    # The last two axes, of which one is the height of one, become time.
    return nn.Sequential(*parts, nn.Conv2d(32, channels, kernel_size=1), nn.Flatten(2))


def transposed_cnn_decoder(embedding_dim: int, output_shape: Sequence[int]) -> nn.Module:
    """Build a bottleneck of 256, two transposed convolutions and a linear layer to all values.

    The parts are those of the decoder of series in the LFR authors' program; the paper does not
    describe it, and widths and kernels of the convolutions are our own.

    Examples
    --------
    >>> import torch
    >>> transposed_cnn_decoder(2304, (9, 128))(torch.zeros(2, 2304)).shape
    torch.Size([2, 9, 128])
    """
    return nn.Sequential(
        nn.Linear(embedding_dim, 256),
        nn.Unflatten(1, (32, 1, 8)),
        nn.ConvTranspose2d(32, 32, (1, 4), (1, 2), padding=(0, 1)),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 16, (1, 4), (1, 2), padding=(0, 1)),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 32, math.prod(output_shape)),
        nn.Unflatten(1, tuple(output_shape)),
    )


class TCNDecoder(nn.Module):
    """A linear layer to all time steps, five causal blocks, and a linear layer to the channels.

    Examples
    --------
    >>> import torch
    >>> TCNDecoder(64, (42, 48))(torch.zeros(2, 64)).shape
    torch.Size([2, 42, 48])
    """

    def __init__(self, embedding_dim: int, output_shape: Sequence[int]) -> None:
        super().__init__()
        channels, length = output_shape
        self.expand = nn.Linear(embedding_dim, CHANNELS * length)
        self.unflatten = nn.Unflatten(1, (CHANNELS, length))
        self.blocks = causal_blocks(CHANNELS, 5)
        self.output = nn.Conv1d(CHANNELS, channels, kernel_size=1)

    def forward(self, z: Tensor) -> Tensor:
        """Decode `n × embedding_dim`."""
        return self.output(self.blocks(self.unflatten(self.expand(z))))


def resnet_decoder(
    embedding_dim: int, output_shape: Sequence[int], *, stem: str = "auto"
) -> nn.Module:
    """Build the stages of ResNet-18 in reverse: 512, 256, 128 and 64 channels.

    Examples
    --------
    >>> import torch
    >>> resnet_decoder(32, (3, 12, 10))(torch.zeros(2, 32)).shape
    torch.Size([2, 3, 12, 10])
    """
    channels, *sides = output_shape
    # Sizes after each halving of the encoder: three, and two more in the stem of large images.
    sizes = [tuple(sides)]
    for _ in range(3 if resolve_stem(stem, sides) == "small" else 5):
        sizes.append(tuple(math.ceil(side / 2) for side in sizes[-1]))
    smallest, *larger = reversed(sizes)
    parts: list[nn.Module] = [
        nn.Linear(embedding_dim, 512 * math.prod(smallest)),
        nn.Unflatten(1, (512, *smallest)),
        ResidualBlock(512, 512, stride=1),
    ]
    widths = [512, 256, 128, 64, 64, 64][: len(sizes)]
    for (before, after), size in zip(pairwise(widths), larger, strict=True):
        parts += [nn.Upsample(size=size), ResidualBlock(before, after, stride=1)]
    return nn.Sequential(*parts, nn.Conv2d(64, channels, 3, padding=1))
