"""Views given by the user, and combinations of views."""

from __future__ import annotations

import copy
from typing import Any, Self

import torch
from torch import Tensor, nn


class UserView(nn.Module):
    """A view given by the user: any function of a batch.

    A module is copied and always in training mode: in evaluation mode, dropout would do nothing.

    Examples
    --------
    >>> UserView(torch.neg)(torch.ones(2)).tolist()
    [-1.0, -1.0]
    """

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = copy.deepcopy(function) if isinstance(function, nn.Module) else function
        self.train()

    def train(self, mode: bool = True) -> Self:
        """Stay in training mode."""
        return super().train(True)

    def forward(self, x: Tensor) -> Tensor:
        """Call the function and check the shape of its result."""
        changed = self.function(x)
        if not isinstance(changed, Tensor) or changed.shape != x.shape:
            got = getattr(changed, "shape", type(changed).__name__)
            raise ValueError(
                f"a view must return a tensor of the shape of its batch, {tuple(x.shape)}, got "
                f"{got}"
            )
        return changed


class RandomChoice(nn.Module):
    """Each sample in one of two views, chosen at random.

    Examples
    --------
    >>> RandomChoice(nn.Identity(), nn.Flatten())(torch.ones(4, 3)).shape
    torch.Size([4, 3])
    """

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> Tensor:
        """Change a batch."""
        chosen = torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) < 0.5
        return torch.where(chosen, self.first(x), self.second(x))
