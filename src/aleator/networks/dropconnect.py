"""DropConnect (Wan et al., 2013): a network some of whose weights are missing in this pass."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call


class DropConnect(nn.Module):
    """Runs `network` with every weight dropped with probability `rate`, drawn anew at every call.

    What is left is scaled up by 1 / (1 - rate), so that the whole network, as it is used later,
    gives what the thinned ones give on average. Offsets and normalisations are left alone.

    >>> layer = nn.Linear(100, 1)
    >>> thinned = DropConnect(layer, 0.5).thinned()["weight"]
    >>> 20 < int((thinned == 0).sum()) < 80
    True
    """

    def __init__(self, network: nn.Module, rate: float) -> None:
        super().__init__()
        self.network = network
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """The network's output under one draw."""
        return functional_call(self.network, self.thinned(), (x,))

    def thinned(self) -> dict[str, Tensor]:
        """The weights that are dropped from, after a draw."""
        kept = 1 - self.rate
        return {
            name: weight * torch.empty_like(weight).bernoulli_(kept).div_(kept)
            for name, weight in self.network.named_parameters()
            if weight.ndim > 1
        }
