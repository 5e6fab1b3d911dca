"""Similarity of rows of tables to random rows of the data."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from aleator.projectors.drawn import DrawnModule, random_rows
from aleator.projectors.fourier import draw_bandwidths
from aleator.projectors.quantiles import QuantileNormal


class Landmarks(DrawnModule):
    """Gaussian similarity to rows of the data (landmarks).

    Parameters
    ----------
    normal : QuantileNormal, default=None
        Map of the columns to normal distributions.
    row : Tensor of shape (k, columns), default=None
        Landmarks, mapped.
    bandwidth : Tensor of shape (k,), default=None
        Distance at which the similarity is exp(-1/2).

    Examples
    --------
    >>> normal = QuantileNormal.fit(torch.randn(50, 2))
    >>> landmarks = Landmarks(normal, torch.zeros(3, 2), torch.ones(3))
    >>> landmarks(torch.randn(4, 2)).shape
    torch.Size([4, 3])
    """

    row: Tensor
    bandwidth: Tensor

    def __init__(
        self,
        normal: QuantileNormal | None = None,
        row: Tensor | None = None,
        bandwidth: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.normal = QuantileNormal() if normal is None else normal
        self.store(row=row, bandwidth=bandwidth)

    def forward(self, x: Tensor) -> Tensor:
        """Return the similarities.

        Parameters
        ----------
        x : Tensor of shape (m, columns)
            Rows.

        Returns
        -------
        Tensor of shape (m, k)
        """
        distance = torch.cdist(self.normal(x), self.row)
        return (-0.5 * (distance / self.bandwidth).square()).exp()

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw rows of the data as landmarks.

        Parameters
        ----------
        sample : Tensor of shape (n, columns)
            Rows of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        Landmarks
        """
        normal = QuantileNormal.fit(sample)
        rows = normal(random_rows(sample, output_dim, generator))
        return cls(normal, rows, draw_bandwidths(normal(sample), output_dim, generator))
