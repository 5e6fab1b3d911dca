"""Sources that are read in pieces: row groups of files, or blocks of a memory map.

A piece is read as a whole, so that the order in which samples are asked for decides how often. A
pass in a known order reads each piece once, the next one in the background (`in_order`); all
samples in order are read the same way (`chunks`); and samples at any positions are collected piece
by piece (`gather`). Data that fit into the buffer are read once and kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from aleator.inputs.sources import ArraySource, Schema, Source

BUFFER_SIZE = 256 << 20
# More pieces would mix rows no better, but cost time in every batch.
_MOST_PIECES = 64
# Positions are looked up so many at a time, since a table may have more rows than fit into memory.
_POSITIONS = 1 << 20


class PiecewiseSource(Source):
    """Samples that are read in pieces of consecutive samples.

    Parameters
    ----------
    schema : Schema
        Shape and data type of a sample.
    lengths : iterable of int
        Number of samples in each piece.
    buffer_size : int
        Bytes that the pieces that are mixed may take. The one that is read ahead comes on top.

    Attributes
    ----------
    starts : ndarray of shape (n_pieces + 1,)
        Position of the first sample of each piece, and the number of samples.
    """

    in_memory = False

    def __init__(self, schema: Schema, lengths: Iterable[int], buffer_size: int) -> None:
        self.schema = schema
        self.starts = np.concatenate([[0], np.cumsum(list(lengths), dtype=np.int64)])
        self.buffer_size = buffer_size
        self._whole: ArraySource | None = None
        self._last: tuple[int, np.ndarray] | None = None

    @abstractmethod
    def read_piece(self, piece: int) -> np.ndarray:
        """Read the samples of a piece; several threads may do so at once."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a digest that changes with the files and with what is read of them."""

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def fits_buffer(self) -> bool:
        """Whether all samples together fit into the buffer."""
        return self.bytes_of(len(self)) <= self.buffer_size

    @property
    def window(self) -> int:
        """Number of pieces that fit into the buffer, and are mixed with each other."""
        largest = self.bytes_of(int(np.diff(self.starts).max(initial=1)))
        return int(np.clip(self.buffer_size // max(1, largest), 1, _MOST_PIECES))

    def bytes_of(self, rows: int) -> int:
        """Bytes that so many samples take."""
        return rows * self.schema.size * self.schema.dtype.itemsize

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, in that order; pieces are read one after the other."""
        if self.fits_buffer:
            return self._kept().gather(index)
        return _gather(index, self.starts, self.schema, self._read_or_last)

    def chunks(
        self, rows: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[np.ndarray]:
        """Yield samples in order; the next piece is read in the background."""
        if self.fits_buffer:
            yield from self._kept().chunks(rows, start, stop)
            return
        rows = rows or self.rows_per_chunk
        begun = np.empty((0, *self.schema.shape), self.schema.dtype)
        for values in self._between(start, len(self) if stop is None else stop):
            if len(begun):
                missing = rows - len(begun)
                begun, values = np.concatenate([begun, values[:missing]]), values[missing:]
                if len(begun) < rows:
                    continue
                yield begun
            whole = len(values) - len(values) % rows
            for first in range(0, whole, rows):
                yield values[first : first + rows]
            begun = values[whole:].copy()  # not a view, which would keep the piece in memory
        if len(begun):
            yield begun

    def in_order(self, order: np.ndarray) -> Source:
        """Return a source for reading the samples at `order` once, in this order."""
        if self.fits_buffer:
            return self
        if self.bytes_of(len(order)) <= self.buffer_size:
            return SelectedRows(self, order)
        return PassReader(self, order)

    def part(self, pieces: np.ndarray) -> PiecewiseSource:
        """Return the samples of some of the pieces, one after another."""
        return SelectedPieces(self, pieces)

    def _between(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """Yield the samples from `start` to `stop`, piece by piece."""
        if start >= stop:
            return
        first, last = self._pieces_of(np.array([start, stop - 1]))
        with ThreadPoolExecutor(1) as worker:
            ahead = worker.submit(self.read_piece, int(first))
            for piece in range(first, last + 1):
                values = ahead.result()
                if piece < last:
                    ahead = worker.submit(self.read_piece, piece + 1)
                begin = int(self.starts[piece])
                yield values[max(0, start - begin) : stop - begin]

    def _pieces_of(self, index: np.ndarray) -> np.ndarray:
        return pieces_of(index, self.starts)

    def _kept(self) -> ArraySource:
        if self._whole is None:
            values = np.empty((len(self), *self.schema.shape), self.schema.dtype)
            for piece in range(len(self.starts) - 1):
                values[self.starts[piece] : self.starts[piece + 1]] = self.read_piece(piece)
            self._whole = ArraySource(values)
        return self._whole

    def _read_or_last(self, piece: int) -> np.ndarray:
        # Sorted positions are often asked for a few at a time.
        if self._last is None or self._last[0] != piece:
            self._last = None  # before the next is read, so that both are not in memory
            self._last = piece, self.read_piece(piece)
        return self._last[1]


class SelectedPieces(PiecewiseSource):
    """Some pieces of another source, one after another.

    Parameters
    ----------
    source : PiecewiseSource
        All samples.
    pieces : ndarray of int
        Positions of the pieces.
    """

    def __init__(self, source: PiecewiseSource, pieces: np.ndarray) -> None:
        lengths = np.diff(source.starts)[pieces]
        super().__init__(source.schema, lengths, source.buffer_size)
        self.feature_names = source.feature_names
        self._source = source
        self._numbers = pieces

    def read_piece(self, piece: int) -> np.ndarray:
        """Read the samples of a piece; several threads may do so at once."""
        return self._source.read_piece(int(self._numbers[piece]))

    def fingerprint(self) -> str:
        """Return a digest that changes with the files and with what is read of them."""
        return f"{self._source.fingerprint()} {self._numbers.tolist()}"

    def describe_row(self, row: int) -> str:
        """Return how messages name a sample."""
        piece = int(self._pieces_of(np.array([row]))[0])
        first = self._source.starts[self._numbers[piece]]
        return self._source.describe_row(int(first + row - self.starts[piece]))


class SelectedRows(Source):
    """A few samples of another source, read at once when the first is asked for.

    Parameters
    ----------
    source : Source
        All samples.
    positions : ndarray of shape (m,)
        Positions of those that will be asked for.

    Examples
    --------
    >>> rows = SelectedRows(ArraySource(np.arange(10)[:, None]), np.array([7, 2, 7]))
    >>> rows.gather(np.array([7, 2])).tolist()
    [[7], [2]]
    """

    in_memory = False

    def __init__(self, source: Source, positions: np.ndarray) -> None:
        self.schema = source.schema
        self._source = source
        self._positions = np.unique(positions)
        self._values: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self._source)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, which are positions in the other source."""
        if self._values is None:
            self._values = self._source.gather(self._positions)
        return self._values[np.searchsorted(self._positions, index)]


class PassReader(Source):
    """Samples of a piecewise source in a known order: each piece is read once, and in time.

    A piece is dropped when all of its samples have been asked for. While the pieces that were begun
    are used up, the next one is read in the background.

    Parameters
    ----------
    source : PiecewiseSource
        The samples.
    order : ndarray of shape (m,)
        The positions that will be asked for, in this order.
    """

    in_memory = False

    def __init__(self, source: PiecewiseSource, order: np.ndarray) -> None:
        self.schema = source.schema
        self._source = source
        sequence, self._left = _first_uses(order, source.starts)
        self._waiting = deque(sequence)
        self._pieces: dict[int, Future[np.ndarray]] = {}
        self._ahead: int | None = None
        self._worker = ThreadPoolExecutor(1)
        self._read_ahead()

    def __len__(self) -> int:
        return len(self._source)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, in that order."""
        counts: dict[int, int] = {}
        batch = _gather(index, self._source.starts, self.schema, self._use, counts)
        for piece, count in counts.items():
            self._left[piece] -= count
            if self._left[piece] <= 0:
                del self._pieces[piece]
        return batch

    def _use(self, piece: int) -> np.ndarray:
        if piece not in self._pieces:
            self._request(piece)
        values = self._pieces[piece].result()
        if piece == self._ahead:
            self._ahead = None
            self._read_ahead()
        return values

    def _read_ahead(self) -> None:
        while self._waiting and self._ahead is None:
            piece = self._waiting.popleft()
            if piece not in self._pieces:
                self._ahead = piece
                self._request(piece)

    def _request(self, piece: int) -> None:
        self._pieces[piece] = self._worker.submit(self._source.read_piece, piece)


def pieces_of(index: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the piece of every position; empty pieces have none.

    Examples
    --------
    >>> pieces_of(np.array([0, 3, 2]), np.array([0, 2, 2, 5])).tolist()
    [0, 2, 2]
    """
    return np.searchsorted(starts, index, side="right") - 1


def _gather(
    index: np.ndarray,
    starts: np.ndarray,
    schema: Schema,
    piece_values: Callable[[int], np.ndarray],
    counts: dict[int, int] | None = None,
) -> np.ndarray:
    """Collect samples, all of one piece at a time, and count those of every piece."""
    batch = np.empty((len(index), *schema.shape), schema.dtype)
    owner = pieces_of(index, starts)
    by_piece = np.argsort(owner, kind="stable")
    pieces, first = np.unique(owner[by_piece], return_index=True)
    for piece, rows in zip(pieces.tolist(), np.split(by_piece, first[1:]), strict=True):
        batch[rows] = piece_values(piece)[index[rows] - starts[piece]]
        if counts is not None:
            counts[piece] = len(rows)
    return batch


def _first_uses(order: np.ndarray, starts: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return pieces in the order of their first use, and how many samples of each are used."""
    sequence: dict[int, None] = {}
    counts = np.zeros(len(starts) - 1, np.int64)
    for begin in range(0, len(order), _POSITIONS):
        owner = pieces_of(order[begin : begin + _POSITIONS], starts)
        counts += np.bincount(owner, minlength=len(counts))
        pieces, first = np.unique(owner, return_index=True)
        sequence.update(dict.fromkeys(pieces[np.argsort(first)].tolist()))
    return list(sequence), counts
