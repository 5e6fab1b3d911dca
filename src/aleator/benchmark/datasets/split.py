"""A data set with its training and test part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

UNLABELED = -1
_PIECE_BYTES = 1 << 26


@dataclass(frozen=True)
class Split:
    """Training and test part of a data set.

    Samples without a label have the label -1. They are used to learn a representation only, and
    come last in their part.

    Parameters
    ----------
    X_train, X_test : ndarray of shape (n_samples, ...)
        Samples.
    y_train, y_test : ndarray of shape (n_samples,)
        Integer labels.
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    # Not an argument of __init__, so that a modified copy does not inherit it.
    _known_sha256: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def sha256(self) -> str:
        """Checksum of all values, which result lines store.

        Examples
        --------
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
        """Return a copy with a checksum that was computed before.

        Parameters
        ----------
        known : str
            The checksum.

        Returns
        -------
        split : Split
            The copy; the arrays are shared.

        Examples
        --------
        >>> one = np.ones((2, 3))
        >>> Split(one, one, one, one).with_sha256("c0ffee").sha256
        'c0ffee'
        """
        split = replace(self)
        object.__setattr__(split, "_known_sha256", known)
        return split

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the four arrays by name."""
        return {name: getattr(self, name) for name in ("X_train", "y_train", "X_test", "y_test")}

    @property
    def labeled(self) -> Split:
        """The samples with a label, as views of the arrays.

        Examples
        --------
        >>> X, y = np.zeros((4, 2)), np.array([3, 5, -1, -1])
        >>> Split(X, y, X, y).labeled.y_test
        array([3, 5])
        """
        train, test = (int((y != UNLABELED).sum()) for y in (self.y_train, self.y_test))
        if (train, test) == (len(self.y_train), len(self.y_test)):
            return self
        return Split(
            self.X_train[:train], self.y_train[:train], self.X_test[:test], self.y_test[:test]
        )


def pieces(array: Any) -> Iterator[np.ndarray]:
    """Iterate over an array in pieces of at most 64 MiB.

    Parameters
    ----------
    array : ndarray or similar
        An object with `shape` and `dtype` that can be sliced.

    Yields
    ------
    piece : ndarray
        Consecutive rows, at least one.

    Examples
    --------
    >>> [piece.shape for piece in pieces(np.zeros((3, 2)))]
    [(3, 2)]
    """
    row_bytes = int(np.prod(array.shape[1:])) * array.dtype.itemsize
    step = max(1, _PIECE_BYTES // max(1, row_bytes))
    for start in range(0, len(array), step):
        yield np.ascontiguousarray(array[start : start + step])


def hashed_pieces(array: Any, digest: Any) -> Iterator[np.ndarray]:
    """Iterate over `pieces` of an array and add each to a checksum.

    Parameters
    ----------
    array : ndarray or similar
        An object with `shape` and `dtype` that can be sliced.
    digest : hashlib hash object
        Updated with the shape, the dtype and all values.

    Yields
    ------
    piece : ndarray
        Consecutive rows, at least one.

    Examples
    --------
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
