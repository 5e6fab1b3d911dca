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


@dataclass(frozen=True)
class PrincipalComponents:
    """An embedding in the coordinates of its principal components, in double precision.

    With fewer samples than features there are as many components as samples, because all
    samples lie in the space that these components span.

    Attributes
    ----------
    mean : Tensor of shape (n_features,)
        Mean of every feature.
    components : Tensor of shape (n_features, n_components)
        Orthonormal directions, in order of increasing variance.
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
        basis = None
        if n_samples < n_features:
            basis = torch.linalg.qr(rows.T).Q
            rows = rows @ basis
        variances, vectors = torch.linalg.eigh(rows.T @ rows / n_samples)
        components = vectors if basis is None else basis @ vectors
        return cls(mean, components, rows @ vectors, variances.clamp_min(0))

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
