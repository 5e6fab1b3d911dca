"""A data set in two parts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

UNLABELLED = -1
_PIECE_BYTES = 1 << 26


@dataclass(frozen=True)
class Split:
    """Training and test part.

    A label of -1 says that a sample has none: it serves to learn a representation, and `labelled`
    leaves it out. Such samples come last in their part.
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    # Not an argument, so that a changed copy does not inherit it.
    _known_sha256: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def sha256(self) -> str:
        """A checksum of all values, so that a result can say what it was measured on.

        >>> one = np.ones((2, 3))
        >>> same = Split(one, one, one, one), Split(one, one, one, one)
        >>> same[0].sha256 == same[1].sha256 != Split(one, one, one, 2 * one).sha256
        True
        """
        if self._known_sha256 is not None:
            return self._known_sha256
        digest = hashlib.sha256()
        for array in self.arrays().values():
            for _ in hashed_pieces(array, digest):
                pass
        return digest.hexdigest()

    def with_sha256(self, known: str) -> Split:
        """The same, with a checksum that was computed before.

        >>> one = np.ones((2, 3))
        >>> Split(one, one, one, one).with_sha256("c0ffee").sha256
        'c0ffee'
        """
        same = replace(self)
        object.__setattr__(same, "_known_sha256", known)
        return same

    def arrays(self) -> dict[str, np.ndarray]:
        """The four arrays by name."""
        return {name: getattr(self, name) for name in ("X_train", "y_train", "X_test", "y_test")}

    @property
    def labelled(self) -> Split:
        """The samples that have a label, for probes and fine-tuning; nothing is copied.

        >>> X, y = np.zeros((4, 2)), np.array([3, 5, -1, -1])
        >>> Split(X, y, X, y).labelled.y_test
        array([3, 5])
        """
        train, test = (int((y != UNLABELLED).sum()) for y in (self.y_train, self.y_test))
        if (train, test) == (len(self.y_train), len(self.y_test)):
            return self
        return Split(
            self.X_train[:train], self.y_train[:train], self.X_test[:test], self.y_test[:test]
        )


def pieces(array: Any) -> Iterator[np.ndarray]:
    """Rows of an array, or of what can be sliced like one, a bounded number of bytes at a time.

    >>> [piece.shape for piece in pieces(np.zeros((3, 2)))]
    [(3, 2)]
    """
    row_bytes = int(np.prod(array.shape[1:])) * array.dtype.itemsize
    step = max(1, _PIECE_BYTES // max(1, row_bytes))
    for start in range(0, len(array), step):
        yield np.ascontiguousarray(array[start : start + step])


def hashed_pieces(array: Any, digest: Any) -> Iterator[np.ndarray]:
    """`pieces`, each of which has gone into the checksum when it is handed out.

    >>> digest = hashlib.sha256()
    >>> len(list(hashed_pieces(np.zeros(3), digest)))
    1
    >>> digest.digest() == hashlib.sha256(b"(3,) <f8" + bytes(24)).digest()
    True
    """
    digest.update(f"{array.shape} {array.dtype.str}".encode())
    for piece in pieces(array):
        digest.update(piece.data)
        yield piece
