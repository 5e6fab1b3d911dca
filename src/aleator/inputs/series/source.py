"""Which objects are collections of series, and a source of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import torch

from aleator.inputs.frames import is_frame
from aleator.inputs.sources import Schema, Source, chosen_rows, tensor_to_array

_CHUNK_VALUES = 1 << 22


class SeriesSource(Source):
    """Series of different lengths in memory, each of shape (channels, time).

    Made by `open_series`; see there. It can be passed to estimators as X.

    Parameters
    ----------
    series : sequence of ndarray of shape (channels, time)
        The series; NaN where nothing was observed.
    labels : ndarray of shape (n,) or None, default=None
        Labels that were in the file.
    channel_names : list of str or None, default=None
        Names of the channels.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
        Labels that were in the file.
    channel_names : list of str or None
        Names of the channels.

    Examples
    --------
    >>> source = SeriesSource([np.zeros((2, 5)), np.zeros((2, 3))])
    >>> len(source), source.longest, [s.shape for s in source.gather(np.array([1]))]
    (2, 5, [(2, 3)])
    """

    modality = "series"
    in_memory = True
    ids: np.ndarray | None = None

    def __init__(
        self,
        series: Sequence[np.ndarray],
        labels: np.ndarray | None = None,
        channel_names: list[str] | None = None,
    ) -> None:
        self._series = list(series)
        self.labels = labels
        self.channel_names = channel_names
        self.schema = Schema((), np.dtype(object))
        for row, one in enumerate(self._series):
            if len(one) != self.n_channels:
                raise ValueError(
                    f"{self.describe_row(row)} of X has {len(one)} channels, but "
                    f"{self.describe_row(0)} has {self.n_channels}: all series must have the same "
                    "channels, as (channels, time)"
                )

    def __len__(self) -> int:
        return len(self._series)

    def __getitem__(self, index: Any) -> Self:
        """Return some of the series, with their labels: those of a slice, a mask or positions."""
        chosen = chosen_rows(len(self), index)
        labels = None if self.labels is None else self.labels[chosen]
        return type(self)([self._series[row] for row in chosen], labels, self.channel_names)

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return len(self._series[0]) if self._series else 0

    @property
    def lengths(self) -> list[int]:
        """Number of steps of every series."""
        return [one.shape[1] for one in self._series]

    @property
    def longest(self) -> int:
        """Number of steps of the longest series."""
        return max(self.lengths, default=0)

    @property
    def rows_per_chunk(self) -> int:
        """Series per chunk if nothing else is asked for."""
        return max(1, _CHUNK_VALUES // max(1, self.n_channels * self.longest))

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the series at `index`: an array of arrays (channels, time)."""
        found = np.empty(len(index), object)
        for position, row in enumerate(np.asarray(index).tolist()):
            found[position] = self._series[row]
        return found

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return shapes and values of the series at `index` as bytes, to compare them."""
        parts = [repr(one.shape).encode() + one.tobytes() for one in self.gather(index)]
        return b"\n".join(parts)


def as_series(X: Any, *, asked: bool = False) -> Source | None:
    """Return X as a source if it is a collection of series that is not an array.

    That is a list of arrays, tensors or columns of different lengths, a list of data frames (of
    time steps and channels), or a data frame whose cells are series.

    Parameters
    ----------
    X : object
        What a user passed as X.
    asked : bool, default=False
        Whether X is said to be series. Then lists of numbers and frames with an index of series and
        time are series, too.

    Returns
    -------
    Source or None
        None if X is something else, also if it is a list of arrays of one shape, which is an array.

    Examples
    --------
    >>> as_series([np.zeros(4), np.zeros(6)]).n_channels
    1
    >>> as_series([np.zeros(4), np.zeros(4)]) is None
    True
    """
    if isinstance(X, Source):
        return X if X.modality == SeriesSource.modality else None
    if is_frame(X):
        from aleator.inputs.series.collections import series_of_frame

        return series_of_frame(X, asked=asked)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        X = list(X)
    if not isinstance(X, (list, tuple)) or len(X) == 0:
        return None
    if not all(is_frame(item) for item in X):
        shapes = {tuple(getattr(item, "shape", ())) for item in X}
        if not asked and (len(shapes) < 2 or not all(1 <= len(shape) <= 2 for shape in shapes)):
            return None
        shapes = {np.shape(item) for item in X if not _has_none(item)}
        if len(shapes) == 1 and not any(_has_none(item) for item in X):
            return None
    return series_of_list(X)


def series_of_list(X: Sequence[Any]) -> SeriesSource:
    """Return a list of arrays, of any lengths, or of data frames as a source.

    Parameters
    ----------
    X : sequence of array-like of shape (channels, time) or (time,), or of data frames
        The series; frames have a row per time step and a column per channel.

    Returns
    -------
    SeriesSource

    Examples
    --------
    >>> series_of_list([np.zeros((2, 4)), np.zeros((2, 4))]).lengths
    [4, 4]
    """
    if all(is_frame(item) for item in X):
        names = [str(name) for name in X[0].columns]
        return SeriesSource([_of_frame(frame, names, k) for k, frame in enumerate(X)], None, names)
    return SeriesSource([checked_series(item, f"row {row}") for row, item in enumerate(X)])


def _has_none(item: Any) -> bool:
    """Whether a series is a list with None, which arrays do not have."""
    return isinstance(item, (list, tuple)) and any(
        value is None or _has_none(value) for value in item
    )


def checked_series(item: Any, place: str) -> np.ndarray:
    """Return a series as an array (channels, time), or raise ValueError.

    Examples
    --------
    >>> checked_series([1, None, 3], "row 0").tolist()
    [[1.0, nan, 3.0]]
    """
    if isinstance(item, torch.Tensor):
        item = tensor_to_array(item)
    try:
        values = np.asarray(item)
        if values.dtype == object:  # None is a gap
            values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{place} of X is {type(item).__name__} ({item!r:.60}), which is not a series of "
            "numbers: each must be an array of shape (channels, time), or (time,)"
        ) from error
    if values.dtype.kind not in "biuf" or values.ndim not in (1, 2):
        raise ValueError(
            f"{place} of X has the shape {values.shape} and holds {values.dtype}, but a series is "
            "numbers of the shape (channels, time), or (time,)"
        )
    return values[None] if values.ndim == 1 else values


def _of_frame(frame: Any, names: Iterable[str], row: int) -> np.ndarray:
    """Values of a frame of one series, with a row per time step."""
    given = [str(name) for name in frame.columns]
    if missing := [name for name in names if name not in given]:
        raise ValueError(
            f"the frame in row {row} of X has no column {missing[0]!r}, but the first frame has"
        )
    columns = [frame[frame.columns[given.index(name)]] for name in names]
    return np.stack([np.asarray(column, np.float64) for column in columns])
