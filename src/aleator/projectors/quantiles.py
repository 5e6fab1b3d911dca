"""Columns of tables mapped to normal distributions by the quantiles of the data."""

from __future__ import annotations

import torch
from torch import Tensor

from aleator.projectors.drawn import DrawnModule

_N_QUANTILES = 129


class QuantileNormal(DrawnModule):
    """Map every column to a standard normal distribution.

    Parameters
    ----------
    quantiles : Tensor of shape (columns, n), default=None
        Values of every column at evenly spaced probabilities, in ascending order.

    Examples
    --------
    >>> normal = QuantileNormal.fit(torch.arange(101.0)[:, None] ** 3)
    >>> normal(torch.tensor([[50.0**3]])).abs().item() < 1e-3
    True
    """

    quantiles: Tensor

    def __init__(self, quantiles: Tensor | None = None) -> None:
        super().__init__()
        self.store(quantiles=quantiles)

    @classmethod
    def fit(cls, sample: Tensor) -> QuantileNormal:
        """Compute the quantiles of a sample.

        Parameters
        ----------
        sample : Tensor of shape (n, columns)
            Rows of the training data.

        Returns
        -------
        QuantileNormal
        """
        values = sample.double()
        probabilities = torch.linspace(0, 1, _N_QUANTILES, dtype=torch.float64)
        return cls(values.quantile(probabilities.to(values), dim=0).T.float().contiguous())

    def forward(self, x: Tensor) -> Tensor:
        """Map rows.

        Parameters
        ----------
        x : Tensor of shape (m, columns)
            Rows.

        Returns
        -------
        Tensor of shape (m, columns)
        """
        values, n = x.T.contiguous(), self.quantiles.shape[1]
        grid = self.quantiles.contiguous()
        # A value that fills several quantiles gets the middle of them.
        low = _rank(values, grid, right=False)
        high = _rank(values, grid, right=True)
        probability = ((low + high) / 2 / (n - 1)).clamp(0.5 / n, 1 - 0.5 / n)
        return torch.special.ndtri(probability).T


def _rank(values: Tensor, grid: Tensor, *, right: bool) -> Tensor:
    """Position of values in an ascending grid, interpolated between its points."""
    n = grid.shape[1]
    above = torch.searchsorted(grid, values, right=right).clamp(1, n - 1)
    lower, upper = grid.gather(1, above - 1), grid.gather(1, above)
    inside = (values - lower) / (upper - lower).clamp_min(1e-12)
    return above - 1 + inside.clamp(0, 1)
