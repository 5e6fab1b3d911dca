"""Samples that an adapter converts whenever they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from aleator.inputs.adapter_base import ConvertedSource
from aleator.inputs.reading import RawData
from aleator.inputs.sources import ArraySource

if TYPE_CHECKING:
    from aleator.inputs.adapter import InputAdapter


class AdaptedSource(ConvertedSource):
    """Samples of another source, converted by an adapter whenever they are read.

    Parameters
    ----------
    data : RawData
        The samples as they were given.
    adapter : InputAdapter
        How to convert them.
    """

    def __init__(self, data: RawData, adapter: InputAdapter) -> None:
        super().__init__(data, adapter.shape)
        self._adapter = adapter

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the converted samples at `index`, in that order."""
        return self._adapter.convert(self._data.source.gather(index))

    def chunks(
        self, rows: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[np.ndarray]:
        """Yield samples in order, converted and checked."""
        for chunk in self._data.source.chunks(rows, start, stop):
            converted = self._adapter.convert(chunk)
            self._adapter.check_chunk(chunk, converted, start, self._data)
            yield converted
            start += len(chunk)

    def in_order(self, order: np.ndarray) -> AdaptedSource:
        """Return a source for reading the samples at `order` once, in this order."""
        source = self._data.source.in_order(order)
        return AdaptedSource(RawData(source, self._data.feature_names), self._adapter)

    def part(self, pieces: np.ndarray) -> AdaptedSource:
        """Return the samples of some of the pieces that the files are read in."""
        part = self._data.source.part(pieces)
        return AdaptedSource(RawData(part, self._data.feature_names), self._adapter)

    def as_array(self) -> np.ndarray | None:
        """Return the array behind the source if its values need no conversion, else None."""
        source = self._data.source
        if not isinstance(source, ArraySource) or not source.in_memory or self._adapter.scale:
            return None
        array = source.array
        if array.dtype != np.float32 or not array.flags.c_contiguous or not array.flags.writeable:
            return None
        return array.reshape(len(array), *self.schema.shape)

    @property
    def can_be_shared(self) -> bool:
        """Whether the values need no conversion."""
        return self.as_array() is not None

    def materialize(self) -> np.ndarray:
        """Return all samples as one array; a copy unless they need no conversion."""
        whole = self.as_array()
        if whole is None:
            return super().materialize()
        for _ in self.chunks():  # which checks the values
            pass
        return whole
