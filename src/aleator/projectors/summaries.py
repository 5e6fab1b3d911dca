"""Random combinations of statistics of what was observed in windows of series.

Means, extremes, first and last values say much of series that were observed rarely, such as those
of an intensive care unit. Features are combinations of few such statistics, of random windows that
are shares of the length of a series.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from aleator.networks.observed import series_lengths, within
from aleator.projectors.drawn import DrawnModule, scale_of
from aleator.projectors.feature_bank import few_of

# mean, minimum, maximum, first, last, deviation, logarithm of the number of observations
_N_STATISTICS = 7
_N_WINDOWS = 4
_MOST_TERMS = 4
_WHOLE_SHARE = 0.75
# Share of the features that are linear; the others are bent at a random quantile.
_LINEAR_SHARE = 0.5
_LEAST_VARIANCE = 1e-4
# Standardized statistics are limited to this, or typing errors would outweigh everything else.
_LIMIT = 4.0
# Distance of the quartiles of a normal distribution.
_QUARTILES = 1.349


class WindowSummaries(DrawnModule):
    """Random combinations of statistics of channels within windows.

    Parameters
    ----------
    window : Tensor of shape (n_windows, 2), default=None
        Begin and end of windows, as shares of the length of a series.
    mean, scale : Tensor of shape (n_windows * 7 * channels,), default=None
        By what statistics are standardized.
    term : Tensor of shape (k, 4), default=None
        Statistics of every feature.
    weight : Tensor of shape (k, 4), default=None
        Their weights.
    bend : Tensor of shape (k,), default=None
        Where a feature begins to be constant; minus infinity if it does not.

    Examples
    --------
    >>> series = torch.randn(20, 3, 50)
    >>> series[torch.rand(20, 3, 50) < 0.5] = torch.nan
    >>> features = WindowSummaries.draw(series, 32, torch.Generator().manual_seed(0))
    >>> features(series).shape
    torch.Size([20, 32])
    """

    window: Tensor
    mean: Tensor
    scale: Tensor
    term: Tensor
    weight: Tensor
    bend: Tensor

    def __init__(
        self,
        window: Tensor | None = None,
        mean: Tensor | None = None,
        scale: Tensor | None = None,
        term: Tensor | None = None,
        weight: Tensor | None = None,
        bend: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.store(window=window, mean=mean, scale=scale, term=term, weight=weight, bend=bend)

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw windows, statistics and weights.

        Parameters
        ----------
        sample : Tensor of shape (n, channels, time)
            Series of the training data; NaN where nothing was observed.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        WindowSummaries
        """
        ends = torch.rand(_N_WINDOWS, 2, generator=generator).sort(1).values
        ends[0] = torch.tensor([0.0, 1.0])  # the whole series
        window = ends.to(sample.device)
        found = torch.cat([_statistics(part, window) for part in few_of(sample).split(256)])
        mean, scale = _location_and_scale(found)
        # Statistics of the whole series are drawn most often: they say most of rare observations.
        n_own = found.shape[1] // _N_WINDOWS
        shape = output_dim, _MOST_TERMS
        anywhere = torch.randint(found.shape[1], shape, generator=generator)
        whole = torch.randint(n_own, shape, generator=generator)
        term = torch.where(torch.rand(shape, generator=generator) < _WHOLE_SHARE, whole, anywhere)
        weight = torch.randn(shape, generator=generator)
        n_terms = torch.randint(1, _MOST_TERMS + 1, (output_dim, 1), generator=generator)
        weight = weight * (torch.arange(_MOST_TERMS) < n_terms)
        weight = weight / weight.norm(dim=1, keepdim=True).clamp_min(1e-6)
        bend = torch.full((output_dim,), -torch.inf)
        made = cls(window, mean, scale, term, weight, bend).to(sample.device)
        combination = made.combined(found)
        quantile = 0.1 + 0.8 * torch.rand(output_dim, generator=generator)
        linear = torch.rand(output_dim, generator=generator) < _LINEAR_SHARE
        position = (quantile * (len(combination) - 1)).long().to(sample.device)
        chosen = combination.sort(0).values.gather(0, position[None])[0]
        made.bend = torch.where(linear.to(sample.device), made.bend, chosen)
        return made

    def forward(self, x: Tensor) -> Tensor:
        """Return the combinations.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series; NaN where nothing was observed.

        Returns
        -------
        Tensor of shape (m, k)
        """
        return torch.maximum(self.combined(_statistics(x, self.window)), self.bend)

    def combined(self, found: Tensor) -> Tensor:
        """Combine statistics of shape (m, n_windows * 7 * channels), of which some may be NaN."""
        standardized = ((found - self.mean) / self.scale).clamp(-_LIMIT, _LIMIT).nan_to_num(0.0)
        return (standardized[:, self.term] * self.weight).sum(-1)


def _location_and_scale(found: Tensor) -> tuple[Tensor, Tensor]:
    """Median and spread of what is known of every column, which typing errors hardly change.

    The spread is that of a normal distribution with the same quartiles; the standard deviation
    where more than half of the values are equal.
    """
    known = ~found.isnan()
    low, middle, high = found.nanquantile(found.new_tensor([0.25, 0.5, 0.75]), dim=0)
    middle = middle.nan_to_num(0.0)
    variance = torch.where(known, found - middle, 0.0).square().sum(0) / known.sum(0).clamp_min(1)
    spread = ((high - low) / _QUARTILES).nan_to_num(0.0)
    spread = torch.where(spread > 0, spread, variance.sqrt())
    return middle, scale_of(spread, middle)


def _statistics(x: Tensor, window: Tensor) -> Tensor:
    """Statistics of shape (m, windows * 7 * channels); NaN where nothing was observed."""
    lengths = series_lengths(x)
    observed = ~x.isnan()
    values = x.nan_to_num(0.0)
    step = torch.arange(x.shape[-1], device=x.device)
    parts = []
    for begin, end in window:
        first = (begin * lengths).long()
        last = torch.maximum((end * lengths).ceil().long(), first + 1)
        inside = within(last, x.shape[-1]) & ~within(first, x.shape[-1])
        seen = observed & inside[:, None]
        count = seen.sum(-1)
        divisor = count.clamp_min(1)
        mean = (values * seen).sum(-1) / divisor
        variance = ((values - mean[..., None]) * seen).square().sum(-1) / divisor
        low = values.masked_fill(~seen, torch.inf).amin(-1)
        high = values.masked_fill(~seen, -torch.inf).amax(-1)
        at_first = torch.where(seen, step, x.shape[-1] - 1).amin(-1, keepdim=True)
        at_last = torch.where(seen, step, 0).amax(-1, keepdim=True)
        found = torch.stack(
            [
                mean, low, high, values.gather(-1, at_first)[..., 0],
                values.gather(-1, at_last)[..., 0], (variance + _LEAST_VARIANCE).log() / 2,
            ],
            1,
        )  # fmt: skip
        found = found.masked_fill((count == 0)[:, None], torch.nan)
        amount = count.to(found.dtype).log1p()[:, None]
        parts.append(torch.cat([found, amount], 1).flatten(1))
    return torch.cat(parts, 1)
