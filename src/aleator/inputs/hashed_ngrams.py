"""Counts of hashed character n-grams, and their weights: what columns of text and texts share."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def vectorizer(n_hashes: int, shortest: int, longest: int, lowercase: bool) -> Any:
    """Return scikit-learn's `HashingVectorizer` of character n-grams within words.

    It has no state: the same text has the same counts, whatever the training data were.

    Examples
    --------
    >>> vectorizer(8, 3, 3, True).transform(["Rome"]).sum()
    np.float64(4.0)
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        analyzer="char_wb", ngram_range=(shortest, longest), n_features=n_hashes,
        lowercase=lowercase, alternate_sign=False, norm=None,
    )  # fmt: skip


def rarity(frequency: np.ndarray, n_texts: int) -> np.ndarray:
    """Return the weight of every n-gram (smoothed inverse document frequency).

    Parameters
    ----------
    frequency : ndarray of shape (n_hashes,)
        Number of texts that have the n-gram.
    n_texts : int
        Number of texts.

    Returns
    -------
    ndarray of shape (n_hashes,), float64

    Examples
    --------
    >>> rarity(np.array([9, 0]), 9).round(2).tolist()
    [1.0, 3.3]
    """
    return np.log((1 + n_texts) / (1 + frequency)) + 1


def weighted(counts: Any, weights: np.ndarray) -> Any:
    """Multiply counts by the weights of the n-grams, and scale every text to length one.

    Parameters
    ----------
    counts : sparse matrix of shape (n, n_hashes)
        Counts.
    weights : ndarray of shape (n_hashes,)
        Weights.

    Returns
    -------
    sparse matrix of shape (n, n_hashes)
    """
    from sklearn.preprocessing import normalize

    scaled = counts.copy()
    scaled.data = scaled.data * weights[scaled.indices]
    return normalize(scaled)
