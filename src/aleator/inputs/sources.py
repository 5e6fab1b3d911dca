"""Sources: samples by index and in order, whether in memory, memory-mapped or computed.

A source has four abilities: its length, its schema, `gather` (samples by index) and `chunks`
(consecutive samples). Nothing above this module depends on where the samples are kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

# Values per chunk by default: 16 MiB in single precision.
_CHUNK_VALUES = 1 << 22


@dataclass(frozen=True)
class Schema:
    """Shape and data type of one sample.

    Examples
    --------
    >>> Schema((3, 50), np.dtype("float32")).size
    150
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of values in a sample."""
        return math.prod(self.shape)


class Source(ABC):
    """Samples by index and in order.

    Attributes
    ----------
    schema : Schema
        Shape and data type of a sample.
    in_memory : bool
        Whether all samples are held in memory already.
    feature_names : list of str or None
        Names of the columns of a table that has them.
    modality : str or None
        Kind of data, if the samples cannot be of another; else their shape tells.
    """

    schema: Schema
    in_memory: bool
    feature_names: list[str] | None = None
    modality: str | None = None

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of samples."""

    @abstractmethod
    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, in that order.

        Parameters
        ----------
        index : ndarray of shape (m,)
            Positions of samples.

        Returns
        -------
        ndarray of shape (m, *schema.shape)
        """

    def chunks(
        self, rows: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[np.ndarray]:
        """Yield samples in order.

        Parameters
        ----------
        rows : int, default=None
            Samples per chunk. None chooses chunks of about four million values.
        start : int, default=0
            Position of the first sample.
        stop : int, default=None
            Position after the last sample; None is the end.

        Yields
        ------
        ndarray of shape (at most rows, *schema.shape)
        """
        rows = rows or self.rows_per_chunk
        stop = len(self) if stop is None else stop
        for first in range(start, stop, rows):
            yield self._slice(first, min(first + rows, stop))

    @property
    def rows_per_chunk(self) -> int:
        """Samples per chunk if nothing else is asked for."""
        return max(1, _CHUNK_VALUES // max(1, self.schema.size))

    def in_order(self, order: np.ndarray) -> Source:
        """Return a source for reading the samples at `order` once, in this order.

        Parameters
        ----------
        order : ndarray of shape (m,)
            Positions of samples.

        Returns
        -------
        Source
            Its `gather` is to be called with consecutive parts of `order`.
        """
        return self

    def part(self, pieces: np.ndarray) -> Source:
        """Return the samples of some of the pieces that a source is read in, one after another.

        Parameters
        ----------
        pieces : ndarray of int
            Positions of the pieces.

        Returns
        -------
        Source
        """
        raise TypeError(f"{type(self).__name__} is not read in pieces")

    def describe_row(self, row: int) -> str:
        """Return how messages name a sample, for example with the file that it is in."""
        return f"row {row}"

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return the samples at `index` as bytes, to compare them with those of another run."""
        return self.gather(index).tobytes()

    def _slice(self, start: int, stop: int) -> np.ndarray:
        return self.gather(np.arange(start, stop))


class ArraySource(Source):
    """Samples of an array, in memory or memory-mapped; nothing is copied.

    Parameters
    ----------
    array : ndarray of shape (n_samples, ...)
        The samples.

    Examples
    --------
    >>> source = ArraySource(np.arange(6).reshape(3, 2))
    >>> source.gather(np.array([2, 0])).tolist()
    [[4, 5], [0, 1]]
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.schema = Schema(tuple(array.shape[1:]), array.dtype)
        self.in_memory = not is_memory_mapped(array)

    def __len__(self) -> int:
        return len(self.array)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, in that order."""
        return np.asarray(self.array[index])

    def _slice(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self.array[start:stop])


