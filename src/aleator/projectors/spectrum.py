"""Power of series in random bands of their spectrum."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from aleator.projectors.dilated_filters import draw_channels, pieces
from aleator.projectors.drawn import DrawnModule, log_uniform


class SpectralBands(DrawnModule):
    """Logarithm of the power of mixed channels in bands of frequencies.

    Parameters
    ----------
    mixing : Tensor of shape (k, channels), default=None
        Weight of every channel.
    band : Tensor of shape (k, 2), default=None
        First frequency of every band, and the first above it.
    floor : Tensor of shape (), default=None
        Power that is added before the logarithm is taken.

    Examples
    --------
    >>> bands = SpectralBands(torch.ones(1, 1), torch.tensor([[1, 3]]), torch.tensor(1e-6))
    >>> bands(torch.randn(5, 1, 16)).shape
    torch.Size([5, 1])
    """

    mixing: Tensor
    band: Tensor
    floor: Tensor

    def __init__(
        self,
        mixing: Tensor | None = None,
        band: Tensor | None = None,
        floor: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.store(mixing=mixing, band=band, floor=floor)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logarithm of the power in every band.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series.

        Returns
        -------
        Tensor of shape (m, k)
        """
        spectrum = torch.fft.rfft(x, norm="ortho")
        parts = torch.cat([spectrum.real, spectrum.imag], -1)
        frequency = torch.arange(spectrum.shape[-1], device=x.device)
        in_band = (frequency >= self.band[:, :1]) & (frequency < self.band[:, 1:])
        in_band = in_band.to(x.dtype).repeat(1, 2)
        power = x.new_empty(len(x), len(self.mixing))
        for start, stop in pieces(len(x), len(self.mixing), parts.shape[-1], x.device):
            mixed = (self.mixing @ parts[start:stop]).mul_(in_band)
            power[start:stop] = torch.linalg.vector_norm(mixed, dim=-1).square()
        return (power + self.floor).log()

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw random bands and random mixtures of channels.

        Parameters
        ----------
        sample : Tensor of shape (n, channels, time)
            Series of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        SpectralBands
        """
        n_channels, n_steps = sample.shape[1:]
        n_frequencies = n_steps // 2 + 1
        mixing = torch.randn(output_dim, n_channels, generator=generator)
        mixing = mixing * draw_channels(output_dim, n_channels, generator)[..., 0]
        mixing = mixing / mixing.norm(dim=1, keepdim=True)
        width = log_uniform(1, max(2, n_frequencies / 2), output_dim, generator).long()
        width = width.clamp(1, n_frequencies)
        start = torch.rand(output_dim, generator=generator) * (n_frequencies - width + 1)
        band = torch.stack([start.long(), start.long() + width], 1)
        # Below this power, differences are noise of the measurement or of the arithmetic.
        floor = 1e-4 * sample.square().mean() + 1e-12
        return cls(mixing, band, floor).to(sample.device)
