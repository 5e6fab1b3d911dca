"""Rows of several parts, each of which its adapter converts whenever it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from aleator.inputs.adapter_base import AdapterSource
from aleator.inputs.parts.source import PartsSource, naming_part
from aleator.inputs.pieces import BUFFER_SIZE, PiecewiseSource
from aleator.inputs.sources import Schema, SomeRows, Source


class AdaptedParts(AdapterSource):
    """The converted samples of all parts, flattened, one after another in a row.

    Parts are read chunk by chunk and batch by batch, each in its own way. Rows that are in memory
    and do not take more than the buffer for files, 256 MiB, are converted once by `as_array`, which
    training calls; otherwise the same holds for every part.

    Parameters
    ----------
    raw : PartsSource
        The samples as they were given.
    parts : mapping of str to Source
        The converted samples of every part.

    Examples
    --------
    >>> from aleator.inputs.reading import read
    >>> from aleator.inputs.sources import ArraySource
    >>> first, second = np.eye(2, dtype=np.float32), np.zeros((2, 2, 2), np.float32)
    >>> raw = PartsSource({"a": read(first), "b": read(second)})
    >>> rows = AdaptedParts(raw, {"a": ArraySource(first), "b": ArraySource(second)})
    >>> rows.gather(np.array([1])).tolist()
    [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, raw: PartsSource, parts: Mapping[str, Source]) -> None:
        self._raw = raw
        self._parts = dict(parts)
        self._kept: np.ndarray | None = None
        width = sum(part.schema.size for part in parts.values())
        self.schema = Schema((width,), np.dtype(np.float32))
        self.in_memory = raw.in_memory

    @property
    def raw(self) -> PartsSource:
        """The samples as they were given."""
        return self._raw

    @property
    def in_pieces(self) -> Source:
        """The largest part that is read in pieces, which decide in which order training reads."""
        found = [
            source
            for part in self._parts.values()
            if isinstance(source := getattr(part, "raw", part), PiecewiseSource)
        ]
        return max(found, key=lambda source: source.bytes_of(1), default=self._raw)

    def __len__(self) -> int:
        return len(next(iter(self._parts.values())))

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the converted rows at `index`, in that order."""
        if self._kept is not None:
            return self._kept[index]
        found = []
        for name, part in self._parts.items():
            with naming_part(name):
                found.append(part.gather(index))
        return _joined(found)

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
        readers = {name: part.chunks(rows, start, stop) for name, part in self._parts.items()}
        for _ in range(start, stop, rows):
            found = []
            for name, reader in readers.items():
                with naming_part(name):
                    found.append(next(reader))
            yield _joined(found)

    def in_order(self, order: np.ndarray) -> AdaptedParts:
        """Return a source for reading the rows at `order` once, in this order."""
        if self._kept is not None:
            return self
        parts = {name: part.in_order(order) for name, part in self._parts.items()}
        return AdaptedParts(self._raw, parts)

    def part(self, pieces: np.ndarray) -> AdaptedParts:
        """Return the rows of some of the pieces of `in_pieces`, one after another."""
        leading = self.in_pieces
        if not isinstance(leading, PiecewiseSource):
            return super().part(pieces)  # type: ignore[return-value]
        starts = leading.starts
        rows = np.concatenate([np.arange(starts[p], starts[p + 1]) for p in pieces.tolist()])
        parts = {
            name: part.part(pieces)
            if getattr(part, "raw", part) is leading
            else SomeRows(part, rows)
            for name, part in self._parts.items()
        }
        return AdaptedParts(self._raw, parts)

    def as_array(self) -> np.ndarray | None:
        """Convert rows and keep them, or those parts of them that are in memory and not large."""
        if self._kept is None and self.can_be_shared:
            self._kept = self.materialize()
        elif self._kept is None:
            for name, part in self._parts.items():
                with naming_part(name):
                    getattr(part, "as_array", lambda: None)()
        return self._kept

    @property
    def can_be_shared(self) -> bool:
        """Whether all parts are in memory, and not large when they are converted."""
        return self.in_memory and 4 * len(self) * self.schema.size <= BUFFER_SIZE


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
