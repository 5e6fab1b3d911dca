"""Rows of a data frame as they are, with columns of any kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from aleator.inputs.frames import Frame
from aleator.inputs.sources import Schema, Source

_ROWS_PER_CHUNK = 1 << 14


class TableSource(Source):
    """Rows of a frame in memory. What it gathers are frames, which a `TableAdapter` converts.

    Parameters
    ----------
    frame : Frame
        The frame; it is not copied.

    Examples
    --------
    >>> import pandas as pd
    >>> from aleator.inputs.frames import as_frame
    >>> source = TableSource(as_frame(pd.DataFrame({"city": ["Rome", "Bonn"]})))
    >>> source.gather(np.array([1])).texts(0)
    ['Bonn']
    """

    in_memory = True

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.feature_names = frame.names
        self.schema = Schema((len(frame.names),), np.dtype(object))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def rows_per_chunk(self) -> int:
        """Rows per chunk if nothing else is asked for."""
        return _ROWS_PER_CHUNK

    def gather(self, index: np.ndarray) -> Any:
        """Return a frame of the rows at `index`, in that order."""
        return self.frame.rows(index)

    def chunks(
        self, rows: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[Any]:
        """Yield frames of consecutive rows."""
        return super().chunks(rows, start, stop)

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return the values at `index` as bytes, to compare them."""
        return self.frame.rows(index).row_bytes()

    def _slice(self, start: int, stop: int) -> Any:
        return self.frame.rows(slice(start, stop))
