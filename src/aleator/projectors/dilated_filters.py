"""Filters of different dilations over series: how they are drawn, sorted and applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from aleator.networks.observed import differences_within, within
from aleator.projectors.drawn import GPU_VALUES, log_uniform

# Values of responses that are computed at once on a CPU: they must fit in its cache.
_CACHED = 1 << 18


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
    """Ranges of samples whose responses fit in the cache of a CPU, or in the memory of a GPU.

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
    at_once = _CACHED if device.type == "cpu" else GPU_VALUES
    size = max(1, at_once // max(1, n_filters * n_steps))
    return [(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]


def responses_in_pieces(
    x: Tensor, weight: Tensor, ranges: Sequence[tuple[bool, int, int, int]]
) -> Iterator[tuple[slice, slice, Tensor]]:
    """Apply filters of one kind at a time, to as many series as `pieces` says.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series.
    weight : Tensor of shape (k, channels, length) or (k, n, channels, length)
        Filters, or groups of n filters.
    ranges : sequence of tuple
        Ranges of filters or groups of one kind, from `ranges_of_kinds`.

    Yields
    ------
    samples, filters : slice
        Which series, and which filters or groups.
    responses : Tensor of shape (samples, filters, time) or (samples, groups * n, time)
        Their responses.

    Examples
    --------
    >>> x, weight = torch.tensor([[[1.0, 2.0, 4.0]]]), torch.ones(1, 1, 1)
    >>> [responses.tolist() for *_, responses in responses_in_pieces(x, weight, [(True, 1, 0, 1)])]
    [[[[1.0, 2.0]]]]
    """
    for differenced, dilation, first, last in ranges:
        inputs = differences(x) if differenced else x
        windows = dilated_windows(inputs, weight.shape[-1], dilation)
        rows = weight[first:last].flatten(-2).flatten(0, -2)
        for start, stop in pieces(len(x), len(rows), windows.shape[-1], x.device):
            yield slice(start, stop), slice(first, last), rows @ windows[start:stop]


def responses_within(
    x: Tensor, lengths: Tensor, weight: Tensor, ranges: Sequence[tuple[bool, int, int, int]]
) -> Iterator[tuple[slice, slice, Tensor, Tensor]]:
    """As `responses_in_pieces`, for series of different lengths.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series; zero after their ends.
    lengths : Tensor of shape (m,)
        Their lengths.
    weight : Tensor of shape (k, channels, length) or (k, n, channels, length)
        Filters, or groups of n filters.
    ranges : sequence of tuple
        Ranges of filters or groups of one kind, from `ranges_of_kinds`.

    Yields
    ------
    samples, filters : slice
        Which series, and which filters or groups.
    responses : Tensor of shape (samples, filters, time) or (samples, groups * n, time)
        Their responses; zero after the ends of series.
    counts : Tensor of shape (samples,)
        How many of the responses are before the end.

    Examples
    --------
    >>> x, weight = torch.tensor([[[1.0, 2.0, 4.0, 0.0]]]), torch.ones(1, 1, 3)
    >>> [responses.tolist() for _, _, responses, _
    ...  in responses_within(x, torch.tensor([3]), weight, [(False, 1, 0, 1)])]
    [[[[3.0, 7.0, 6.0, 0.0]]]]
    """
    for differenced, dilation, first, last in ranges:
        inputs, counts = differences_within(x, lengths) if differenced else (x, lengths)
        inside = within(counts, x.shape[-1])[:, None]
        reach = (weight.shape[-1] - 1) * dilation
        padded = F.pad(inputs, (reach // 2, reach - reach // 2))
        rows = weight[first:last].flatten(0, -3)
        # Filters of one kind are few, and to copy windows of many channels takes longer than they.
        for start, stop in pieces(len(x), len(rows), x.shape[-1], x.device):
            responses = F.conv1d(padded[start:stop], rows, dilation=dilation)
            responses = responses.mul_(inside[start:stop])
            yield slice(start, stop), slice(first, last), responses, counts[start:stop]


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


def usual_length(sample: Tensor, lengths: Tensor | None) -> int:
    """Length of series for which filters are drawn: that of all, or the median.

    Parameters
    ----------
    sample : Tensor of shape (n, channels, time)
        Series.
    lengths : Tensor of shape (n,) or None
        Their lengths; None is all of `sample`.

    Returns
    -------
    int

    Examples
    --------
    >>> usual_length(torch.zeros(3, 2, 9), torch.tensor([9, 4, 5]))
    5
    """
    return sample.shape[-1] if lengths is None else int(lengths.median())


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
