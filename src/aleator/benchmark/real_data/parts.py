"""Training part and test part of data of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

_TEST_SHARE = 0.2


class RealParts(NamedTuple):
    """Data as an estimator takes them, with labels or target values.

    Attributes
    ----------
    X_train, X_test : object
        Samples.
    y_train, y_test : ndarray of shape (n_samples,)
        Labels of classes, or numbers to predict.
    """

    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def is_regression(self) -> bool:
        """Whether numbers are to be predicted."""
        return self.y_train.dtype.kind == "f"


def split_parts(X: Any, y: np.ndarray, seed: int = 0) -> RealParts:
    """Draw a fifth of the samples as test part, stratified by class.

    Parameters
    ----------
    X : data frame or sequence
        Samples.
    y : ndarray of shape (n_samples,)
        Labels, or numbers of type float.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    RealParts

    Examples
    --------
    >>> parts = split_parts(list("abcdefghij"), np.array([0, 1] * 5))
    >>> len(parts.X_train), parts.y_test.tolist()
    (8, [0, 1])
    """
    stratify = None if y.dtype.kind == "f" else y
    index = np.arange(len(y))
    train, test = train_test_split(
        index, test_size=_TEST_SHARE, random_state=seed, stratify=stratify
    )
    return RealParts(_rows(X, train), y[train], _rows(X, test), y[test])


def _rows(X: Any, index: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[index].reset_index(drop=True)
    return [X[i] for i in index] if isinstance(X, Sequence) else X[index]
