"""Sums of random functions of a few columns, each a function of one column.

Sparse random projections (Achlioptas 2003; Li, Hastie and Church 2006), where a category of a table
counts as one column: its indicators get a random number each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from aleator.projectors.drawn import DrawnModule

_COLUMNS_PER_SUM = 4
# Values further from the mean, in standard deviations, count as so far: a sum has no other bound.
_FURTHEST = 5.0
_TINY = 1e-6


class RandomSums(DrawnModule):
    """Random linear functions of a few columns of a table, added up.

    Parameters
    ----------
    lowest, highest : Tensor of shape (columns,), default=None
        Values below and above these are replaced by them.
    weight : Tensor of shape (columns, k), default=None
        What rows are multiplied by; most of it is zero.

    Examples
    --------
    >>> sums = RandomSums(torch.zeros(2), torch.full((2,), 4.0), torch.tensor([[1.0], [-1.0]]))
    >>> sums(torch.tensor([[5.0, 3.0]])).tolist()
    [[1.0]]
    """

    lowest: Tensor
    highest: Tensor
    weight: Tensor

    def __init__(
        self,
        lowest: Tensor | None = None,
        highest: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.store(lowest=lowest, highest=highest, weight=weight)

    def prepare(self) -> None:
        """Check the sizes of a saved model."""
        parts = (self.lowest, self.highest, self.weight)
        if (
            self.weight.ndim != 2
            or any(part.shape != self.weight.shape[:1] for part in parts[:2])
            or not all(part.is_floating_point() for part in parts)
        ):
            raise ValueError("bounds and weights of random sums do not fit each other")

    def forward(self, x: Tensor) -> Tensor:
        """Return the sums.

        Parameters
        ----------
        x : Tensor of shape (m, columns)
            Rows.

        Returns
        -------
        Tensor of shape (m, k)
        """
        if x.shape[1] != len(self.weight):
            raise ValueError(
                f"random sums are of {len(self.weight)} columns, but rows have {x.shape[1]}"
            )
        return x.clamp(self.lowest, self.highest) @ self.weight

    @classmethod
    def draw(
        cls,
        sample: Tensor,
        output_dim: int,
        generator: torch.Generator,
        blocks: Sequence[slice] = (),
    ) -> Self:
        """Draw four columns per sum, and a random function of each.

        Parameters
        ----------
        sample : Tensor of shape (n, columns)
            Rows of the training data.
        output_dim : int
            Number of sums.
        generator : torch.Generator
            Source of randomness.
        blocks : sequence of slice, default=()
            Features that were made of one column, which counts as one; none if every feature is a
            column of its own.

        Returns
        -------
        RandomSums
        """
        n_features = sample.shape[1]
        mean, furthest = sample.mean(0), _FURTHEST * sample.std(0, correction=0)
        bounds = mean - furthest, mean + furthest
        sample = sample.clamp(*bounds)
        blocks = blocks or [slice(k, k + 1) for k in range(n_features)]
        chosen = torch.rand(output_dim, len(blocks), generator=generator)
        chosen = chosen.argsort(1)[:, :_COLUMNS_PER_SUM]
        weight = torch.randn(n_features, output_dim, generator=generator)
        for k, block in enumerate(blocks):
            weight[block] *= (chosen == k).any(1)
        weight = weight.to(sample.device) * _feature_scales(sample, blocks)[:, None]
        return cls(*bounds, weight)


def _feature_scales(sample: Tensor, blocks: Sequence[slice]) -> Tensor:
    """Size of the weights of every feature: all columns contribute the same variance."""
    deviation = sample.std(0, correction=0)
    above = sample > sample.mean(0)
    is_indicator = (sample == torch.where(above, sample.amax(0), sample.amin(0))).all(0)
    share = above.float().mean(0)
    # A rare category has a small variance, as an indicator, or that of all others, if it was
    # standardized. Neither is best: here it is the root of the first.
    of_indicators = (share * (1 - share)) ** 0.25 / deviation.clamp_min(_TINY)
    scale = torch.where(is_indicator, of_indicators, 1.0) * (deviation > 0)
    for block in blocks:
        variance = (scale[block] * deviation[block]).square().sum()
        scale[block] /= variance.sqrt().clamp_min(_TINY)
    return scale
