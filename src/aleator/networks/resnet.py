"""ResNet-18 for images (He et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

# Images up to this many pixels per side get the stem that keeps their resolution.
_SMALL_SIDE = 64
_PAPER_EMBEDDING = 2048


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions and a shortcut.

    The second normalization starts at zero, so that a new block passes its input through.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_channels : int
        Channels of the output.
    stride : int
        Stride of the first convolution.

    Examples
    --------
    >>> ResidualBlock(4, 8, stride=2)(torch.zeros(1, 4, 6, 6)).shape
    torch.Size([1, 8, 3, 3])
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out_channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, 1, stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )
        nn.init.zeros_(self.norm2.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Add the residual branch to the shortcut.

        Parameters
        ----------
        x : Tensor of shape (n, in_channels, height, width)
            Input.

        Returns
        -------
        Tensor of shape (n, out_channels, height / stride, width / stride)

        Examples
        --------
        >>> ResidualBlock(2, 2, stride=1).forward(torch.zeros(1, 2, 4, 4)).shape
        torch.Size([1, 2, 4, 4])
        """
        h = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(h)) + self.shortcut(x))


def resolve_stem(stem: str, sides: Sequence[int]) -> str:
    """Resolve ``stem="auto"``: "small" for images of at most 64 pixels per side, else "large".

    Parameters
    ----------
    stem : {"auto", "small", "large"}
        The choice.
    sides : sequence of int
        Height and width.

    Returns
    -------
    {"small", "large"}

    Examples
    --------
    >>> resolve_stem("auto", (32, 32)), resolve_stem("auto", (80, 100))
    ('small', 'large')
    """
    if stem != "auto":
        return stem
    return "small" if max(sides) <= _SMALL_SIDE else "large"


def resnet18(
    input_shape: Sequence[int], embedding_dim: int | None = None, *, stem: str = "auto"
) -> nn.Module:
    """ResNet-18 with a linear layer to the embedding, which is normalized over the batch.

    Parameters
    ----------
    input_shape : sequence of int
        Channels, height and width.
    embedding_dim : int, default=None
        Width of the embedding; None is 2048.
    stem : {"auto", "small", "large"}, default="auto"
        "small" keeps the resolution (the variant for CIFAR), "large" divides it by four, "auto" is
        "small" for images of at most 64 pixels per side.

    Returns
    -------
    torch.nn.Sequential

    Examples
    --------
    >>> resnet18((1, 8, 8), 32)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 32])
    """
    channels, *sides = input_shape
    if resolve_stem(stem, sides) == "small":
        first: list[nn.Module] = [nn.Conv2d(channels, 64, 3, padding=1, bias=False)]
        pool: list[nn.Module] = []
    else:
        first = [nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)]
        pool = [nn.MaxPool2d(3, stride=2, padding=1)]
    blocks = [
        ResidualBlock(before, after, stride)
        for before, after, stride in [
            (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1),
            (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1),
        ]
    ]  # fmt: skip
    embedding_dim = _PAPER_EMBEDDING if embedding_dim is None else embedding_dim
    network = nn.Sequential(
        *first,
        nn.BatchNorm2d(64),
        nn.ReLU(),
        *pool,
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, embedding_dim),
        nn.BatchNorm1d(embedding_dim, affine=False),
    )
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network
