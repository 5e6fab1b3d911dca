"""Random Fourier features of tables (Rahimi and Recht 2007), with bandwidths from the data."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor

from aleator.projectors.drawn import DrawnModule, log_uniform, random_rows
from aleator.projectors.quantiles import QuantileNormal

# Bandwidths are log-uniform between these multiples of the median distance of two rows.
_BANDWIDTHS = 0.5, 4.0
_PAIRS = 512


class FourierFeatures(DrawnModule):
    """Cosines of random projections of rows whose columns were mapped to normal distributions.

    Parameters
    ----------
    normal : QuantileNormal, default=None
        Map of the columns.
    frequency : Tensor of shape (columns, k), default=None
        Frequencies.
    phase : Tensor of shape (k,), default=None
        Phases.

    Examples
    --------
    >>> normal = QuantileNormal.fit(torch.randn(50, 2))
    >>> FourierFeatures(normal, torch.randn(2, 3), torch.zeros(3))(torch.randn(4, 2)).shape
    torch.Size([4, 3])
    """

    frequency: Tensor
    phase: Tensor

    def __init__(
        self,
        normal: QuantileNormal | None = None,
        frequency: Tensor | None = None,
        phase: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.normal = QuantileNormal() if normal is None else normal
        self.store(frequency=frequency, phase=phase)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features.

        Parameters
        ----------
        x : Tensor of shape (m, columns)
            Rows.

        Returns
        -------
        Tensor of shape (m, k)
        """
        return math.sqrt(2) * torch.addmm(self.phase, self.normal(x), self.frequency).cos()

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw random Fourier features of several bandwidths.

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
        FourierFeatures
        """
        normal = QuantileNormal.fit(sample)
        bandwidth = draw_bandwidths(normal(sample), output_dim, generator)
        frequency = torch.randn(sample.shape[1], output_dim, generator=generator)
        phase = 2 * math.pi * torch.rand(output_dim, generator=generator)
        return cls(normal, frequency.to(sample.device) / bandwidth, phase.to(sample.device))


def draw_bandwidths(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw bandwidths around the median distance of two rows.

    Parameters
    ----------
    rows : Tensor of shape (n, columns)
        Rows of the training data.
    count : int
        How many.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    Tensor of shape (count,)
    """
    first, second = (random_rows(rows, _PAIRS, generator) for _ in range(2))
    distance = (first - second).norm(dim=1)
    median = distance.where(distance > 0, torch.nan).nanmedian().nan_to_num(1.0)
    return median * log_uniform(*_BANDWIDTHS, count, generator).to(rows.device)