class DatasetSource(Source):
    """Samples of a map-style ``torch.utils.data.Dataset``.

    Parameters
    ----------
    dataset : torch.utils.data.Dataset
        Each item is a sample, or a tuple or list whose first entry is the sample: a tensor, an
        array or a number.

    Examples
    --------
    >>> data = torch.utils.data.TensorDataset(torch.arange(6.0).view(3, 2), torch.zeros(3))
    >>> DatasetSource(data).gather(np.array([1])).tolist()
    [[2.0, 3.0]]
    """

    in_memory = False

    def __init__(self, dataset: Any) -> None:
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise ValueError(
                f"{type(dataset).__name__} has no length or no items by index; only map-style "
                "datasets can be read"
            )
        if len(dataset) == 0:
            raise ValueError(f"{type(dataset).__name__} is empty: 0 sample(s)")
        self._dataset = dataset
        first = _sample_of(dataset[0], 0)
        self.schema = Schema(tuple(first.shape), first.dtype)

    def __len__(self) -> int:
        return len(self._dataset)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, in that order."""
        positions = [int(i) for i in index]
        # torch's own protocol for datasets that can fetch a batch faster than its items.
        if hasattr(self._dataset, "__getitems__"):
            items = self._dataset.__getitems__(positions)
        else:
            items = [self._dataset[i] for i in positions]
        batch = np.empty((len(positions), *self.schema.shape), self.schema.dtype)
        for row, (position, item) in enumerate(zip(positions, items, strict=True)):
            sample = _sample_of(item, position)
            if sample.shape != self.schema.shape:
                raise ValueError(
                    f"sample {position} of the dataset has the shape {sample.shape}, but sample 0 "
                    f"has {self.schema.shape}: all samples must have the same shape"
                )
            batch[row] = sample
        return batch


class SomeRows(Source):
    """Some samples of another source, read when they are needed.

    Parameters
    ----------
    source : Source
        All samples.
    rows : ndarray of shape (m,)
        Positions of those that this source has.

    Examples
    --------
    >>> rows = SomeRows(ArraySource(np.arange(9)[:, None]), np.array([7, 2]))
    >>> rows.gather(np.array([1])).tolist()
    [[2]]
    """

    def __init__(self, source: Source, rows: np.ndarray) -> None:
        self._source = source
        self._rows = rows
        self.schema, self.in_memory = source.schema, source.in_memory

    def __len__(self) -> int:
        return len(self._rows)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, in that order."""
        return self._source.gather(self._rows[index])

    def in_order(self, order: np.ndarray) -> SomeRows:
        """Return a source for reading the samples at `order` once, in this order."""
        return SomeRows(self._source.in_order(self._rows[order]), self._rows)

    def describe_row(self, row: int) -> str:
        """Name a sample as the other source does."""
        return self._source.describe_row(int(self._rows[row]))


def evenly_spaced(count: int, at_most: int) -> np.ndarray:
    """Return up to `at_most` positions, spread evenly over `count` samples.

    Examples
    --------
    >>> evenly_spaced(9, 3).tolist(), evenly_spaced(2, 5).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, count - 1, min(count, at_most)).round().astype(np.int64)


def is_memory_mapped(array: Any) -> bool:
    """Whether an array is a view of a memory-mapped file.

    Examples
    --------
    >>> is_memory_mapped(np.zeros(3))
    False
    """
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def _sample_of(item: Any, position: int) -> np.ndarray:
    if isinstance(item, (tuple, list)) and len(item):
        item = item[0]
    if isinstance(item, torch.Tensor):
        item = tensor_to_array(item)
    sample = np.asarray(item)
    if sample.dtype.kind not in "buif":
        raise ValueError(
            f"sample {position} of the dataset is {type(item).__name__}, not a tensor or an array "
            "of numbers; items must be samples or tuples that begin with the sample"
        )
    return sample


def tensor_to_array(tensor: torch.Tensor) -> np.ndarray:
    """Convert a tensor to NumPy, without a copy where it is on the CPU.

    Examples
    --------
    >>> tensor_to_array(torch.ones(2, dtype=torch.bfloat16)).dtype
    dtype('float32')
    """
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:  # which NumPy does not have
        tensor = tensor.float()
    return tensor.numpy()


def chosen_rows(count: int, index: Any) -> np.ndarray:
    """Return the positions of a slice, a mask or a list of positions.

    Parameters
    ----------
    count : int
        Number of samples.
    index : slice or array-like
        What stands in the brackets after a source.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> chosen_rows(4, slice(1, 3)).tolist()
    [1, 2]
    """
    chosen = np.arange(count)[index]
    if chosen.ndim != 1:
        raise TypeError("give a slice, a mask or a list of positions, such as [[0]]")
    return chosen
