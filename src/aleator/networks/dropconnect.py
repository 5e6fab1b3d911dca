"""DropConnect (Wan et al., 2013): a network some of whose weights are missing in this pass."""

from __future__ import annotations

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
        weights = {name: w for name, w in self.network.named_parameters() if w.ndim > 1}
        sizes = [weight.numel() for weight in weights.values()]
        # One draw for all layers: a small network spends its time on starting kernels.
        first = next(iter(weights.values()))
        factors = first.new_empty(sum(sizes)).bernoulli_(kept).div_(kept).split(sizes)
        return {
            name: weight * factor.view_as(weight)
            for (name, weight), factor in zip(weights.items(), factors, strict=True)
        }
