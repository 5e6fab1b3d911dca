"""Embeddings on the device, seen along their own principal axes.

Both solvers here gain from it. Ridge regression has its answer for every penalty at once, and in
logistic regression no direction is much steeper than another, however badly the embedding is
conditioned. A rotation leaves a penalty on squared weights as it is, and a free intercept takes up
the centring, so that the answers are those of the embedding as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class PrincipalComponents:
    """Rows in the coordinates of their principal axes, in double precision, and the way there.

    `variances` holds the mean square of every coordinate. If there are fewer rows than dimensions,
    there are as many axes as rows: no row reaches beyond.

    >>> along = PrincipalComponents.fit(np.array([[1.0, 1.0], [3.0, 3.0]]), torch.device("cpu"))
    >>> along.rows.abs().round(decimals=3).tolist(), along.variances.round(decimals=3).tolist()
    ([[0.0, 1.414], [0.0, 1.414]], [0.0, 2.0])
    """

    mean: Tensor
    axes: Tensor
    rows: Tensor
    variances: Tensor

    @classmethod
    def fit(cls, embedding: np.ndarray, device: torch.device) -> PrincipalComponents:
        """Find the axes of an embedding, rows × dimensions."""
        rows = torch.from_numpy(embedding).to(device).double()
        mean = rows.mean(0)
        rows = rows - mean  # not in place: it may be the memory of the caller
        count, width = rows.shape
        axes = None
        if count < width:
            axes = torch.linalg.qr(rows.T).Q
            rows = rows @ axes
        variances, vectors = torch.linalg.eigh(rows.T @ rows / count)
        axes = vectors if axes is None else axes @ vectors
        return cls(mean, axes, rows @ vectors, variances.clamp_min(0))

    def transform(self, embedding: np.ndarray) -> Tensor:
        """Other rows in the same coordinates."""
        rows = torch.from_numpy(embedding).to(self.mean.device).double()
        return (rows - self.mean) @ self.axes
