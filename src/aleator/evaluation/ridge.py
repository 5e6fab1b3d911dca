"""Ridge regression on the device, for one penalty or for several."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from aleator.evaluation.design_matrix import DesignMatrix, LinearMap


def ridge_path(
    design: DesignMatrix, targets: Tensor, penalties: Sequence[float]
) -> list[LinearMap]:
    """Fit one linear function per penalty.

    The objective is scikit-learn's: squared errors plus the penalty times the squared weights, with
    an unpenalized intercept.

    Parameters
    ----------
    design : DesignMatrix
        Training samples.
    targets : Tensor of shape (n_samples,)
        Their targets, in double precision.
    penalties : sequence of float
        Penalties on squared weights.

    Returns
    -------
    list of LinearMap
        The fitted functions, of one output each.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> design = DesignMatrix.fit(X, torch.device("cpu"))
    >>> (line,) = ridge_path(design, torch.tensor([1.0, 3.0, 5.0]).double(), [1e-9])
    >>> line(X)[:, 0].round(decimals=3).tolist()
    [1.0, 3.0, 5.0]
    """
    n_samples = len(targets)
    mean = targets.mean()
    # The deviations of targets sum to zero, so samples need not be centered.
    products = torch.zeros_like(design.center)
    for rows, piece in zip(design.pieces(), (targets - mean).split(design.piece_size), strict=True):
        products.addmv_(rows.T, piece)
    covariances = (products / n_samples)[:, None]
    maps = []
    for penalty in penalties:
        factor = design.cholesky(1.0, penalty / n_samples)
        weight = torch.cholesky_solve(covariances, factor).T
        maps.append(LinearMap.of_columns(design, weight, mean[None]))
    return maps
