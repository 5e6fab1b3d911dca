"""The matrix of samples that ridge regression and logistic regression are fitted to.

Both need systems of equations solved whose matrix is the covariance of the embedding plus a
multiple of the identity. Its Cholesky factor costs a small part of an eigendecomposition, also if
there is one factor per penalty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

# Larger embeddings stay in their own precision, and are converted piece by piece where they are
# used. In double precision this many entries take 2 GiB, and those of a piece 128 MiB.
_MOST_ENTRIES_IN_DOUBLE = 2**28
_ENTRIES_PER_PIECE = 2**24
_COVARIANCE_BLOCK = 2048


@dataclass(frozen=True)
class DesignMatrix:
    """Samples of an embedding, with at most as many columns as there are samples.

    With fewer samples than features, the columns are coordinates in an orthonormal basis of the
    space that the centered samples span. Solutions of penalized regressions lie in that space, and
    a rotation does not change a penalty on squared weights.

    Attributes
    ----------
    rows : Tensor of shape (n_samples, n_columns)
        The samples. They are not centered.
    center : Tensor of shape (n_columns,)
        What is to be subtracted from all samples.
    covariance : Tensor of shape (n_columns, n_columns)
        Mean product of every two columns of the centered samples.
    feature_mean : Tensor of shape (n_features,)
        Mean of every feature of the embedding.
    basis : tuple of Tensor or None
        The centered samples X and the Cholesky factor L of their inner products: the basis is
        L⁻¹ X. None if the columns are the features themselves.

    Examples
    --------
    >>> design = DesignMatrix.fit(np.array([[1.0, 1.0], [3.0, 5.0]]), torch.device("cpu"))
    >>> design.center.tolist(), design.covariance.tolist()
    ([2.0, 3.0], [[1.0, 2.0], [2.0, 4.0]])
    """

    rows: Tensor
    center: Tensor
    covariance: Tensor
    feature_mean: Tensor
    basis: tuple[Tensor, Tensor] | None = None

    @classmethod
    def fit(cls, embedding: np.ndarray, device: torch.device) -> DesignMatrix:
        """Make the matrix of an embedding.

        Parameters
        ----------
        embedding : ndarray of shape (n_samples, n_features)
            The embedding. It is not modified.
        device : torch.device
            Where to compute, and where the result is kept.

        Returns
        -------
        DesignMatrix
            The samples and their covariance.
        """
        rows = torch.from_numpy(embedding).to(device)
        n_samples, n_features = rows.shape
        if n_samples < n_features:
            return cls._from_inner_products(rows.double())
        if rows.numel() <= _MOST_ENTRIES_IN_DOUBLE:
            rows = rows.double()
        mean = rows.mean(0, dtype=torch.float64)
        covariance = mean.new_zeros(n_features, n_features)
        for piece in _pieces(rows):
            _add_products(covariance, piece - mean)
        return cls(rows, mean, _symmetric(covariance).div_(n_samples), mean)

    @classmethod
    def _from_inner_products(cls, rows: Tensor) -> DesignMatrix:
        """Make the matrix of fewer samples than features."""
        mean = rows.mean(0)
        centered = rows - mean
        factor = _cholesky(centered @ centered.T, terms=rows.shape[1])
        covariance = factor.T @ factor / len(rows)
        return cls(factor, mean.new_zeros(len(rows)), covariance, mean, (centered, factor))

    @property
    def piece_size(self) -> int:
        """Number of samples of a piece."""
        return _piece_size(self.rows)

    def pieces(self) -> Iterator[Tensor]:
        """Iterate over the samples in double precision, `piece_size` at a time.

        Yields
        ------
        Tensor of shape (m, n_columns)
            The next samples.
        """
        return _pieces(self.rows)

    def cholesky(self, share: float, penalty: float) -> Tensor:
        """Factor a share of the covariance plus a multiple of the identity.

        Parameters
        ----------
        share : float
            What the covariance is multiplied with.
        penalty : float
            What is added to the diagonal.

        Returns
        -------
        Tensor of shape (n_columns, n_columns)
            The Cholesky factor, a lower triangular matrix.
        """
        matrix = self.covariance * share
        matrix.diagonal().add_(penalty)
        return _cholesky(matrix, terms=len(self.rows))

    def feature_weights(self, weight: Tensor) -> Tensor:
        """Convert weights of columns to weights of features.

        Parameters
        ----------
        weight : Tensor of shape (n_outputs, n_columns)
            Weights of the columns.

        Returns
        -------
        Tensor of shape (n_outputs, n_features)
            Weights of the features of the embedding.
        """
        if self.basis is None:
            return weight
        centered, factor = self.basis
        return torch.linalg.solve_triangular(factor.T, weight.T, upper=True).T @ centered


@dataclass(frozen=True)
class LinearMap:
    """A linear function of an embedding.

    Attributes
    ----------
    weight : Tensor of shape (n_outputs, n_features)
        Weights.
    intercept : Tensor of shape (n_outputs,)
        Intercepts.
    """

    weight: Tensor
    intercept: Tensor

    @classmethod
    def of_columns(cls, design: DesignMatrix, weight: Tensor, intercept: Tensor) -> LinearMap:
        """Make the function from weights of the centered columns of a design matrix.

        Parameters
        ----------
        design : DesignMatrix
            The design matrix.
        weight : Tensor of shape (n_outputs, n_columns)
            Weights of its columns.
        intercept : Tensor of shape (n_outputs,)
            Output for the mean of the embedding.

        Returns
        -------
        LinearMap
            The same function of features.
        """
        weight = design.feature_weights(weight)
        return cls(weight, intercept - weight @ design.feature_mean)

    def __call__(self, embedding: np.ndarray) -> Tensor:
        """Compute the function.

        Parameters
        ----------
        embedding : ndarray of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Tensor of shape (n_samples, n_outputs)
            Its outputs, in double precision.
        """
        rows = torch.from_numpy(embedding).to(self.weight.device)
        return torch.cat(
            [torch.addmm(self.intercept, piece, self.weight.T) for piece in _pieces(rows)]
        )


def _piece_size(rows: Tensor) -> int:
    return max(1, _ENTRIES_PER_PIECE // rows.shape[1])


def _pieces(rows: Tensor) -> Iterator[Tensor]:
    for piece in rows.split(_piece_size(rows)):
        yield piece.double()


def _add_products(total: Tensor, rows: Tensor) -> None:
    """Add the inner products of all columns, those on and below the diagonal."""
    for start in range(0, len(total), _COVARIANCE_BLOCK):
        block = slice(start, start + _COVARIANCE_BLOCK)
        total[start:, block].addmm_(rows[:, start:].T, rows[:, block])


def _symmetric(lower: Tensor) -> Tensor:
    """Mirror what is below the diagonal, in place."""
    for start in range(0, len(lower), _COVARIANCE_BLOCK):
        block = slice(start, start + _COVARIANCE_BLOCK)
        lower[block, start:] = lower[start:, block].T.clone()
    return lower


def _cholesky(matrix: Tensor, terms: int) -> Tensor:
    """Factor a matrix that is positive semidefinite up to rounding; its diagonal is changed.

    Its entries are sums of so many terms.
    """
    diagonal = matrix.diagonal()
    # As much as rounding may have made an eigenvalue negative; more than nothing if all are zero.
    precision = torch.finfo(matrix.dtype)
    largest = (len(matrix) + terms) * precision.eps * diagonal.max()
    diagonal += largest.clamp_min(precision.tiny)
    return torch.linalg.cholesky(matrix)
