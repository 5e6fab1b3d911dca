"""A view of series with gaps: some more gaps."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ObservationDropout(nn.Module):
    """Leave out a random share of the observations.

    Parameters
    ----------
    share : float, default=0.3
        Share that is left out.

    Examples
    --------
    >>> dropped = ObservationDropout(0.5)(torch.zeros(10, 2, 100)).isnan().float().mean()
    >>> bool(0.4 < dropped < 0.6)
    True
    """

    def __init__(self, share: float = 0.3) -> None:
        super().__init__()
        if not 0 <= share < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {share!r}")
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """Leave out observations of a batch.

        Parameters
        ----------
        x : Tensor of shape (n, channels, time)
            The batch; NaN where nothing was observed.

        Returns
        -------
        Tensor of shape (n, channels, time)

        Examples
        --------
        >>> ObservationDropout(0.0).forward(torch.ones(1, 1, 3)).tolist()
        [[[1.0, 1.0, 1.0]]]
        """
        return x.masked_fill(torch.rand(x.shape, device=x.device) < self.share, torch.nan)
