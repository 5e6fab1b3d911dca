"""Rows of a table that a `Converter` converts whenever they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from aleator.inputs.adapter_base import AdapterSource
from aleator.inputs.pieces import BUFFER_SIZE
from aleator.inputs.reading import RawData
from aleator.inputs.sources import Schema, Source

# Rows that are converted at once: each column of them is handled as a whole, in double precision.
ROWS_AT_ONCE = 1 << 13


class Converter(Protocol):
    """An adapter that converts rows as they were given, whatever they are."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a converted row."""

    def convert(self, batch: Any, place: Callable[[int], str]) -> np.ndarray:
        """Convert rows; `place` is how messages name one."""


class AdaptedTable(AdapterSource):
    """Rows of a table, converted when they are read.

    To convert text takes longer than to train on it, so that `as_array`, which training calls,
    keeps the result as long as it takes no more than the buffer for files: 256 MiB.

    Parameters
    ----------
    data : RawData
        The rows as they were given.
    adapter : Converter
        How to convert them.
    """

    def __init__(self, data: RawData, adapter: Converter) -> None:
        self._data = data
        self._adapter = adapter
        self._kept: np.ndarray | None = None
        self.feature_names = data.feature_names
        self.schema = Schema(adapter.shape, np.dtype(np.float32))
        self.in_memory = data.source.in_memory

    @property
    def raw(self) -> Source:
        """The rows as they were given."""
        return self._data.source

    def __len__(self) -> int:
        return len(self._data.source)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the converted rows at `index`, in that order."""
        if self._kept is not None:
            return self._kept[index]
        rows = self._data.source.gather(index)
        return converted(self._adapter, rows, lambda row: self._place(int(index[row])))

    def chunks(
        self, rows: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[np.ndarray]:
        """Yield rows in order, converted and checked."""
        rows = rows or self.rows_per_chunk
        stop = len(self) if stop is None else stop
        if self._kept is not None:
            for first in range(start, stop, rows):
                yield self._kept[first : min(first + rows, stop)]
            return
        for batch in self._data.source.chunks(rows, start, stop):
            parts = [
                converted(self._adapter, part, lambda row: self._place(begin + row))  # noqa: B023
                for begin, part in _parts(batch, start)
            ]
            start += len(batch)
            yield parts[0] if len(parts) == 1 else np.concatenate(parts)

    def features(self) -> Iterator[np.ndarray]:
        """Yield all rows in order, in double precision; infinities are an error."""
        start = 0
        for batch in self._data.source.chunks(ROWS_AT_ONCE):
            yield self._adapter.convert(batch, lambda row: self._place(start + row))  # noqa: B023
            start += len(batch)

    def in_order(self, order: np.ndarray) -> AdaptedTable:
        """Return a source for reading the rows at `order` once, in this order."""
        if self._kept is not None:
            return self
        source = self._data.source.in_order(order)
        return AdaptedTable(RawData(source, self._data.feature_names), self._adapter)

    def as_array(self) -> np.ndarray | None:
        """Convert all rows and keep them, if they are in memory and the result is not large."""
        if self._kept is None and self.can_be_shared:
            self._kept = self.materialize()
        return self._kept

    @property
    def can_be_shared(self) -> bool:
        """Whether the rows are in memory, and not many when they are converted."""
        return self.in_memory and 4 * len(self) * self.schema.size <= BUFFER_SIZE

    def materialize(self) -> np.ndarray:
        """Return all converted rows as one array."""
        whole = np.empty((len(self), *self.schema.shape), np.float32)
        start = 0
        for chunk in self.chunks():
            whole[start : start + len(chunk)] = chunk
            start += len(chunk)
        return whole

    def _place(self, row: int) -> str:
        return self._data.source.describe_row(row)


def converted(adapter: Converter, batch: Any, place: Callable[[int], str]) -> np.ndarray:
    """Convert rows to float32; a value that is too large for it is an error."""
    with np.errstate(over="ignore"):
        features = adapter.convert(batch, place).astype(np.float32)
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise ValueError(
            f"X contains a value in {place(row)} that is too large for float32: rescale it"
        )
    return features


def _parts(batch: Any, start: int) -> Iterator[tuple[int, Any]]:
    """Divide a frame or an array into parts of a size that is quick to convert."""
    for first in range(0, len(batch), ROWS_AT_ONCE):
        piece = slice(first, first + ROWS_AT_ONCE)
        yield start + first, batch[piece] if isinstance(batch, np.ndarray) else batch.rows(piece)
