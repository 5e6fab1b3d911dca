"""Families of features of series, for series of different lengths and with gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from torch import Tensor, nn

from aleator.networks.observed import channels_with_gaps, fill_gaps
from aleator.projectors.drawn import DrawnModule, derived_generator

_LEAST_SIZE = 1e-6


class IrregularFeatures(DrawnModule):
    """Features of filled series, pooled over each of them up to its own end.

    Gaps are filled, and there are channels that say where, for those channels that had gaps in the
    training data (see `fill_gaps`).

    Parameters
    ----------
    features : torch.nn.Module
        Function of filled series and their lengths.
    marked : Tensor of shape (k,), default=None
        Channels that had gaps.
    size : Tensor of shape (), default=None
        Root mean square of the training data, by which series are divided.

    Examples
    --------
    >>> import torch
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
        self, features: nn.Module, marked: Tensor | None = None, size: Tensor | None = None
    ) -> None:
        super().__init__()
        self.features = features
        self.store(marked=marked, size=size)

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
        marked = channels_with_gaps(sample)
        filled, lengths = fill_gaps(sample, marked)
        observed = sample[~sample.isnan()]
        size = observed.square().mean().sqrt().nan_to_num(1.0).clamp_min(_LEAST_SIZE)
        filled[:, : sample.shape[1]] /= size
        features = family.draw(filled, output_dim, derived_generator(), lengths=lengths)  # type: ignore[call-arg]
        return cls(features, marked, size).cpu()

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
        return self.features(*fill_gaps(x / self.size, self.marked))
