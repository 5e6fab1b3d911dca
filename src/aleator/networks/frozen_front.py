"""Encoders whose first part is never trained."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FrozenFront(nn.Module):
    """An encoder in two parts, of which only the second is trained.

    LFR computes the output of the first part once for all samples, and trains on it.

    Parameters
    ----------
    front : torch.nn.Module
        The first part. Its weights are not trained, it is always in evaluation mode, and it is
        never computed in half precision.
    trunk : torch.nn.Module
        The second part, a function of the output of the first.

    Examples
    --------
    >>> encoder = FrozenFront(nn.Linear(5, 3), nn.Linear(3, 2))
    >>> encoder(torch.zeros(4, 5)).shape
    torch.Size([4, 2])
    >>> [name for name, weight in encoder.named_parameters() if weight.requires_grad]
    ['trunk.weight', 'trunk.bias']
    """

    def __init__(self, front: nn.Module, trunk: nn.Module) -> None:
        super().__init__()
        self.front = front.requires_grad_(False)
        self.trunk = trunk

    def train(self, mode: bool = True) -> FrozenFront:
        """Set the mode of the trunk; the front stays in evaluation mode.

        Parameters
        ----------
        mode : bool, default=True
            Whether to train.

        Returns
        -------
        FrozenFront
        """
        super().train(mode)
        self.front.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Embed samples.

        Parameters
        ----------
        x : Tensor of shape (m, ...)
            Samples.

        Returns
        -------
        Tensor of shape (m, ...)
        """
        with torch.autocast(x.device.type, enabled=False):  # as when it is computed only once
            features = self.front(x)
        return self.trunk(features)
