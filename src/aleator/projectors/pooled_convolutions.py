"""Dilated convolutions over series, pooled over time: what several families are made of."""

from __future__ import annotations

import torch
from torch import Tensor

from aleator.networks.observed import differences_within, within
from aleator.projectors.dilated_filters import (
    differences,
    dilated_windows,
    ranges_of_kinds,
    responses_in_pieces,
    responses_within,
)
from aleator.projectors.drawn import DrawnModule, random_rows

# Thresholds are quantiles of the responses to one of this many series per filter.
_SERIES_FOR_THRESHOLDS = 256
_LEAST_VARIANCE = 1e-8
# Thresholds are raised by this share of the size of the data. Responses to constant stretches, and
# to series of one step, equal the threshold but for rounding, which must not decide on which side
# they are.
_ABOVE_ROUNDING = 1e-5
# Half the width of thresholds for series of different lengths, whose size is one on average, and
# the floor of the variance of responses.
RAMP = 0.2
_VARIANCE_FLOOR = 1e-3


class PooledConvolutions(DrawnModule):
    """Filters of different dilations, whose responses are pooled to a few numbers per series.

    The numbers are the share of responses above each of several thresholds (less the share below
    it), the logarithm of the standard deviation of the responses and, if asked for, their maximum.

    Parameters
    ----------
    weight : Tensor of shape (k, channels, length), default=None
        Filters, in the order of `in_order`.
    dilation : Tensor of shape (k,), default=None
        Dilation of every filter.
    differenced : Tensor of shape (k,), default=None
        Whether the filter is applied to the first differences of the series.
    threshold : Tensor of shape (k, n_thresholds), default=None
        Thresholds of every filter.
    output_dim : int, default=0
        Number of features; surplus features are left out.
    with_maximum : bool, default=False
        Whether maxima are features.

    Examples
    --------
    >>> weight = torch.tensor([[[-1.0, 0.0, 1.0]]])
    >>> one = torch.ones(1, dtype=torch.int64)
    >>> rising = PooledConvolutions(weight, one, one < 0, torch.zeros(1, 1), output_dim=1)
    >>> round(rising(torch.tensor([[[0.0, 1, 2, 3, 4, 2, 1]]])).item(), 3)
    0.143
    """

    weight: Tensor
    dilation: Tensor
    differenced: Tensor
    threshold: Tensor
    output_dim: Tensor
    with_maximum: Tensor

    def __init__(
        self,
        weight: Tensor | None = None,
        dilation: Tensor | None = None,
        differenced: Tensor | None = None,
        threshold: Tensor | None = None,
        output_dim: int = 0,
        with_maximum: bool = False,
    ) -> None:
        super().__init__()
        self.store(
            weight=weight,
            dilation=dilation,
            differenced=differenced,
            threshold=threshold,
            output_dim=output_dim,
            with_maximum=with_maximum,
        )
        if weight is not None:
            self.prepare()

    def prepare(self) -> None:
        """Find the ranges of filters of one dilation."""
        self._ranges = ranges_of_kinds(self.differenced, self.dilation)
        self._width = int(self.output_dim)
        self._with_maximum = bool(self.with_maximum)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the pooled responses.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series; zero after their ends.
        lengths : Tensor of shape (m,), default=None
            Lengths of the series; None is all of `x`.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        n_statistics = self.threshold.shape[1] + 1 + self._with_maximum
        pooled = x.new_empty(len(x), n_statistics, len(self.weight))
        if lengths is None:
            for samples, filters, responses in responses_in_pieces(x, self.weight, self._ranges):
                pooled[samples, :, filters] = self._pool(responses, self.threshold[filters])
        else:
            within_ends = responses_within(x, lengths, self.weight, self._ranges)
            for samples, filters, responses, counts in within_ends:
                threshold = self.threshold[filters]
                pooled[samples, :, filters] = self._pool_within(responses, counts, threshold)
        return pooled.flatten(1)[:, : self._width]

    def _pool(self, responses: Tensor, threshold: Tensor) -> Tensor:
        """Pool responses of shape (m, k, time) to shape (m, statistics, k)."""
        mean = responses.mean(-1)
        power = torch.linalg.vector_norm(responses, dim=-1).square() / responses.shape[-1]
        variance = (power - mean.square()).clamp_min(_LEAST_VARIANCE)
        # The mean of signs is several times as fast as counting the true values of a comparison.
        pooled = [(responses - t[:, None]).sign_().mean(-1) for t in threshold.T]
        if self._with_maximum:
            pooled.append(responses.amax(-1))
        return torch.stack([*pooled, variance.log() / 2], 1)

    def _pool_within(self, responses: Tensor, counts: Tensor, threshold: Tensor) -> Tensor:
        """As `_pool`, over the first `counts` steps; the other responses are zero.

        The result must not depend on how many steps follow the end of a series. Products are
        rounded differently if there are more of them, so that thresholds are ramps, and variances
        have a floor: else rounding might decide on which side of a threshold a response is.
        """
        divisor = counts[:, None].to(responses.dtype)
        inside = within(counts, responses.shape[-1])[:, None]
        mean = responses.sum(-1) / divisor
        spread = (responses - mean[..., None]).mul_(inside)
        variance = torch.linalg.vector_norm(spread, dim=-1).square() / divisor
        pooled = [_ramp(responses - t[:, None]).mul_(inside).sum(-1) / divisor for t in threshold.T]
        if self._with_maximum:
            pooled.append(responses.masked_fill(~inside, -torch.inf).amax(-1))
        return torch.stack([*pooled, (variance + _VARIANCE_FLOOR).log() / 2], 1)


