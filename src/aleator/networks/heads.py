"""Projection heads: what siamese methods put between the embedding and their loss."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

NORMS = ("none", "hidden", "end", "both")


@dataclass(frozen=True)
class HeadShape:
    """Layers, their width, and where batches are normalised (one of `NORMS`)."""

    layers: int
    hidden: int
    norm: str = "none"


# Appendix C. The paper says of series alone that their heads are normalised; those of images
# follow SimSiam's, from which they are taken.
HEADS = {
    "table": HeadShape(layers=2, hidden=256, norm="none"),
    "series": HeadShape(layers=3, hidden=512, norm="hidden"),
    "image": HeadShape(layers=3, hidden=256, norm="hidden"),
}


def projection_head(input_dim: int, shape: HeadShape) -> nn.Module:
    """A ReLU network as wide at its end as within.

    >>> head = projection_head(64, HEADS["series"])
    >>> [type(layer).__name__ for layer in head[:4]]
    ['Linear', 'BatchNorm1d', 'ReLU', 'Linear']
    >>> head[-1].out_features
    512
    """
    parts: list[nn.Module] = []
    width = input_dim
    for _ in range(shape.layers - 1):
        parts.append(nn.Linear(width, shape.hidden))
        if shape.norm in ("hidden", "both"):
            parts.append(nn.BatchNorm1d(shape.hidden))
        parts.append(nn.ReLU())
        width = shape.hidden
    parts.append(nn.Linear(width, shape.hidden))
    if shape.norm in ("end", "both"):
        parts.append(nn.BatchNorm1d(shape.hidden, affine=False))
    return nn.Sequential(*parts)
