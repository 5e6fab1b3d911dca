"""What a network makes of an input, found by asking it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def flat_width(network: nn.Module, input_shape: Sequence[int]) -> int:
    """Numbers per sample that `network` puts out for samples of `input_shape`.

    Runs on two samples of zeros in evaluation mode, so it draws no random numbers and leaves the
    network as it was.

    >>> flat_width(nn.Conv1d(3, 4, kernel_size=2), (3, 6))
    20
    """
    device = next(network.parameters(), torch.empty(0)).device
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        with torch.no_grad():
            return as_rows(network(torch.zeros(2, *input_shape, device=device))).shape[1]
    finally:
        for module, training in modes:
            module.training = training


def as_rows(output: Tensor) -> Tensor:
    """A network's output as one row a sample.

    >>> as_rows(torch.zeros(5, 2, 3)).shape
    torch.Size([5, 6])
    """
    if not isinstance(output, Tensor):
        raise ValueError(
            f"a network must return one tensor, not {type(output).__name__}: "
            "wrap it in a module that picks the output you want"
        )
    if output.ndim == 0:
        raise ValueError("a network must return one row a sample; this one returned one number")
    return output.flatten(1) if output.ndim != 1 else output[:, None]


def feature_maps(encoder: nn.Module, rows: Tensor) -> Tensor:
    """What an encoder of series makes of `rows` before it flattens time: n × channels × time.

    A module of its own make may have a method of this name; a chain of layers is run up to its
    first `Flatten`; any other module is run as a whole.

    >>> layers = nn.Sequential(nn.Conv1d(2, 4, kernel_size=3), nn.Flatten())
    >>> feature_maps(layers, torch.zeros(5, 2, 9)).shape
    torch.Size([5, 4, 7])
    """
    if callable(own := getattr(encoder, "feature_maps", None)):
        return own(rows)
    if not isinstance(encoder, nn.Sequential):
        return encoder(rows)
    for layer in encoder:
        if isinstance(layer, nn.Flatten):
            break
        rows = layer(rows)
    return rows.flatten(2) if rows.ndim > 3 else rows
