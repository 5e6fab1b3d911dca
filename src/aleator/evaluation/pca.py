"""Principal components of embeddings, computed on the device.

Ridge regression and logistic regression are both solved in these coordinates. Ridge regression then
has a closed-form solution for every penalty at once, and logistic regression can be rescaled so
that it is well conditioned even if the embedding is not. A rotation does not change a penalty on
squared weights and an unpenalized intercept absorbs the centering, so the solutions are those of
the original embedding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class PrincipalComponents:
    """An embedding in the coordinates of its principal components, in double precision.

    With fewer samples than features there are as many components as samples, because all
    samples lie in the space that these components span. Those in whose direction the samples do
    not vary are zero.

    Attributes
    ----------
    mean : Tensor of shape (n_features,)
        Mean of every feature.
    components : Tensor of shape (n_features, n_components)
        Orthonormal directions, or zeros, in order of increasing variance.
    scores : Tensor of shape (n_samples, n_components)
        The samples in the new coordinates.
    variances : Tensor of shape (n_components,)
        Mean square of every column of `scores`.

    Examples
    --------
    >>> pca = PrincipalComponents.fit(np.array([[1.0, 1.0], [3.0, 3.0]]), torch.device("cpu"))
    >>> pca.scores.abs().round(decimals=3).tolist(), pca.variances.round(decimals=3).tolist()
    ([[0.0, 1.414], [0.0, 1.414]], [0.0, 2.0])
    """

    mean: Tensor
    components: Tensor
    scores: Tensor
    variances: Tensor

    @classmethod
    def fit(cls, embedding: np.ndarray, device: torch.device) -> PrincipalComponents:
        """Compute the principal components of an embedding.

        Parameters
        ----------
        embedding : ndarray of shape (n_samples, n_features)
            The embedding.
        device : torch.device
            Where to compute, and where the result is kept.

        Returns
        -------
        PrincipalComponents
            Components of the embedding, and its samples in their coordinates.
        """
        rows = torch.from_numpy(embedding).to(device).double()
        mean = rows.mean(0)
        rows = rows - mean  # not in place: the memory may be the caller's
        n_samples, n_features = rows.shape
        if n_samples < n_features:
            return cls(mean, *_from_inner_products(rows))
        variances, vectors = torch.linalg.eigh(rows.T @ rows / n_samples)
        return cls(mean, vectors, rows @ vectors, variances.clamp_min(0))

    def transform(self, embedding: np.ndarray) -> Tensor:
        """Express other samples in the same coordinates.

        Parameters
        ----------
        embedding : ndarray of shape (n_samples, n_features)
            Samples in the original coordinates.

        Returns
        -------
        Tensor of shape (n_samples, n_components)
            The same samples in the coordinates of the components.
        """
        rows = torch.from_numpy(embedding).to(self.mean.device).double()
        return (rows - self.mean) @ self.components


def _from_inner_products(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Components, scores and variances of fewer centered samples than features.

    The inner products of the samples have the same eigenvalues as those of the features, and their
    eigenvectors are the scores up to a factor.
    """
    n_samples = len(rows)
    variances, vectors = torch.linalg.eigh(rows @ rows.T / n_samples)
    # Smaller ones are rounding errors of the embedding, which has single precision.
    variances = variances.where(variances > _LEAST_VARIANCE * variances[-1], 0)
    length = (n_samples * variances).sqrt()
    inverse = torch.where(length > 0, 1 / length, 0)
    return rows.T @ (vectors * inverse), vectors * length, variances
