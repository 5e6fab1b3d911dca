"""Training part and test part of data of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

_TEST_SHARE = 0.2
_FOLDS = 10


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


def split_parts(X: Any, y: np.ndarray) -> RealParts:
    """Draw a fifth of the samples with seed 0 as test part, stratified by class.

    Parameters
    ----------
    X : data frame or sequence
        Samples.
    y : ndarray of shape (n_samples,)
        Labels, or numbers of type float.

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
    train, test = train_test_split(index, test_size=_TEST_SHARE, random_state=0, stratify=stratify)
    return _parts(X, y, train, test)


def fold_parts(X: Any, y: np.ndarray, seed: int) -> list[RealParts]:
    """Divide samples into ten folds, stratified by class, each of which is a test part once.

    Parameters
    ----------
    X : data frame or sequence
        Samples.
    y : ndarray of shape (n_samples,)
        Labels.
    seed : int
        Seed of the division.

    Returns
    -------
    list of RealParts

    Examples
    --------
    >>> folds = fold_parts(list(range(20)), np.array([0, 1] * 10), seed=0)
    >>> sorted(sample for parts in folds for sample in parts.X_test) == list(range(20))
    True
    """
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    return [_parts(X, y, train, test) for train, test in folds.split(y, y)]


def _parts(X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> RealParts:
    return RealParts(_rows(X, train), y[train], _rows(X, test), y[test])


def _rows(X: Any, index: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[index].reset_index(drop=True)
    return [X[i] for i in index] if isinstance(X, Sequence) else X[index]
