"""DropConnect (Wan et al. 2013): a network in which random weights are missing."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call


class DropConnect(nn.Module):
    """Run `network` with every weight dropped with probability `rate`, drawn anew at every call.

    The remaining weights are divided by ``1 - rate``, so that the whole network, which is used
    after training, returns what the thinned networks return on average. Biases and normalization
    layers are left as they are.

    Examples
    --------
    >>> layer = nn.Linear(100, 1)
    >>> weight = DropConnect(layer, 0.5).draw_weights()["weight"]
    >>> 20 < int((weight == 0).sum()) < 80
    True
    """

    def __init__(self, network: nn.Module, rate: float) -> None:
        super().__init__()
        self.network = network
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Run the network with one draw of weights."""
        return functional_call(self.network, self.draw_weights(), (x,))

    def draw_weights(self) -> dict[str, Tensor]:
        """Draw which weights are kept, and return them by name."""
        kept = 1 - self.rate
        weights = self._weights()
        sizes = [weight.numel() for weight in weights.values()]
        # One draw for all layers: a small network spends its time on launching kernels.
        first = next(iter(weights.values()))
        factors = first.new_empty(sum(sizes)).bernoulli_(kept).div_(kept).split(sizes)
        return {
            name: weight * factor.view_as(weight)
            for (name, weight), factor in zip(weights.items(), factors, strict=True)
        }

    def freeze_weights(self) -> None:
        """Exclude the weights that may be dropped from training."""
        for weight in self._weights().values():
            weight.requires_grad_(False)

    @torch.no_grad()
    def keep_one_draw(self) -> None:
        """Replace the weights by a draw of them, and include them in training again."""
        weights = self._weights()
        for name, drawn in self.draw_weights().items():
            weights[name].copy_(drawn).requires_grad_(True)

    def _weights(self) -> dict[str, Tensor]:
        return {name: w for name, w in self.network.named_parameters() if w.ndim > 1}
