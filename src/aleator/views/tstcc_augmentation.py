"""The weak and the strong view of time series of TS-TCC (Eldele et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RandomScaling(nn.Module):
    """The weak view: multiply every time step by a random factor.

    Factors are drawn from a normal distribution; all channels of a step have the same factor.

    Parameters
    ----------
    deviation : float, default=0.1
        Standard deviation of the factors.
    mean : float, default=1.0
        Mean of the factors.

    Examples
    --------
    >>> RandomScaling(0.1)(torch.ones(2, 3, 5)).std(dim=1).max().item()  # over channels
    0.0
    """

    def __init__(self, deviation: float = 0.1, mean: float = 1.0) -> None:
        super().__init__()
        self.deviation = deviation
        self.mean = mean

    def forward(self, x: Tensor) -> Tensor:
        """Scale a batch.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            The batch.

        Returns
        -------
        Tensor of shape (n, channels, time)

        Examples
        --------
        >>> RandomScaling(0.0, mean=2.0).forward(torch.ones(1, 1, 3)).tolist()
        [[[2.0, 2.0, 2.0]]]
        """
        factors = torch.randn(len(x), 1, x.shape[2], device=x.device, dtype=x.dtype)
        return x * (self.mean + self.deviation * factors)


class SegmentPermutation(nn.Module):
    """The strong view: permute random segments of a series, then add noise.

    Each series is cut at random into at most `segments` pieces, which are put in a random order,
    the same for all its channels.

    Parameters
    ----------
    segments : int, default=4
        Largest number of segments.
    noise : float, default=0.05
        Standard deviation of the noise added to every value.

    Examples
    --------
    >>> x = torch.arange(6.0).repeat(1, 2, 1)
    >>> y = SegmentPermutation(3, noise=0.0)(x)
    >>> bool((y.sort(dim=2).values == x).all()), bool((y[:, 0] == y[:, 1]).all())
    (True, True)
    """

    def __init__(self, segments: int = 4, noise: float = 0.05) -> None:
        super().__init__()
        self.segments = segments
        self.noise = noise

    def forward(self, x: Tensor) -> Tensor:
        """Permute and perturb a batch.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            The batch.

        Returns
        -------
        Tensor of shape (n, channels, time)

        Examples
        --------
        >>> SegmentPermutation().forward(torch.zeros(2, 3, 5)).shape
        torch.Size([2, 3, 5])
        """
        order = self.draw_order(len(x), x.shape[2], x.device)
        permuted = x.gather(2, order[:, None].expand_as(x))
        return permuted + self.noise * torch.randn_like(permuted)

    def draw_order(self, rows: int, steps: int, device: torch.device) -> Tensor:
        """Draw a new order of the time steps of every row.

        Parameters
        ----------
        rows : int
            Number of series.
        steps : int
            Time steps per series.
        device : torch.device
            Where to draw.

        Returns
        -------
        Tensor of shape (rows, steps)

        Examples
        --------
        >>> order = SegmentPermutation().draw_order(2, 5, torch.device("cpu"))
        >>> order.sort(dim=1).values.tolist()
        [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
        """
        cuts = torch.randint(1, max(2, steps), (rows, self.segments - 1), device=device)
        # A row with s segments has s - 1 cuts; the others are put after its end.
        segments = torch.randint(1, self.segments + 1, (rows, 1), device=device)
        unused = torch.arange(1, self.segments, device=device) >= segments
        cuts = cuts.masked_fill(unused, steps)
        times = torch.arange(steps, device=device)
        segment = (times[None, :, None] >= cuts[:, None, :]).sum(2)
        keys = torch.rand(rows, self.segments, device=device)
        return keys.gather(1, segment).argsort(dim=1, stable=True)
