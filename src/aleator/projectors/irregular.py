"""Families of features of series, for series of different lengths and with gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from aleator.networks.observed import fill_gaps, has_gaps
from aleator.projectors.drawn import DrawnModule, derived_generator

_LEAST_SIZE = 1e-6


class IrregularFeatures(DrawnModule):
    """Features of filled series, pooled over each of them up to its own end.

    Gaps are filled (see `fill_gaps`). If the training data have any, there is another channel: the
    share of channels that were observed at a step. One for every channel would double the work, and
    did no better on intensive-care data; what was observed of each is part of `WindowSummaries`.

    Parameters
    ----------
    features : torch.nn.Module
        Function of filled series and their lengths.
    marked : bool, default=False
        Whether there is a channel that says how much was observed.
    size : Tensor of shape (), default=None
        Root mean square of the training data, by which series are divided.

    Examples
    --------
    >>> from aleator.projectors.convolutions import RandomConvolutions
    >>> series = torch.randn(20, 3, 50)
    >>> series[:10, :, 40:] = torch.nan
    >>> features = IrregularFeatures.build((3, 50), 32, series, family=RandomConvolutions)
    >>> bool(torch.allclose(features(series[:10]), features(series[:10, :, :40]), atol=1e-5))
    True
    """

    marked: Tensor
    size: Tensor

    def __init__(
        self, features: nn.Module, marked: bool = False, size: Tensor | None = None
    ) -> None:
        super().__init__()
        self.features = features
        self.store(marked=marked, size=size)
        self.prepare()

    def prepare(self) -> None:
        """Read from the buffers whether there is a channel of what was observed."""
        self._marked = bool(self.marked)

    @classmethod
    def build(  # type: ignore[override]
        cls,
        input_shape: Sequence[int],
        output_dim: int,
        sample: Tensor | None = None,
        *,
        family: type[DrawnModule],
    ) -> Self:
        """Draw features of a family, or create empty ones to be loaded.

        Parameters
        ----------
        input_shape : sequence of int
            Channels and time steps.
        output_dim : int
            Number of features.
        sample : Tensor of shape (n, channels, time), default=None
            Series of the training data, NaN where nothing was observed; None creates an empty
            module.
        family : type
            The family, whose method `draw` has a parameter `lengths`.

        Returns
        -------
        IrregularFeatures
            A module on the CPU.
        """
        if sample is None:
            return cls(family())
        observed = sample[~sample.isnan()]
        size = observed.square().mean().sqrt().nan_to_num(1.0).clamp_min(_LEAST_SIZE)
        made = cls(family(), has_gaps(sample), size)
        filled, lengths = made.filled(sample)
        made.features = family.draw(filled, output_dim, derived_generator(), lengths=lengths)  # type: ignore[call-arg]
        return made.cpu()

    def filled(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return complete series, and their lengths.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series; NaN where nothing was observed.

        Returns
        -------
        filled : Tensor of shape (m, channels, time) or (m, channels + 1, time)
            Zero after the end of a series.
        lengths : Tensor of shape (m,), int64
            Lengths of the series.
        """
        filled, lengths = fill_gaps(x / self.size)
        if self._marked:
            share = (~x.isnan()).to(filled.dtype).mean(1, keepdim=True)
            filled = torch.cat([filled, share], 1)
        return filled, lengths

    def forward(self, x: Tensor) -> Tensor:
        """Return the features.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series; NaN where nothing was observed.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        return self.features(*self.filled(x))
