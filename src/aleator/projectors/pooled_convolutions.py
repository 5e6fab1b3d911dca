"""Dilated convolutions over series, pooled over time: what several families are made of."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from aleator.projectors.drawn import DrawnModule, log_uniform, random_rows

# Values of responses that are pooled at once on a CPU: they must fit in its cache.
_CACHED = 1 << 18
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
        n_filters, _, length = self.weight.shape
        n_statistics = self.threshold.shape[1] + 1 + self._with_maximum
        pooled = x.new_empty(len(x), n_statistics, n_filters)
        for differenced, dilation, first, last in self._ranges:
            windows = dilated_windows(differences(x) if differenced else x, length, dilation)
            weight = self.weight[first:last].flatten(1)
            threshold = self.threshold[first:last]
            for start, stop in pieces(len(x), last - first, windows.shape[-1], x.device):
                responses = weight @ windows[start:stop]
                pooled[start:stop, :, first:last] = self._pool(responses, threshold)
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


def in_order(differenced: Tensor, dilation: Tensor) -> Tensor:
    """Order of filters in which those that are applied together are neighbors.

    Parameters
    ----------
    differenced : Tensor of shape (k,)
        Whether a filter is applied to first differences.
    dilation : Tensor of shape (k,)
        Dilation of every filter.

    Returns
    -------
    Tensor of shape (k,)
        Positions of the filters.

    Examples
    --------
    >>> in_order(torch.tensor([True, False, False]), torch.tensor([1, 2, 1])).tolist()
    [2, 1, 0]
    """
    return (differenced * (dilation.max() + 1) + dilation).argsort(stable=True)


def ranges_of_kinds(differenced: Tensor, dilation: Tensor) -> list[tuple[bool, int, int, int]]:
    """Find ranges of filters of one kind; filters are sorted by `in_order`.

    Parameters
    ----------
    differenced : Tensor of shape (k,)
        Whether a filter is applied to first differences.
    dilation : Tensor of shape (k,)
        Dilation of every filter.

    Returns
    -------
    list of tuple
        Kind (differenced, dilation), first filter, and the one after the last.

    Examples
    --------
    >>> ranges_of_kinds(torch.tensor([False, False, True]), torch.tensor([1, 1, 1]))
    [(False, 1, 0, 2), (True, 1, 2, 3)]
    """
    kinds = list(zip(differenced.tolist(), dilation.tolist(), strict=True))
    starts = [i for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]]
    stops = [*starts[1:], len(kinds)]
    return [(*kinds[start], start, stop) for start, stop in zip(starts, stops, strict=True)]


def dilated_windows(x: Tensor, length: int, dilation: int) -> Tensor:
    """Windows around every time step, with zeros beyond the ends.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series.
    length : int
        Values per window and channel.
    dilation : int
        Distance between two values of a window.

    Returns
    -------
    Tensor of shape (m, channels * length, time)

    Examples
    --------
    >>> dilated_windows(torch.tensor([[[1.0, 2, 3]]]), length=3, dilation=1)[0, :, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    reach = (length - 1) * dilation
    padded = F.pad(x, (reach // 2, reach - reach // 2))
    n_samples, n_channels, n_steps = x.shape
    sample, channel, step = padded.stride()
    windows = padded.as_strided(
        (n_samples, n_channels, length, n_steps), (sample, channel, dilation * step, step)
    )
    return windows.reshape(n_samples, n_channels * length, n_steps)


def differences(x: Tensor) -> Tensor:
    """First differences of series; a series of one step has none and stays as it is.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series.

    Returns
    -------
    Tensor of shape (m, channels, time - 1)

    Examples
    --------
    >>> differences(torch.tensor([[[1.0, 3.0, 2.0]]])).tolist()
    [[[2.0, -1.0]]]
    """
    return x.diff(dim=-1) if x.shape[-1] > 1 else x


def pieces(
    n_samples: int, n_filters: int, n_steps: int, device: torch.device
) -> list[tuple[int, int]]:
    """Ranges of samples whose responses fit in the cache of a CPU; all samples on a GPU.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_filters : int
        Number of filters.
    n_steps : int
        Responses per filter.
    device : torch.device
        Where the responses are computed.

    Returns
    -------
    list of tuple of two int
        First sample of every range, and the one after its last.

    Examples
    --------
    >>> pieces(3, 1 << 10, 1 << 7, torch.device("cpu"))
    [(0, 2), (2, 3)]
    """
    size = max(1, _CACHED // max(1, n_filters * n_steps)) if device.type == "cpu" else n_samples
    return [(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]


def draw_channels(count: int, n_channels: int, generator: torch.Generator) -> Tensor:
    """Draw random channels, most often few, for every filter.

    Parameters
    ----------
    count : int
        Number of filters.
    n_channels : int
        Number of channels.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    Tensor of shape (count, n_channels, 1)
        One for the channels of a filter, and zero for the others.

    Examples
    --------
    >>> mask = draw_channels(100, 4, torch.Generator().manual_seed(0))
    >>> mask.sum(1).min().item(), mask.sum(1).max().item()
    (1.0, 4.0)
    """
    sizes = log_uniform(1, n_channels + 1, count, generator).long().clamp(1, n_channels)
    rank = torch.rand(count, n_channels, generator=generator).argsort(1).argsort(1)
    return (rank < sizes[:, None]).float()[..., None]


def draw_dilations(count: int, n_steps: int, length: int, generator: torch.Generator) -> Tensor:
    """Draw dilations log-uniformly, such that no filter is longer than a series.

    They are rounded to powers of the square root of two, because filters of one dilation are
    applied together.

    Parameters
    ----------
    count : int
        Number of filters.
    n_steps : int
        Length of the series.
    length : int
        Length of the filters.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    Tensor of shape (count,), int64

    Examples
    --------
    >>> drawn = draw_dilations(1000, 128, 9, torch.Generator().manual_seed(0))
    >>> drawn.unique().tolist()
    [1, 2, 3, 4, 6, 8, 11]
    """
    most = max(1, (n_steps - 1) // max(1, length - 1))
    exponent = (2 * log_uniform(1, most + 1e-3, count, generator).log2()).floor()
    return (2 ** (exponent / 2)).round().long().clamp(1, most)


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


def sorted_by_kind(*filters: Any) -> list[Any]:
    """Sort filters by `in_order`: dilations, whether they are differenced, and anything else.

    Parameters
    ----------
    *filters : Tensor of shape (k, ...)
        Dilations, then whether the filters are differenced, then other tensors.

    Returns
    -------
    list of Tensor
        The same tensors, sorted.

    Examples
    --------
    >>> sorted_by_kind(torch.tensor([2, 1]), torch.tensor([False, False]), torch.tensor([5, 6]))[2]
    tensor([6, 5])
    """
    order = in_order(filters[1], filters[0])
    return [part[order.to(part.device)] for part in filters]
