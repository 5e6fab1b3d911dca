"""Dilated convolutions over series, pooled over time: what several families are made of."""

from __future__ import annotations

import torch
from torch import Tensor

from aleator.projectors.dilated_filters import (
    differences,
    dilated_windows,
    ranges_of_kinds,
    responses_in_pieces,
)
from aleator.projectors.drawn import DrawnModule, random_rows

# Thresholds are quantiles of the responses to one of this many series per filter.
_SERIES_FOR_THRESHOLDS = 256
_LEAST_VARIANCE = 1e-8
# Thresholds are raised by this share of the size of the data. Responses to constant stretches, and
# to series of one step, equal the threshold but for rounding, which must not decide on which side
# they are.
_ABOVE_ROUNDING = 1e-5


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

    def forward(self, x: Tensor) -> Tensor:
        """Return the pooled responses.

        Parameters
        ----------
        x : Tensor of shape (m, channels, time)
            Series.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        n_statistics = self.threshold.shape[1] + 1 + self._with_maximum
        pooled = x.new_empty(len(x), n_statistics, len(self.weight))
        for samples, filters, responses in responses_in_pieces(x, self.weight, self._ranges):
            pooled[samples, :, filters] = self._pool(responses, self.threshold[filters])
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


def draw_thresholds(
    sample: Tensor,
    weight: Tensor,
    dilation: Tensor,
    differenced: Tensor,
    n_thresholds: int,
    generator: torch.Generator,
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

    Returns
    -------
    Tensor of shape (k, n_thresholds)
    """
    count, _, length = weight.shape
    weight = weight.to(sample.device)
    quantile = torch.rand(count, n_thresholds, generator=generator).to(sample.device)
    series = random_rows(sample, min(len(sample), _SERIES_FOR_THRESHOLDS), generator)
    chosen = torch.randint(len(series), (count,), generator=generator).to(sample.device)
    threshold = torch.empty(count, n_thresholds, device=sample.device)
    for is_differenced, step, first, last in ranges_of_kinds(differenced, dilation):
        inputs = differences(series) if is_differenced else series
        windows = dilated_windows(inputs, length, step)[chosen[first:last]]
        responses = (weight[first:last].flatten(1)[:, None] @ windows)[:, 0]
        threshold[first:last] = _quantiles(responses, quantile[first:last])
    return threshold + _ABOVE_ROUNDING * sample.square().mean().sqrt()


def _quantiles(rows: Tensor, probability: Tensor) -> Tensor:
    """Quantiles of every row at its own probabilities."""
    position = probability * (rows.shape[1] - 1)
    ordered = rows.sort(dim=1).values
    lower = position.floor().long()
    upper = (lower + 1).clamp_max(rows.shape[1] - 1)
    return ordered.gather(1, lower).lerp(ordered.gather(1, upper), position - lower)
