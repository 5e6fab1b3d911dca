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


def has_gaps(x: Tensor) -> bool:
    """Whether a value is missing before the end of a series.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series; NaN where nothing was observed.

    Returns
    -------
    bool

    Examples
    --------
    >>> nan = float("nan")
    >>> has_gaps(torch.tensor([[[1.0, 2.0, nan]]])), has_gaps(torch.tensor([[[1.0, nan, 2.0]]]))
    (False, True)
    """
    inside = within(series_lengths(x), x.shape[-1])[:, None]
    return bool((x.isnan() & inside).any())


def fill_gaps(x: Tensor) -> tuple[Tensor, Tensor]:
    """Fill gaps with the last value that was observed before them.

    If there is none, a gap has zero: the mean of standardized data. Steps after the end of a series
    are zero, as convolutions have it beyond the ends of any series.

    Parameters
    ----------
    x : Tensor of shape (m, channels, time)
        Series; NaN where nothing was observed.

    Returns
    -------
    filled : Tensor of shape (m, channels, time)
        The series.
    lengths : Tensor of shape (m,), int64
        Their lengths.

    Examples
    --------
    >>> nan = float("nan")
    >>> filled, lengths = fill_gaps(torch.tensor([[[nan, 5.0, nan, 7.0, nan]]]))
    >>> filled.tolist(), lengths.tolist()
    ([[[0.0, 5.0, 5.0, 7.0, 0.0]]], [4])
    """
    lengths = series_lengths(x)
    step = torch.arange(x.shape[-1], device=x.device)
    last = torch.where(x.isnan(), -1, step).cummax(-1).values
    carried = x.nan_to_num(0.0).gather(-1, last.clamp_min(0))
    inside = within(lengths, x.shape[-1])[:, None]
    return torch.where((last >= 0) & inside, carried, 0.0), lengths


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
