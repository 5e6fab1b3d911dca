"""The small convolutional network that serves as projector of images."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from aleator.networks.shapes import output_width


def image_projector(input_shape: Sequence[int], output_dim: int, *, pairs: int = 2) -> nn.Module:
    """Pairs of 3 × 3 convolutions, each pair followed by max-pooling, then a linear layer.

    Parameters
    ----------
    input_shape : sequence of int
        Channels, height and width.
    output_dim : int
        Width of the output.
    pairs : int, default=2
        Pairs of convolutions: two are the paper's four-layer CNN, three the Kvasir variant of the
        authors' program.

    Returns
    -------
    torch.nn.Sequential

    Examples
    --------
    >>> output_width(image_projector((3, 80, 100), 16), (3, 80, 100))
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
    width = output_width(nn.Sequential(*layers), input_shape)
    return nn.Sequential(*layers, nn.Linear(width, output_dim))
