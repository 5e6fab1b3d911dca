"""Spectra of embeddings, shared by training diagnostics and evaluation."""

from __future__ import annotations

import numpy as np


def singular_values(rows: np.ndarray) -> np.ndarray:
    """Singular values of a matrix in decreasing order.

    They are the square roots of the eigenvalues of the smaller Gram matrix, computed in double
    precision, which is far cheaper than a full decomposition for tall or wide matrices.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        The matrix.

    Returns
    -------
    ndarray of shape (min(n_samples, n_features),)
        Singular values, largest first.

    Examples
    --------
    >>> singular_values(np.diag([3.0, 4.0])).tolist()
    [4.0, 3.0]
    """
    rows = np.asarray(rows, dtype=np.float64)
    gram = rows.T @ rows if rows.shape[0] > rows.shape[1] else rows @ rows.T
    return singular_values_of_gram(gram)


def singular_values_of_gram(gram: np.ndarray) -> np.ndarray:
    """Singular values of a matrix, given its Gram matrix.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        ``A @ A.T`` or ``A.T @ A``.

    Returns
    -------
    ndarray of shape (k,)
        Singular values of ``A``, largest first.

    Examples
    --------
    >>> singular_values_of_gram(np.diag([9.0, 16.0])).tolist()
    [4.0, 3.0]
    """
    return np.sqrt(np.clip(np.linalg.eigvalsh(gram), 0, None))[::-1]


def effective_rank(values: np.ndarray) -> float:
    """Effective rank: the exponential of the entropy of the normalized values.

    Roy and Vetterli, The effective rank, EUSIPCO 2007. It is one for a single nonzero value and
    the number of values if all are equal.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Non-negative values, for example singular values.

    Returns
    -------
    float
        A number between 1 and k; NaN if a value is not finite, 1 if all values are zero.

    Examples
    --------
    >>> round(effective_rank(np.array([1.0, 1.0, 1.0, 0.0])), 3)
    3.0
    """
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        return float("nan")
    if not values.any():
        return 1.0
    share = values / values.sum()
    share = share[share > 0]
    return float(np.exp(-(share * np.log(share)).sum()))
