"""The order of samples, and how it is divided into batches."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Sampler:
    """Draw a new order for every pass over the data, or follow given orders.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    seed : int
        Seed of the orders.
    orders : Tensor of shape (n_passes, length), default=None
        Orders to follow, one row per pass.

    Examples
    --------
    >>> sampler = Sampler(n_samples=4, seed=0)
    >>> first = sampler.peek()
    >>> bool((sampler.next_pass() == first).all()), sampler.passes
    (True, 1)
    """

    def __init__(self, n_samples: int, seed: int, orders: Tensor | None = None) -> None:
        self.n_samples = n_samples
        self.seed = seed
        self.orders = orders
        self.passes = 0
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def length(self) -> int:
        """Samples per pass."""
        return self.n_samples if self.orders is None else self.orders.shape[1]

    def next_pass(self) -> Tensor:
        """Return the order of the next pass, on the CPU."""
        if self.orders is None:
            order = torch.randperm(self.n_samples, generator=self._generator)
        elif self.passes < len(self.orders):
            order = self.orders[self.passes]
        else:
            raise ValueError(
                f"sample_order has {len(self.orders)} rows, but training makes more passes over "
                "the data: it needs one row per pass"
            )
        self.passes += 1
        return order

    def peek(self) -> Tensor:
        """Return what `next_pass` will return, without changing the state."""
        state = self.state_dict()
        order = self.next_pass()
        self.load_state_dict(state)
        return order

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator and the number of passes begun."""
        return {"generator": self._generator.get_state(), "passes": self.passes}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self._generator.set_state(state["generator"])
        self.passes = state["passes"]


def batch_sizes(
    n_samples: int, batch_size: int, *, avoid_single_row: bool = False, drop_last: bool = False
) -> list[int]:
    """Sizes of the batches of a pass.

    The last batch may be smaller; it is kept unless `drop_last` is set and it is not the only one.
    Batch normalization cannot train on one row: with `avoid_single_row`, a single last row joins
    the batch before it.

    Examples
    --------
    >>> batch_sizes(9, 4)
    [4, 4, 1]
    >>> batch_sizes(9, 4, avoid_single_row=True)
    [4, 5]
    """
    sizes = [batch_size] * (n_samples // batch_size)
    if n_samples % batch_size and not (drop_last and sizes):
        sizes.append(n_samples % batch_size)
    if avoid_single_row and len(sizes) > 1 and sizes[-1] == 1:
        sizes[-2:] = [sizes[-2] + 1]
    return sizes
