"""The view of tables of SCARF (Bahri et al. 2022): cells replaced by draws from their column."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FeatureCorruption(nn.Module):
    """Replace a share of the cells of every row by values of other rows.

    Each cell is drawn from its own column of `table`, independently of the other cells.

    Parameters
    ----------
    table : Tensor of shape (n_rows, n_columns)
        Rows of the training data from which values are drawn.
    share : float, default=0.6
        Share of the cells of a row that are replaced.

    Examples
    --------
    >>> table = torch.arange(20.0).reshape(4, 5)
    >>> changed = FeatureCorruption(table + 100, share=0.6)(table) >= 100
    >>> changed.sum(dim=1).tolist()
    [3, 3, 3, 3]
    """

    table: Tensor

    def __init__(self, table: Tensor, share: float = 0.6) -> None:
        super().__init__()
        self.register_buffer("table", table.clone())
        self.count = round(share * table.shape[1])

    def forward(self, x: Tensor) -> Tensor:
        """Corrupt a batch.

        Parameters
        ----------
        x : Tensor of shape (n, n_columns)
            The batch.

        Returns
        -------
        Tensor of shape (n, n_columns)

        Examples
        --------
        >>> FeatureCorruption(torch.zeros(4, 5)).forward(torch.ones(2, 5)).sum(dim=1).tolist()
        [2.0, 2.0]
        """
        places = torch.rand(x.shape, device=x.device).argsort(dim=1)
        rows = torch.randint(len(self.table), x.shape, device=x.device)
        return torch.where(places < self.count, self.table.gather(0, rows), x)
