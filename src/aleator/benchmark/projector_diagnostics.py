"""What the outputs of random projectors contain, measured without labels.

A target that a linear map of the raw values predicts teaches an encoder nothing that the raw values
do not say, and targets that all vary in the same few directions teach it only these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from aleator.spectrum import effective_rank, singular_values
from aleator.training.devices import resolve_device, resolve_precision
from aleator.training.embedding import embed

# Samples on which spectra and linear maps are computed; their cost grows with the cube.
_MOST_SAMPLES = 2048
# Outputs that vary less than this share of the typical output are constant in practice.
_LEAST_DEVIATION = 1e-3
# Smaller eigenvalues, relative to the largest, are due to rounding.
_LEAST_SQUARE = 1e-10
# Penalties relative to the mean eigenvalue of the inputs.
_PENALTIES = tuple(10.0**power for power in range(-4, 5))
_VALIDATION = 5  # the penalty is chosen on one of so many training samples


def projector_outputs(estimator: Any, X: np.ndarray) -> np.ndarray:
    """Compute the outputs of all projectors of a fitted LFR.

    Parameters
    ----------
    estimator : LFR
        A fitted estimator.
    X : ndarray of shape (n_samples, ...)
        Samples.

    Returns
    -------
    outputs : ndarray of shape (n_samples, n_projectors * target_dim)
        The outputs side by side.

    Examples
    --------
    >>> from aleator import LFR
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> lfr = LFR(epochs=0, n_projectors=2, target_dim=8, random_state=0).fit(X)
    >>> projector_outputs(lfr, X).shape
    (50, 16)
    """
    device = resolve_device(estimator.device)
    precision = resolve_precision(estimator.precision, device)
    source = estimator.adapter_.read(X)
    outputs = [embed(projector, source, device, precision) for projector in estimator.projectors_]
    return np.concatenate(outputs, axis=1)


def measure(
    inputs: tuple[np.ndarray, np.ndarray],
    outputs: tuple[np.ndarray, np.ndarray],
    n_projectors: int,
) -> dict[str, float]:
    """Measure the rank of outputs, and how much of them is linear in the inputs.

    Parameters
    ----------
    inputs : tuple of two ndarrays of shape (n_samples, ...)
        Raw values of the training samples and of the samples to evaluate on.
    outputs : tuple of two ndarrays of shape (n_samples, n_outputs)
        Outputs of all projectors for the same samples.
    n_projectors : int
        Number of projectors, which have the same number of outputs.

    Returns
    -------
    metrics : dict of str to float
        ``rank_of_one``, the mean effective rank of the standardized outputs of a projector;
        ``rank_of_all``, that of all outputs together, at most 2048; ``linear_r2``, the share of the
        variance of the outputs that a ridge regression on the standardized inputs predicts for new
        samples.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> linear, squares = X @ np.ones((4, 2)), X**2
    >>> found = [measure((X[:200], X[200:]), (Y[:200], Y[200:]), 1) for Y in (linear, squares)]
    >>> [round(metrics["rank_of_all"]) for metrics in found]
    [1, 4]
    >>> [bool(metrics["linear_r2"] > 0.5) for metrics in found]
    [True, False]
    """
    rows = [np.arange(len(part)) for part in outputs]
    rows = [np.random.default_rng(0).permutation(r)[:_MOST_SAMPLES] for r in rows]
    x_train, x_test = (X[r].reshape(len(r), -1) for X, r in zip(inputs, rows, strict=True))
    y_train, y_test = (Y[r] for Y, r in zip(outputs, rows, strict=True))
    x_train, x_test = _standardized(x_train, x_test)
    projectors = np.split(np.arange(y_train.shape[1]), n_projectors)
    y_train, y_test = _standardized(y_train, y_test)
    ranks = [effective_rank(singular_values(y_train[:, columns])) for columns in projectors]
    return {
        "rank_of_one": float(np.mean(ranks)),
        "rank_of_all": effective_rank(singular_values(y_train)),
        "linear_r2": _linear_r2(*map(torch.from_numpy, (x_train, y_train, x_test, y_test))),
    }


def _standardized(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale both parts by the mean and the deviation of the first; constant columns become 0."""
    mean, deviation = train.mean(0, dtype=np.float64), train.std(0, dtype=np.float64)
    constant = deviation <= _LEAST_DEVIATION * np.median(deviation)
    scale = np.where(constant, np.inf, np.maximum(deviation, np.finfo(np.float64).tiny))
    return (train - mean) / scale, (test - mean) / scale


def _linear_r2(x_train: Tensor, y_train: Tensor, x_test: Tensor, y_test: Tensor) -> float:
    """Share of the variance that ridge regression predicts, pooled over all outputs."""
    n_fit = len(x_train) - len(x_train) // _VALIDATION
    x_fit, y_fit = x_train[:n_fit], y_train[:n_fit]
    # In the basis of the principal components every penalty takes one product of matrices.
    few_inputs = x_fit.shape[1] <= n_fit
    squares, vectors = torch.linalg.eigh(x_fit.T @ x_fit if few_inputs else x_fit @ x_fit.T)
    kept = squares > _LEAST_SQUARE * squares[-1]
    squares, vectors = squares[kept], vectors[:, kept]

    def components(x: Tensor) -> Tensor:
        return x @ vectors if few_inputs else (x @ x_fit.T) @ (vectors / squares.sqrt())

    products = components(x_fit).T @ y_fit

    def r2(penalty: float, z: Tensor, y: Tensor) -> float:
        residuals = y - z @ (products / (squares + penalty * squares.mean())[:, None])
        return float(1 - residuals.square().sum() / (y - y.mean(0)).square().sum())

    validation = components(x_train[n_fit:])
    best = max(_PENALTIES, key=lambda penalty: r2(penalty, validation, y_train[n_fit:]))
    return r2(best, components(x_test), y_test)
