"""Views of tables (Bahri et al., SCARF, 2022): cells replaced by draws from their own column."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# Rows of the training data that a column's values are drawn from.
_MOST_ROWS = 1 << 16


class Corrupted(nn.Module):
    """In every row a share of the cells, chosen at random, take the value of another row.

    Each cell is drawn from its own column of the training data, independently of its neighbours.

    >>> table = torch.arange(20.0).reshape(4, 5)
    >>> changed = Corrupted(table + 100, share=0.6)(table) >= 100
    >>> changed.sum(dim=1).tolist()
    [3, 3, 3, 3]
    """

    def __init__(self, table: Tensor, share: float = 0.6) -> None:
        super().__init__()
        if len(table) > _MOST_ROWS:
            table = table[torch.linspace(0, len(table) - 1, _MOST_ROWS).long()]
        self.register_buffer("table", table.clone())
        self.count = round(share * table.shape[1])

    def forward(self, x: Tensor) -> Tensor:
        """Change `n × columns`."""
        table: Tensor = self.table  # type: ignore[assignment]
        places = torch.rand(x.shape, device=x.device).argsort(dim=1)
        rows = torch.randint(len(table), x.shape, device=x.device)
        return torch.where(places < self.count, table.gather(0, rows), x)
