"""Samples on the host as tensors: in memory, or read from a source when they are needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from aleator.inputs import Source


class HostRows(ABC):
    """Samples that can be read by index or in order.

    Attributes
    ----------
    sample_shape : tuple of int
        Shape of one sample.
    dtype : torch.dtype
        Data type.
    origin : {"device", "host", "streamed"}
        Where the samples are, in the words of the plan. "device" is a tensor that the CPU can use
        as it is.
    """

    sample_shape: tuple[int, ...]
    dtype: torch.dtype
    origin: str

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of samples."""

    @abstractmethod
    def gather(self, index: Tensor) -> Tensor:
        """Return the samples at `index`."""

    @abstractmethod
    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Yield all samples in order, `rows` at a time."""

    def in_order(self, order: Tensor) -> HostRows:
        """Return the samples for reading those at `order` once, in this order."""
        return self

    def whole(self) -> Tensor | None:
        """Return all samples if they are a tensor already, else None."""
        return None


class TensorRows(HostRows):
    """Samples of a tensor.

    Examples
    --------
    >>> TensorRows(torch.arange(3)).gather(torch.tensor([2])).tolist()
    [2]
    """

    origin = "device"

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.sample_shape = tuple(tensor.shape[1:])
        self.dtype = tensor.dtype

    def __len__(self) -> int:
        return len(self._tensor)

    def gather(self, index: Tensor) -> Tensor:
        """Return the samples at `index`."""
        return self._tensor.index_select(0, index)

    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Yield all samples in order, `rows` at a time."""
        yield from self._tensor.split(rows)

    def whole(self) -> Tensor | None:
        """Return the tensor."""
        return self._tensor


class SourceRows(HostRows):
    """Samples of a float32 source, read when they are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator.inputs import ArraySource
    >>> SourceRows(ArraySource(np.eye(2, dtype=np.float32))).gather(torch.tensor([1])).tolist()
    [[0.0, 1.0]]
    """

    dtype = torch.float32

    def __init__(self, source: Source) -> None:
        self._source = source
        self.sample_shape = source.schema.shape
        self.origin = "host" if source.in_memory else "streamed"

    def __len__(self) -> int:
        return len(self._source)

    def gather(self, index: Tensor) -> Tensor:
        """Return the samples at `index`."""
        return torch.from_numpy(self._source.gather(index.numpy()))

    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Yield all samples in order, `rows` at a time."""
        for chunk in self._source.chunks(rows):
            yield torch.from_numpy(chunk)

    def in_order(self, order: Tensor) -> SourceRows:
        """Return the samples for reading those at `order` once, in this order."""
        return SourceRows(self._source.in_order(order.numpy()))

    def part(self, pieces: np.ndarray) -> SourceRows:
        """Return the samples of some pieces of files, one piece after another."""
        return SourceRows(self._source.part(pieces))


def rows_of(source: Source) -> HostRows:
    """Return the samples of a float32 source, sharing its memory where possible.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator.inputs import ArraySource
    >>> type(rows_of(ArraySource(np.eye(2, dtype=np.float32)))).__name__
    'SourceRows'
    """
    as_array = getattr(source, "as_array", None)
    array = None if as_array is None else as_array()
    return SourceRows(source) if array is None else TensorRows(torch.from_numpy(array))
