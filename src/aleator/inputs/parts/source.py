"""Samples of several parts as they were given, and how messages name a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from aleator.exceptions import DamagedFileError, MissingValuesError
from aleator.inputs.sources import Schema, Source

if TYPE_CHECKING:
    from aleator.inputs.reading import RawData

# Errors that can be raised again with another message.
_NAMED = (
    DamagedFileError, FileNotFoundError, ImportError, MissingValuesError, TypeError, ValueError,
)  # fmt: skip


class PartsSource(Source):
    """Samples of several parts, which must be equally many.

    Parameters
    ----------
    parts : mapping of str to RawData
        The samples of every part.

    Examples
    --------
    >>> from aleator.inputs.reading import read
    >>> source = PartsSource({"table": read([[1.0], [2.0]]), "note": read(["one", "two"])})
    >>> len(source), source.gather(np.array([1]))["note"].tolist()
    (2, ['two'])
    """

    modality = "parts"

    def __init__(self, parts: Mapping[str, RawData]) -> None:
        self.parts = dict(parts)
        lengths = {name: len(part.source) for name, part in parts.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name!r} has {count}" for name, count in lengths.items())
            raise ValueError(f"all parts of X must have the same number of rows, but {counts}")
        self._length = next(iter(lengths.values()))
        sizes = [max(1, part.source.schema.size) for part in parts.values()]
        self.schema = Schema((sum(sizes),), np.dtype(object))
        self.in_memory = all(part.source.in_memory for part in parts.values())

    def __len__(self) -> int:
        return self._length

    @property
    def rows_per_chunk(self) -> int:
        """Rows per chunk if nothing else is asked for: as many as every part can have at once."""
        return min(part.source.rows_per_chunk for part in self.parts.values())

    def gather(self, index: np.ndarray) -> Any:
        """Return the samples of every part at `index`, in that order."""
        return {name: part.source.gather(index) for name, part in self.parts.items()}

    def describe_row(self, row: int) -> str:
        """Name a row by its number, which is the same in all parts."""
        return f"row {row}"

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return names and samples at `index` as bytes, to compare them."""
        named = (
            repr([name, part.feature_names]).encode() + part.source.row_bytes(index)
            for name, part in self.parts.items()
        )
        return b"\n".join(named)


def is_parts(X: Any) -> bool:
    """Whether X is a dict; sparse matrices of SciPy may be dicts too, but have a shape.

    Examples
    --------
    >>> is_parts({"a": 1}), is_parts([1])
    (True, False)
    """
    return isinstance(X, Mapping) and not hasattr(X, "shape")


@contextmanager
def naming_part(name: str) -> Iterator[None]:
    """Name the part in errors of the user's data.

    Examples
    --------
    >>> with naming_part("image"):
    ...     raise ValueError("X is empty")
    Traceback (most recent call last):
    ...
    ValueError: part 'image': X is empty
    """
    try:
        yield
    except _NAMED as error:
        if type(error) not in _NAMED:  # whose messages are made in other ways
            raise
        raise type(error)(f"part {name!r}: {error}") from error
