"""Series with gaps: what was observed, where a series ends, and how gaps are filled.

Samples have one shape: values that were not observed, and steps after the end of a series, are NaN.
A series ends with the last step at which any channel was observed, so that the same series followed
by any number of NaN is the same series. What networks compute from it must not depend on that
number.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def series_lengths(x: Tensor) -> Tensor:
    """Count the steps up to the last observation of any channel, at least one.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series; NaN where nothing was observed.

    Returns
    -------
    Tensor of shape (m,), int64

    Examples
    --------
    >>> nan = float("nan")
    >>> series_lengths(torch.tensor([[[1.0, nan, 2.0, nan]], [[nan, nan, nan, nan]]])).tolist()
    [3, 1]
    """
    step = torch.arange(1, x.shape[-1] + 1, device=x.device)
    observed = ~x.isnan().all(1)
    return (observed * step).amax(-1).clamp_min(1)


def within(lengths: Tensor, n_steps: int) -> Tensor:
    """Say which steps belong to each series.

    Parameters
    ----------
    lengths : Tensor of shape (m,)
        Lengths of the series.
    n_steps : int
        Number of steps.

    Returns
    -------
    Tensor of shape (m, n_steps), bool

    Examples
    --------
    >>> within(torch.tensor([1, 2]), 3).int().tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    return torch.arange(n_steps, device=lengths.device) < lengths[:, None]


def channels_with_gaps(x: Tensor) -> Tensor:
    """Find the channels that have a gap before the end of a series.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series; NaN where nothing was observed.

    Returns
    -------
    Tensor of shape (k,), int64

    Examples
    --------
    >>> nan = float("nan")
    >>> channels_with_gaps(torch.tensor([[[1.0, nan, 2.0, nan], [3.0, 4.0, 5.0, nan]]])).tolist()
    [0]
    """
    inside = within(series_lengths(x), x.shape[-1])[:, None]
    return (x.isnan() & inside).any(-1).any(0).nonzero()[:, 0]


def fill_gaps(x: Tensor, marked: Tensor) -> tuple[Tensor, Tensor]:
    """Fill gaps, and add channels that say where there were none.

    A gap has the last value that was observed before it and, if there is none, zero: the mean of
    standardized data. Steps after the end of a series are zero, as convolutions have it beyond the
    ends of any series.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series; NaN where nothing was observed.
    marked : Tensor of shape (k,), int64
        Channels for which there is another one: one where a value was observed, else zero.

    Returns
    -------
    filled : Tensor of shape (m, channels + k, time)
        The series.
    lengths : Tensor of shape (m,), int64
        Their lengths.

    Examples
    --------
    >>> nan = float("nan")
    >>> filled, lengths = fill_gaps(torch.tensor([[[nan, 5.0, nan, 7.0, nan]]]), torch.tensor([0]))
    >>> filled.tolist(), lengths.tolist()
    ([[[0.0, 5.0, 5.0, 7.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0]]], [4])
    """
    lengths = series_lengths(x)
    observed = ~x.isnan()
    step = torch.arange(x.shape[-1], device=x.device)
    last = torch.where(observed, step, -1).cummax(-1).values
    carried = x.nan_to_num(0.0).gather(-1, last.clamp_min(0))
    inside = within(lengths, x.shape[-1])[:, None]
    filled = torch.where((last >= 0) & inside, carried, 0.0)
    if len(marked):
        filled = torch.cat([filled, observed.index_select(1, marked).to(filled.dtype)], 1)
    return filled, lengths


def differences_within(x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Compute first differences of series, zero after their ends.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series.
    lengths : Tensor of shape (m,)
        Their lengths.

    Returns
    -------
    differences : Tensor of shape (m, channels, time)
        Differences to the next step.
    lengths : Tensor of shape (m,)
        How many there are; a series of one step has one, which is zero.

    Examples
    --------
    >>> differences_within(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), torch.tensor([3]))
    (tensor([[[ 2., -1.,  0.,  0.]]]), tensor([2]))
    """
    inside = within(lengths - 1, x.shape[-1])[:, None]
    return torch.where(inside, F.pad(x.diff(dim=-1), (0, 1)), 0.0), (lengths - 1).clamp_min(1)
