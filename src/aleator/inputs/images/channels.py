"""Images whose channels become the first axis when they are read."""

from __future__ import annotations

import numpy as np

from aleator.inputs.sources import Schema, Source


class ChannelsFirst(Source):
    """Samples of another source, whose last axis becomes the first.

    What is read is contiguous: how a convolution rounds depends on the order in memory.

    Parameters
    ----------
    source : Source
        Images of shape (height, width, channels).

    Examples
    --------
    >>> from aleator.inputs.sources import ArraySource
    >>> ChannelsFirst(ArraySource(np.zeros((2, 5, 6, 3)))).gather(np.array([1])).shape
    (1, 3, 5, 6)
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        height, width, channels = source.schema.shape
        self.schema = Schema((channels, height, width), source.schema.dtype)
        self.in_memory = source.in_memory

    def __len__(self) -> int:
        return len(self._source)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the samples at `index`, in that order."""
        return _moved(self._source.gather(index))

    def in_order(self, order: np.ndarray) -> ChannelsFirst:
        """Return a source for reading the samples at `order` once, in this order."""
        return ChannelsFirst(self._source.in_order(order))

    def describe_row(self, row: int) -> str:
        """Name a sample as the other source does."""
        return self._source.describe_row(row)

    def _slice(self, start: int, stop: int) -> np.ndarray:
        chunks = list(self._source.chunks(stop - start, start, stop))
        return _moved(chunks[0] if len(chunks) == 1 else np.concatenate(chunks))


def _moved(images: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(images, -1, 1))