def _ramp(excess: Tensor) -> Tensor:
    """Return the sign of numbers, but for those that are close to zero; in place."""
    return excess.div_(RAMP).clamp_(-1, 1)


def draw_thresholds(
    sample: Tensor,
    weight: Tensor,
    dilation: Tensor,
    differenced: Tensor,
    n_thresholds: int,
    generator: torch.Generator,
    lengths: Tensor | None = None,
) -> Tensor:
    """Draw thresholds at random quantiles of the responses of each filter to a random series.

    Parameters
    ----------
    sample : Tensor of shape (n, channels, time)
        Series of the training data.
    weight : Tensor of shape (k, channels, length)
        Filters, in the order of `in_order`.
    dilation : Tensor of shape (k,)
        Their dilations.
    differenced : Tensor of shape (k,)
        Whether they are applied to first differences.
    n_thresholds : int
        Thresholds per filter.
    generator : torch.Generator
        Source of randomness.
    lengths : Tensor of shape (n,), default=None
        Lengths of the series, which are zero after their ends; None is all of `sample`.

    Returns
    -------
    Tensor of shape (k, n_thresholds)
    """
    count, _, length = weight.shape
    weight = weight.to(sample.device)
    quantile = torch.rand(count, n_thresholds, generator=generator).to(sample.device)
    n_series = min(len(sample), _SERIES_FOR_THRESHOLDS)
    if lengths is None:
        series = random_rows(sample, n_series, generator)
    else:
        drawn = random_rows(torch.arange(len(sample)), n_series, generator).to(sample.device)
        series, lengths = sample[drawn], lengths[drawn]
    chosen = torch.randint(len(series), (count,), generator=generator).to(sample.device)
    threshold = torch.empty(count, n_thresholds, device=sample.device)
    for is_differenced, step, first, last in ranges_of_kinds(differenced, dilation):
        inputs, counts = series, lengths
        if is_differenced and lengths is not None:
            inputs, counts = differences_within(series, lengths)
        elif is_differenced:
            inputs = differences(series)
        windows = dilated_windows(inputs, length, step)[chosen[first:last]]
        responses = (weight[first:last].flatten(1)[:, None] @ windows)[:, 0]
        if counts is not None:
            counts = counts[chosen[first:last]]
        threshold[first:last] = _quantiles(responses, quantile[first:last], counts)
    power = sample.square().mean()
    return threshold + _ABOVE_ROUNDING * power.sqrt()


def _quantiles(rows: Tensor, probability: Tensor, counts: Tensor | None = None) -> Tensor:
    """Quantiles of every row, or of its first `counts` values, at its own probabilities."""
    if counts is not None:
        outside = ~within(counts, rows.shape[1])
        ordered = rows.masked_fill(outside, torch.inf).sort(dim=1).values
        position = probability * (counts - 1)[:, None]
        lower = position.floor().long()
        upper = torch.minimum(lower + 1, (counts - 1)[:, None])
        return ordered.gather(1, lower).lerp(ordered.gather(1, upper), position - lower)
    position = probability * (rows.shape[1] - 1)
    ordered = rows.sort(dim=1).values
    lower = position.floor().long()
    upper = (lower + 1).clamp_max(rows.shape[1] - 1)
    return ordered.gather(1, lower).lerp(ordered.gather(1, upper), position - lower)
