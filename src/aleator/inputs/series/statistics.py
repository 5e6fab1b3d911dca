"""Lengths, gaps and scale of series, in one pass over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aleator.inputs.sources import Source


@dataclass(frozen=True)
class ChannelStatistics:
    """What the adapter of series learns from the training data.

    Attributes
    ----------
    observed : ndarray of shape (channels,), bool
        Which channels have a value at all.
    mean, deviation : ndarray of shape (channels, 1)
        Mean and standard deviation of what was observed; the deviation of a constant is one.
    missing : float
        Share of the values that were not observed, up to the end of each series.
    lengths : tuple of int
        The shortest, the median and the longest series, up to the last observation.
    """

    observed: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    missing: float
    lengths: tuple[int, int, int]

    @property
    def scale(self) -> dict[str, np.ndarray]:
        """Mean and standard deviation by name."""
        return {"mean": self.mean, "deviation": self.deviation}

    @classmethod
    def of(cls, source: Source, n_channels: int) -> ChannelStatistics:
        """Compute the statistics; an infinity is an error.

        Parameters
        ----------
        source : Source
            Series: an array with or without a channel axis, or arrays of any length.
        n_channels : int
            Number of channels.

        Returns
        -------
        ChannelStatistics

        Examples
        --------
        >>> from aleator.inputs.series.source import SeriesSource
        >>> series = SeriesSource([np.array([[1.0, np.nan, 3.0]]), np.array([[5.0, np.nan]])])
        >>> found = ChannelStatistics.of(series, 1)
        >>> found.mean.item(), found.lengths, round(found.missing, 2)
        (3.0, (1, 3, 3), 0.25)
        """
        count, mean, squares = (np.zeros(n_channels) for _ in range(3))
        lengths: list[np.ndarray] = []
        start = 0
        for chunk in source.chunks():
            values, ends = _side_by_side(chunk, n_channels)
            lengths.append(ends)
            gaps = np.isnan(values)
            if np.isinf(values).any():
                _raise_infinity(source, chunk, n_channels, start)
            known = (~gaps).sum(axis=1)
            divisor = np.maximum(known, 1)
            with np.errstate(over="ignore", invalid="ignore"):  # which is an error below
                part_mean = np.where(gaps, 0, values).sum(axis=1) / divisor
                part_squares = np.square(np.where(gaps, 0, values - part_mean[:, None])).sum(axis=1)
                # Means and squares of two parts together (Chan, Golub and LeVeque 1979).
                total = np.maximum(count + known, 1)
                shift = part_mean - mean
                mean = mean + np.where(known > 0, shift * known / total, 0)
                squares = squares + part_squares + np.square(shift) * count * known / total
            count = count + known
            start += len(chunk)
        steps = np.sort(np.concatenate(lengths))
        deviation = np.sqrt(squares / np.maximum(count, 1))
        if not np.isfinite(deviation).all():
            channel = int(np.flatnonzero(~np.isfinite(deviation))[0])
            raise ValueError(
                f"X contains values in channel {channel} that are too large for float32: rescale "
                "them"
            )
        # As in scikit-learn, what varies only by rounding is constant.
        constant = deviation <= 10 * np.finfo(np.float64).eps * np.abs(mean)
        total_steps = n_channels * int(steps.sum())
        return cls(
            count > 0,
            mean[:, None],
            np.where(constant, 1.0, deviation)[:, None],
            1 - float(count.sum()) / total_steps if total_steps else 0.0,
            (int(steps[0]), int(steps[len(steps) // 2]), int(steps[-1])),
        )


def _side_by_side(chunk: np.ndarray, n_channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of shape (channels, steps of all series), and the number of steps of each series."""
    if chunk.dtype == object:
        values = np.concatenate([one.astype(np.float64) for one in chunk], axis=1)
        return values, np.array([_end(one) for one in chunk])
    dense = chunk.reshape(len(chunk), n_channels, -1).astype(np.float64)
    return np.moveaxis(dense, 1, 0).reshape(n_channels, -1), np.array([_end(one) for one in dense])


def _end(one: np.ndarray) -> int:
    """Count the steps up to the last observation."""
    if one.dtype.kind != "f":
        return one.shape[1]
    steps = np.flatnonzero(~np.isnan(one).all(axis=0))
    return int(steps[-1]) + 1 if len(steps) else 0


def _raise_infinity(source: Source, chunk: np.ndarray, n_channels: int, start: int) -> None:
    for row, one in enumerate(chunk):
        values = np.asarray(one).reshape(n_channels, -1)
        if values.dtype.kind == "f" and np.isinf(values).any():
            channel, step = np.argwhere(np.isinf(values))[0]
            raise ValueError(
                f"X contains an infinity (inf) in {source.describe_row(start + row)}, channel "
                f"{channel}, time {step}: correct it, or make it NaN, which is masked"
            )
