"""Multilayer perceptrons: encoder and projectors of tables, predictors of every modality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def mlp(
    input_shape: Sequence[int], output_dim: int, *, layers: int, hidden: int = 256
) -> nn.Module:
    """Build a ReLU network of linear layers.

    Parameters
    ----------
    input_shape : sequence of int
        Shape of a sample, which is flattened.
    output_dim : int
        Width of the output.
    layers : int
        Number of linear layers.
    hidden : int, default=256
        Width of the hidden layers.

    Returns
    -------
    torch.nn.Sequential

    Examples
    --------
    >>> mlp((10,), 8, layers=2, hidden=16)
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): Linear(in_features=10, out_features=16, bias=True)
      (2): ReLU()
      (3): Linear(in_features=16, out_features=8, bias=True)
    )
    """
    widths = [math.prod(input_shape), *[hidden] * (layers - 1), output_dim]
    parts: list[nn.Module] = [nn.Flatten()]
    for before, after in pairwise(widths):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def mlp_encoder(
    input_shape: Sequence[int], embedding_dim: int | None = None, *, ends_hidden: bool = False
) -> nn.Module:
    """Four linear layers: the paper's encoder of tables.

    Parameters
    ----------
    input_shape : sequence of int
        Shape of a sample, which is flattened.
    embedding_dim : int, default=None
        Width of the embedding; None is 256.
    ends_hidden : bool, default=False
        End with the third layer and its ReLU. A classifier on top makes a network of four layers,
        whose last one returns the classes.

    Returns
    -------
    torch.nn.Sequential

    Examples
    --------
    >>> mlp_encoder((10,), 8)[-1]
    Linear(in_features=256, out_features=8, bias=True)
    >>> mlp_encoder((10,), 8, ends_hidden=True)[-1]
    ReLU()
    """
    width = 256 if embedding_dim is None else embedding_dim
    if ends_hidden:
        return nn.Sequential(*mlp(input_shape, width, layers=3).children(), nn.ReLU())
    return mlp(input_shape, width, layers=4)


def mlp_predictor(
    input_dim: int, output_dim: int, *, layers: int = 2, hidden: int = 256
) -> nn.Module:
    """Build a predictor of linear layers with batch normalization between them.

    Parameters
    ----------
    input_dim : int
        Width of the input.
    output_dim : int
        Width of the output.
    layers : int, default=2
        Number of linear layers.
    hidden : int, default=256
        Width of the hidden layers.

    Returns
    -------
    torch.nn.Sequential

    Examples
    --------
    >>> [type(layer).__name__ for layer in mlp_predictor(64, 64)]
    ['Linear', 'BatchNorm1d', 'ReLU', 'Linear']
    """
    parts: list[nn.Module] = []
    width = input_dim
    for _ in range(layers - 1):
        # The normalization that follows has a bias of its own.
        parts += [nn.Linear(width, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU()]
        width = hidden
    return nn.Sequential(*parts, nn.Linear(width, output_dim))
