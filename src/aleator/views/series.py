"""Views of time series (Eldele et al., TS-TCC, 2021): a weak and a strong one."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Scaled(nn.Module):
    """The weak view: every time step is scaled by a draw from N(mean, deviation).

    All channels of a step are scaled alike.

    >>> Scaled(0.1)(torch.ones(2, 3, 5)).std(dim=1).max().item()  # over channels
    0.0
    """

    def __init__(self, deviation: float = 0.1, mean: float = 1.0) -> None:
        super().__init__()
        self.deviation = deviation
        self.mean = mean

    def forward(self, x: Tensor) -> Tensor:
        """Change `n × channels × time`."""
        factors = torch.randn(len(x), 1, x.shape[2], device=x.device, dtype=x.dtype)
        return x * (self.mean + self.deviation * factors)


class Shuffled(nn.Module):
    """The strong view: each series is cut at random into up to `segments` pieces, which are put
    in a random order, the same for all its channels; then noise is added to every value.

    >>> x = torch.arange(6.0).repeat(1, 2, 1)
    >>> y = Shuffled(3, noise=0.0)(x)
    >>> bool((y.sort(dim=2).values == x).all()), bool((y[:, 0] == y[:, 1]).all())
    (True, True)
    """

    def __init__(self, segments: int = 4, noise: float = 0.05) -> None:
        super().__init__()
        self.segments = segments
        self.noise = noise

    def forward(self, x: Tensor) -> Tensor:
        """Change `n × channels × time`."""
        order = self.order(len(x), x.shape[2], x.device)
        shuffled = x.gather(2, order[:, None].expand_as(x))
        return shuffled + self.noise * torch.randn_like(shuffled)

    def order(self, rows: int, steps: int, device: torch.device) -> Tensor:
        """For every row, the time steps in their new order."""
        cuts = torch.randint(1, max(2, steps), (rows, self.segments - 1), device=device)
        # A row with s segments has s - 1 cuts; the others are put behind its end.
        segments = torch.randint(1, self.segments + 1, (rows, 1), device=device)
        unused = torch.arange(1, self.segments, device=device) >= segments
        cuts = cuts.masked_fill(unused, steps)
        times = torch.arange(steps, device=device)
        segment = (times[None, :, None] >= cuts[:, None, :]).sum(2)
        keys = torch.rand(rows, self.segments, device=device)
        return keys.gather(1, segment).argsort(dim=1, stable=True)
