"""Projection heads: layers between the embedding and the loss of methods that compare views."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

NORMS = ("none", "hidden", "end", "both")


@dataclass(frozen=True)
class HeadShape:
    """Architecture of a projection head.

    Parameters
    ----------
    layers : int
        Number of linear layers.
    hidden : int
        Width of all layers but the last.
    norm : {"none", "hidden", "end", "both"}, default="none"
        Where batches are normalized.
    """

    layers: int
    hidden: int
    norm: str = "none"


def projection_head(input_dim: int, shape: HeadShape, output_dim: int) -> nn.Module:
    """Build a ReLU network whose hidden layers all have the same width.

    Parameters
    ----------
    input_dim : int
        Width of the embedding.
    shape : HeadShape
        Layers, width and normalization.
    output_dim : int
        Width of the output.

    Returns
    -------
    torch.nn.Sequential

    Examples
    --------
    >>> head = projection_head(64, HeadShape(layers=3, hidden=512, norm="hidden"), 64)
    >>> [type(layer).__name__ for layer in head[:4]]
    ['Linear', 'BatchNorm1d', 'ReLU', 'Linear']
    >>> head[-1].in_features, head[-1].out_features
    (512, 64)
    """
    parts: list[nn.Module] = []
    width = input_dim
    for _ in range(shape.layers - 1):
        parts.append(nn.Linear(width, shape.hidden))
        if shape.norm in ("hidden", "both"):
            parts.append(nn.BatchNorm1d(shape.hidden))
        parts.append(nn.ReLU())
        width = shape.hidden
    parts.append(nn.Linear(width, output_dim))
    if shape.norm in ("end", "both"):
        parts.append(nn.BatchNorm1d(output_dim, affine=False))
    return nn.Sequential(*parts)
