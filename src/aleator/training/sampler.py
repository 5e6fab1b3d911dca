"""The order in which samples are seen, and how it is cut into batches."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Sampler:
    """Draws a new order for every pass, or follows the orders it is given.

    The generator and the number of passes begun are its whole state.

    >>> sampler = Sampler(rows=4, seed=0)
    >>> first = sampler.peek()
    >>> bool((sampler.next_pass() == first).all()), sampler.passes
    (True, 1)
    """

    def __init__(self, rows: int, seed: int, orders: Tensor | None = None) -> None:
        self.rows = rows
        self.orders = orders
        self.passes = 0
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def length(self) -> int:
        """Samples in a pass."""
        return self.rows if self.orders is None else self.orders.shape[1]

    def next_pass(self) -> Tensor:
        """The order of the next pass, on the CPU."""
        if self.orders is None:
            order = torch.randperm(self.rows, generator=self._generator)
        elif self.passes < len(self.orders):
            order = self.orders[self.passes]
        else:
            raise ValueError(
                f"sample_order has {len(self.orders)} rows, but training makes more passes over "
                "the data than that: it needs a row for every pass"
            )
        self.passes += 1
        return order

    def peek(self) -> Tensor:
        """What `next_pass` will return."""
        state = self.state_dict()
        order = self.next_pass()
        self.load_state_dict(state)
        return order

    def state_dict(self) -> dict[str, Any]:
        """The generator's state and the passes begun."""
        return {"generator": self._generator.get_state(), "passes": self.passes}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The opposite of `state_dict`."""
        self._generator.set_state(state["generator"])
        self.passes = state["passes"]


def batch_sizes(
    rows: int, batch_size: int, *, avoid_single_row: bool = False, drop_last: bool = False
) -> list[int]:
    """How a pass is cut. The last batch may be smaller; it is kept unless `drop_last` says so.

    Batch normalisation cannot train on one row, so where it is used a last row that would stand
    alone joins the batch before it.

    >>> batch_sizes(9, 4)
    [4, 4, 1]
    >>> batch_sizes(9, 4, avoid_single_row=True)
    [4, 5]
    """
    sizes = [batch_size] * (rows // batch_size)
    if rows % batch_size and not (drop_last and sizes):
        sizes.append(rows % batch_size)
    if avoid_single_row and len(sizes) > 1 and sizes[-1] == 1:
        sizes[-2:] = [sizes[-2] + 1]
    return sizes
