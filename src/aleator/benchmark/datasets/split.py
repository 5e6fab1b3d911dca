"""A data set in two parts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Split:
    """Training and test part."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def sha256(self) -> str:
        """A checksum of all values, so that a result can say what it was measured on.

        >>> one = np.ones((2, 3))
        >>> same = Split(one, one, one, one), Split(one, one, one, one)
        >>> same[0].sha256 == same[1].sha256 != Split(one, one, one, 2 * one).sha256
        True
        """
        digest = hashlib.sha256()
        for array in (self.X_train, self.y_train, self.X_test, self.y_test):
            digest.update(f"{array.shape} {array.dtype.str}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()
