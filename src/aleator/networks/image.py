"""Networks for images: ResNet-18 (He et al. 2016) and the small CNN that serves as projector."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from aleator.networks.shapes import flat_width

# Images up to this many pixels a side get the stem that keeps their resolution.
_SMALL_SIDE = 64
_PAPER_EMBEDDING = 2048


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions and a shortcut.

    The second normalisation starts at zero, so a new block passes its input through.

    >>> ResidualBlock(4, 8, stride=2)(torch.zeros(1, 4, 6, 6)).shape
    torch.Size([1, 8, 3, 3])
    """

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride, bias=False),
                nn.BatchNorm2d(channels_out),
            )
        nn.init.zeros_(self.norm2.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Residual branch plus shortcut."""
        h = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(h)) + self.shortcut(x))


def resnet18(
    input_shape: Sequence[int], embedding_dim: int | None = None, *, stem: str = "auto"
) -> nn.Module:
    """ResNet-18 with a linear layer to the embedding, which is normalised over the batch.

    `stem`: `"small"` keeps the resolution (CIFAR's variant), `"large"` quarters it, `"auto"` takes
    the small one for images of at most 64 pixels a side.

    >>> flat_width(resnet18((1, 8, 8), 32), (1, 8, 8))
    32
    """
    channels, height, width = input_shape
    if stem == "auto":
        stem = "small" if max(height, width) <= _SMALL_SIDE else "large"
    if stem == "small":
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


def cnn_projector(input_shape: Sequence[int], output_dim: int, *, pairs: int = 2) -> nn.Module:
    """Pairs of 3 × 3 convolutions, each pair followed by max-pooling, then a linear layer.

    Two pairs are the paper's four-layer CNN, three its program's Kvasir variant.

    >>> flat_width(cnn_projector((3, 80, 100), 16), (3, 80, 100))
    16
    """
    channels = [(8, 16), (32, 32), (32, 32)][:pairs]
    before, *sides = input_shape
    layers: list[nn.Module] = []
    for first, second in channels:
        pool = [2 if side > 1 else 1 for side in sides]
        layers += [nn.Conv2d(before, first, 3, padding=1), nn.ReLU()]
        layers += [nn.Conv2d(first, second, 3, padding=1), nn.ReLU()]
        layers += [nn.MaxPool2d((pool[0], pool[1]))]
        sides = [side // step for side, step in zip(sides, pool, strict=True)]
        before = second
    layers.append(nn.Flatten())
    width = flat_width(nn.Sequential(*layers), input_shape)
    return nn.Sequential(*layers, nn.Linear(width, output_dim))
