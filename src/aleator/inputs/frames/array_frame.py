"""Two-dimensional arrays of numbers as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aleator.inputs.frames.base import INSTANT, Frame, Kind


class ArrayFrame(Frame):
    """Columns of an array of numbers.

    Parameters
    ----------
    array : ndarray of shape (n, n_columns)
        The values.
    names : list of str, default=None
        Names of the columns; None numbers them.

    Examples
    --------
    >>> ArrayFrame(np.array([[1, 2], [3, 4]])).numbers(1).tolist()
    [2.0, 4.0]
    """

    def __init__(self, array: np.ndarray, names: list[str] | None = None) -> None:
        super().__init__(range(array.shape[1]) if names is None else names)
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def select(self, positions: Sequence[int]) -> ArrayFrame:
        """Return the columns at `positions`, in that order."""
        return ArrayFrame(self._array[:, positions], [self.names[i] for i in positions])

    def rows(self, index: slice | np.ndarray) -> ArrayFrame:
        """Return the rows of a slice, or those at an array of positions."""
        return ArrayFrame(self._array[index], self.names)

    def kind(self, column: int) -> Kind:
        """Return what the values of a column are."""
        return Kind.BOOLEAN if self._array.dtype.kind == "b" else Kind.NUMBER

    def numbers(self, column: int) -> np.ndarray:
        """Return a column as float64; NaN where a value is missing."""
        return self._array[:, column].astype(np.float64)

    def instants(self, column: int) -> np.ndarray:
        """Raise ValueError: there are no dates in an array of numbers."""
        raise self._cannot_be_used(column, np.dtype(INSTANT))

    def objects(self, column: int) -> list[Any]:
        """Return the values of a column as Python objects; None where missing."""
        return [None if value != value else value for value in self._array[:, column].tolist()]

    def has_gaps(self, column: int) -> bool:
        """Whether a value of the column is missing."""
        return self._array.dtype.kind == "f" and bool(np.isnan(self._array[:, column]).any())

    @property
    def native(self) -> Any:
        """The frame as an object of its library."""
        return self._array

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self._array.nbytes
