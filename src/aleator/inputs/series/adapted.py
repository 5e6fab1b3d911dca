"""Series that a `SeriesAdapter` converts when they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from aleator.inputs.adapter_base import AdapterSource
from aleator.inputs.pieces import BUFFER_SIZE
from aleator.inputs.sources import Schema, Source

if TYPE_CHECKING:
    from aleator.inputs.series.adapter import SeriesAdapter


class AdaptedSeries(AdapterSource):
    """Series of any length, standardized, and followed by NaN up to the length of the longest.

    Parameters
    ----------
    source : Source
        The series as they were given, or on a grid: an array, or arrays of any length.
    adapter : SeriesAdapter
        How to convert them.
    longest : int
        Number of steps of the longest.
    """

    def __init__(self, source: Source, adapter: SeriesAdapter, longest: int) -> None:
        self._source = source
        self._adapter = adapter
        self._kept: np.ndarray | None = None
        self.schema = Schema((adapter.n_features, longest), np.dtype(np.float32))
        self.in_memory = source.in_memory

    @property
    def raw(self) -> Source:
        """The series as they were given."""
        return self._source

    def __len__(self) -> int:
        return len(self._source)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the converted series at `index`, in that order."""
        if self._kept is not None:
            return self._kept[index]
        return self._convert(self._source.gather(index), np.asarray(index))

    def chunks(
        self, rows: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[np.ndarray]:
        """Yield series in order, converted and checked."""
        rows = rows or self.rows_per_chunk
        stop = len(self) if stop is None else stop
        if self._kept is not None:
            for first in range(start, stop, rows):
                yield self._kept[first : min(first + rows, stop)]
            return
        for batch in self._source.chunks(rows, start, stop):
            yield self._convert(batch, np.arange(start, start + len(batch)))
            start += len(batch)

    def in_order(self, order: np.ndarray) -> AdaptedSeries:
        """Return a source for reading the series at `order` once, in this order."""
        if self._kept is not None:
            return self
        return AdaptedSeries(self._source.in_order(order), self._adapter, self.schema.shape[1])

    def part(self, pieces: np.ndarray) -> AdaptedSeries:
        """Return the series of some of the pieces that files are read in."""
        return AdaptedSeries(self._source.part(pieces), self._adapter, self.schema.shape[1])

    def as_array(self) -> np.ndarray | None:
        """Convert all series and keep them, if they are in memory and the result is not large."""
        if self._kept is None and self.can_be_shared:
            self._kept = self.materialize()
        return self._kept

    @property
    def can_be_shared(self) -> bool:
        """Whether the series are in memory, and not many when they are converted."""
        return self.in_memory and 4 * len(self) * self.schema.size <= BUFFER_SIZE

    def filled_up(self, shape: tuple[int, ...]) -> AdaptedSeries | None:
        """Return the series followed by NaN up to a larger number of steps."""
        channels, longest = self.schema.shape
        if shape[0] != channels or shape[1] < longest:
            return None
        return AdaptedSeries(self._source, self._adapter, shape[1])

    def _convert(self, batch: np.ndarray, rows: np.ndarray) -> np.ndarray:
        def place(row: int) -> str:
            return self._source.describe_row(int(rows[row]))

        return self._adapter.convert(batch, place, self.schema.shape[1])
