"""The input adapter of series of different lengths and with gaps: their channels and scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from aleator.inputs.adapter_base import Adapter, ColumnRecord, check_preprocessing
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.reading import RawData, read_numbers
from aleator.inputs.scale import read_scale
from aleator.inputs.series.adapted import AdaptedSeries
from aleator.inputs.series.events import EventSeries, Grid
from aleator.inputs.series.source import SeriesSource, as_series
from aleator.inputs.series.statistics import ChannelStatistics
from aleator.inputs.sources import Source
from aleator.inputs.tables.values import Place

# A model that was saved has no more channels or steps.
_MOST = 1 << 24


class SeriesAdapter(Adapter):
    """Standardizes every channel of series, and pads them with NaN to the length of the longest.

    What was not observed stays NaN, which networks for such series mask. Events at irregular times
    are put on a grid first: see `Grid`.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the converted samples.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.

    Attributes
    ----------
    shape : tuple of int
        Channels, and steps of the longest series of the training data; others may be longer.
    names : list of str or None
        Names of the channels.
    missing : float
        Share of the values that were not observed, up to the end of each series.
    scale : dict of str to ndarray
        Mean and standard deviation ("mean", "deviation") of every channel; empty if values are not
        standardized.
    grid : Grid or None
        Steps of time on which events are put; None if series are given as arrays.

    Examples
    --------
    >>> from aleator.inputs.reading import read
    >>> layout = ArrayLayout("irregular-series", "series", ("channels", "time"), "channel")
    >>> series = [np.array([1.0, np.nan, 3.0]), np.array([1.0, 3.0])]
    >>> adapter = SeriesAdapter(layout).fit(read(series))
    >>> adapter.transform(series).tolist()
    [[[-1.0, nan, 1.0]], [[-1.0, 1.0, nan]]]
    """

    form: ClassVar[str] = "series"

    def __init__(self, layout: ArrayLayout, estimator_name: str = "the estimator") -> None:
        self.layout = layout
        self.estimator_name = estimator_name
        self.shape = (1, 1)
        self.names: list[str] | None = None
        self.missing = 0.0
        self.scale: dict[str, np.ndarray] = {}
        self.grid: Grid | None = None
        self._observed = np.ones(1, bool)
        self._lengths: tuple[int, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of channels."""
        return self.shape[0]

    @property
    def columns_(self) -> list[ColumnRecord]:
        """Series have no columns."""
        return []

    @property
    def missing_share(self) -> float:
        """Share of the values that were not observed."""
        return self.missing

    def facts(self) -> dict[str, str]:
        """Lengths and channels of the training data, and what is done with them."""
        found = {}
        if self._lengths:
            shortest, median, longest = self._lengths
            found["lengths"] = f"{shortest} to {longest} steps, median {median}"
        names = "" if self.names is None else f": {_listed(self.names)}"
        found["channels"] = f"{self.shape[0]}{names}"
        never = np.flatnonzero(~self._observed)
        if len(never):
            which = [str(k) if self.names is None else self.names[k] for k in never]
            found["never observed"] = f"{_listed(which)}, left out"
        if self.grid is not None:
            found["grid"] = str(self.grid)
        treatment = "each channel is standardized; " if self.scale else ""
        found["treatment"] = f"{treatment}gaps and what follows the end of a series are masked"
        return found

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn channels, lengths and scale of the training data, and check their values.

        Parameters
        ----------
        data : RawData
            Training data.
        preprocessing : {"auto", None}, default="auto"
            "auto" standardizes every channel; None leaves values as they are.

        Returns
        -------
        SeriesAdapter
        """
        check_preprocessing(preprocessing)
        self.grid, self.names = None, getattr(data.source, "channel_names", None)
        if isinstance(data.source, EventSeries):
            self.grid = data.source.learn_grid()
        source = self._on_grid(data.source)
        self.shape = (_n_channels(source, self.layout), _longest(source))
        found = ChannelStatistics.of(source, self.shape[0])
        if not found.observed.any():
            raise ValueError("X has no value that was observed: all are NaN")
        self._observed = found.observed
        self.missing, self._lengths = found.missing, found.lengths
        self.scale = found.scale if preprocessing == "auto" else {}
        return self

    def adapt(self, data: RawData) -> AdaptedSeries:
        """Return a source of converted series; nothing is converted yet.

        Parameters
        ----------
        data : RawData
            Series.

        Returns
        -------
        AdaptedSeries
        """
        source = self._on_grid(data.source)
        n_channels = _n_channels(source, self.layout)
        if n_channels != self.shape[0]:
            raise ValueError(
                f"X has {n_channels} channels, but {self.estimator_name} is expecting "
                f"{self.shape[0]} channels as input"
            )
        return AdaptedSeries(source, self, _longest(source))

    def read(self, X: Any) -> AdaptedSeries:
        """Read new series and return a source of converted ones.

        Parameters
        ----------
        X : list of arrays, array, data frame of series, path, torch Dataset or Source
            Series of any length with the channels of the training data.

        Returns
        -------
        AdaptedSeries
        """
        X = open_source(X)
        source = as_series(X, asked=True)
        if source is not None:
            return self.adapt(RawData(source))
        return self.adapt(read_numbers(X, estimator_name=self.estimator_name))

    def convert(self, batch: np.ndarray, place: Place, longest: int) -> np.ndarray:
        """Convert series.

        Parameters
        ----------
        batch : ndarray of shape (m, channels, time), (m, time) or (m,) of arrays (channels, time)
            Series.
        place : callable
            How messages name a row.
        longest : int
            Number of steps of the result.

        Returns
        -------
        ndarray of shape (m, channels, longest), float32
        """
        converted = np.full((len(batch), self.shape[0], longest), np.nan, np.float32)
        if batch.dtype == object:
            for row, one in enumerate(batch):
                converted[row, :, : one.shape[1]] = self._scaled(one, place, row)
        else:
            for row, one in enumerate(batch.reshape(len(batch), self.shape[0], -1)):
                converted[row, :, : one.shape[1]] = self._scaled(one, place, row)
        return converted

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {
            "form": self.form,
            "modality": self.modality,
            "shape": list(self.shape),
            "names": self.names,
            "missing": self.missing,
            "lengths": list(self._lengths),
            "grid": None if self.grid is None else self.grid.to_dict(),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Scale, and which channels were observed."""
        return {"observed": self._observed, **self.scale}

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned; ValueError if it cannot be."""
        made = cls(layout, estimator_name)
        shape, names, missing = stored["shape"], stored["names"], stored["missing"]
        lengths = stored["lengths"]
        whole = isinstance(shape, list) and all(type(n) is int and 0 < n < _MOST for n in shape)
        if layout.given_as != cls.form or not whole or len(shape) != 2:
            raise ValueError("the shape of the series is wrong")
        if not isinstance(missing, float) or not 0 <= missing <= 1:
            raise ValueError("the share of missing values is wrong")
        if len(lengths) != 3 or not all(type(n) is int for n in lengths):
            raise ValueError("the lengths of the series are wrong")
        if names is not None and (
            len(names) != shape[0] or not all(isinstance(name, str) for name in names)
        ):
            raise ValueError("the names of the channels are wrong")
        made.shape, made.names, made.missing = tuple(shape), names, missing
        made._lengths = tuple(lengths)
        made.grid = None if stored["grid"] is None else Grid.from_dict(stored["grid"])
        if made.grid is not None and names is None:
            raise ValueError("the names of the channels are missing")
        made._observed = arrays["observed"]
        if made._observed.shape != (shape[0],) or made._observed.dtype != bool:
            raise ValueError("which channels were observed is wrong")
        scale = {name: array for name, array in arrays.items() if name != "observed"}
        made.scale = read_scale(scale, (shape[0], 1))
        return made

    def _on_grid(self, source: Source) -> Source:
        """Put events on the grid; other sources are returned as they are."""
        if not isinstance(source, EventSeries):
            return source
        if self.grid is None or self.names is None:
            raise ValueError(
                f"{self.estimator_name} was fitted on series without times, but X has them: pass "
                "arrays, or fit on what open_series returns"
            )
        return source.on_grid(self.grid, self.names)

    def _scaled(self, one: np.ndarray, place: Place, row: int) -> np.ndarray:
        values = one.astype(np.float64)
        values[~self._observed] = np.nan  # which has no scale
        if self.scale:  # in double precision, since a large mean would cost digits
            values = (values - self.scale["mean"]) / self.scale["deviation"]
        with np.errstate(over="ignore"):
            converted = values.astype(np.float32)
        if np.isinf(converted).any():
            channel, step = (int(k) for k in np.argwhere(np.isinf(converted))[0])
            if np.isinf(one[channel, step]):
                problem = "an infinity (inf)"
            else:
                problem = "a value that is too large for float32"
            raise ValueError(
                f"X contains {problem} in {place(row)}, channel {channel}, time {step}: correct "
                "it, or make it NaN, which is masked"
            )
        return converted


def _n_channels(source: Source, layout: ArrayLayout) -> int:
    if source.schema.dtype == object:
        return source.n_channels  # type: ignore[attr-defined]
    return layout.sample_shape((len(source), *source.schema.shape))[0]


def _longest(source: Source) -> int:
    """Return the steps of the longest series; one for series that are all empty."""
    if source.schema.dtype == object:
        return max(1, source.longest)  # type: ignore[attr-defined]
    return max(1, source.schema.shape[-1])


def _listed(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


__all__ = ["SeriesAdapter", "SeriesSource"]
