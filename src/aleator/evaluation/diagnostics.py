"""Quality of an embedding without labels.

`rank_me` (Garrido et al. 2023) and `alpha_req` (Agrawal et al. 2022) are computed from the spectrum
of an embedding. `lidar` (Thilak et al. 2024) compares the differences between samples with the
differences between views of the same sample. `diagnose` computes all of them and summarizes the
result in a sentence.

The effective rank is `aleator.spectrum.effective_rank`. The papers of RankMe and LiDAR add a small
constant to every normalized value before taking the logarithm; here none is added, and values of
zero contribute nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from aleator.spectrum import effective_rank, singular_values_of_gram
from aleator.training.devices import resolve_device
from aleator.training.monitor import LEAST_RANK, LEAST_SPREAD

# Guards a division by the norm of an embedding that is zero.
_TINY = 1e-7
# Eigenvalues below this fraction of the largest are rounding errors of single precision input.
_NEGLIGIBLE_EIGENVALUE = 1e-7
# An embedding that uses a smaller fraction of its dimensions is called narrow.
_NARROW = 0.1
# A dimension whose standard deviation is below this fraction of the largest is nearly constant.
_NEARLY_CONSTANT = 1e-3


def rank_me(embedding: np.ndarray, device: str = "auto") -> float:
    """RankMe: the effective rank of an embedding that is not centered.

    It is the exponential of the entropy of the normalized singular values. Unlike in the paper, no
    smoothing constant is added to them.

    Garrido et al., RankMe: Assessing the downstream performance of pretrained self-supervised
    representations by their rank, ICML 2023.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_features)
        The embedding.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0".

    Returns
    -------
    float
        A number between 1 and the smaller of n_samples and n_features.

    Examples
    --------
    >>> import numpy as np
    >>> round(rank_me(np.eye(4)), 3), round(rank_me(np.ones((5, 3))), 3)
    (4.0, 1.0)
    """
    return effective_rank(_singular_values(_to_tensor(device, embedding)))


def alpha_req(embedding: np.ndarray, device: str = "auto") -> float:
    """Alpha-ReQ: the decay of the spectrum of an embedding.

    It is the exponent alpha in a fit of ``k ** -alpha`` to the k-th largest eigenvalue of the
    covariance matrix, by least squares in logarithms. Eigenvalues that are rounding errors are left
    out. Values near one are considered best; far above one, few directions dominate.

    Agrawal et al., alpha-ReQ: Assessing representation quality in self-supervised learning by
    measuring eigenspectrum decay, NeurIPS 2022.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_features)
        The embedding.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0".

    Returns
    -------
    float
        The exponent; NaN if fewer than three eigenvalues are left.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(20_000, 50)) * np.arange(1, 51) ** -0.6  # variances: k^-1.2
    >>> round(alpha_req(rows), 1)
    1.2
    """
    rows = _to_tensor(device, embedding)
    return _spectrum_decay(_singular_values(rows - rows.mean(0)))


def lidar(views: np.ndarray, device: str = "auto", ridge: float = 1e-4) -> float:
    """LiDAR: the effective rank of samples relative to the variation between their views.

    The covariance between samples is whitened by the covariance within samples. The result is the
    exponential of the entropy of its normalized eigenvalues. Unlike in the paper, no smoothing
    constant is added to them.

    Thilak et al., LiDAR: Sensing linear probing performance in joint embedding SSL architectures,
    ICLR 2024.

    Parameters
    ----------
    views : array-like of shape (n_samples, n_views, n_features)
        Embeddings of several views of every sample.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0".
    ridge : float, default=1e-4
        Added to the diagonal of the covariance within samples.

    Returns
    -------
    float
        A number between 1 and the smaller of n_samples and n_features.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.normal(size=(500, 1, 8)) * [1, 1, 1, 0, 0, 0, 0, 0]
    >>> round(lidar(samples + 0.1 * rng.normal(size=(500, 10, 8))))
    3
    """
    rows = _to_tensor(device, views, name="views", shape=("n_samples", "n_views", "n_features"))
    n_samples, n_views, n_features = rows.shape
    means = rows.mean(1)
    between = means - means.mean(0)
    within = (rows - means[:, None]).flatten(0, 1)
    covariance = within.T @ within / max(1, n_samples * (n_views - 1))
    covariance = covariance + ridge * torch.eye(n_features, dtype=rows.dtype, device=rows.device)
    eigenvalues, vectors = torch.linalg.eigh(covariance)
    whitened = between @ (vectors * eigenvalues.rsqrt()) @ vectors.T
    return effective_rank(_singular_values(whitened) ** 2)


@dataclass(frozen=True)
class Diagnosis:
    """Properties of an embedding, computed without labels.

    Printing it shows a table.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    embedding_dim : int
        Number of dimensions.
    rank_me : float
        Effective rank; see `rank_me`.
    alpha_req : float
        Decay of the spectrum; see `alpha_req`.
    lidar : float or None
        Effective rank relative to the differences between views; see `lidar`. None if no views were
        given.
    std : ndarray of shape (embedding_dim,)
        Standard deviation of every dimension.
    collapsed : bool
        Whether all samples are mapped to nearly one point or nearly one line.
    verdict : str
        A sentence that summarizes the result.

    Examples
    --------
    >>> import numpy as np
    >>> diagnosis = diagnose(np.random.default_rng(0).normal(size=(1000, 4)), device="cpu")
    >>> print(diagnosis)
    1000 samples, 4 dimensions
      effective rank (RankMe)    4.0
      spectrum decay (alpha-ReQ) 0.13
      standard deviations        0.968 to 1.02, median 1; 0 dimensions nearly constant
      healthy: 4 of 4 dimensions are in use
    """

    n_samples: int
    embedding_dim: int
    rank_me: float
    alpha_req: float
    lidar: float | None
    std: np.ndarray
    collapsed: bool
    verdict: str

    def __str__(self) -> str:
        n_constant = int((self.std < _NEARLY_CONSTANT * max(self.std.max(), _TINY)).sum())
        smallest, median, largest = np.quantile(self.std, [0, 0.5, 1])
        lines = [
            f"{self.n_samples} samples, {self.embedding_dim} dimensions",
            f"  effective rank (RankMe)    {self.rank_me:.1f}",
            f"  spectrum decay (alpha-ReQ) {self.alpha_req:.2f}",
            *([f"  LiDAR                      {self.lidar:.1f}"] if self.lidar is not None else []),
            f"  standard deviations        {smallest:.3g} to {largest:.3g}, median {median:.3g}; "
            f"{n_constant} dimensions nearly constant",
            f"  {self.verdict}",
        ]
        return "\n".join(lines)


def diagnose(
    embedding: np.ndarray, views: np.ndarray | None = None, device: str = "auto"
) -> Diagnosis:
    """Compute label-free diagnostics of an embedding.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_features)
        The embedding.
    views : array-like of shape (n_samples, n_views, n_features), default=None
        Embeddings of several views of every sample, for LiDAR. They may be of other samples than
        `embedding`. None leaves LiDAR out.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0".

    Returns
    -------
    Diagnosis
        The diagnostics, and a sentence that summarizes them.

    See Also
    --------
    diagnose_model : The same for a fitted estimator and data.

    Examples
    --------
    >>> import numpy as np
    >>> print(diagnose(np.random.default_rng(0).normal(size=(1000, 4))).verdict)
    healthy: 4 of 4 dimensions are in use
    """
    rows = _to_tensor(device, embedding)
    centered = rows - rows.mean(0)
    centered_spectrum = _singular_values(centered)
    spread = float(centered.norm() / rows.norm().clamp_min(_TINY))
    rank, n_features = effective_rank(centered_spectrum), rows.shape[1]
    collapsed = True
    if spread < LEAST_SPREAD:
        verdict = "collapsed: every sample is mapped to nearly the same point"
    elif rank < LEAST_RANK and n_features > 1:
        verdict = "collapsed: all samples lie on nearly one line"
    else:
        collapsed = False
        narrow = rank < _NARROW * min(n_features, len(rows) - 1)
        prefix = "narrow: about" if narrow else "healthy:"
        verdict = f"{prefix} {rank:.0f} of {n_features} dimensions are in use"
    return Diagnosis(
        n_samples=len(rows),
        embedding_dim=n_features,
        rank_me=effective_rank(_singular_values(rows)),
        alpha_req=_spectrum_decay(centered_spectrum),
        lidar=None if views is None else lidar(views, device),
        std=centered.square().mean(0).sqrt().cpu().numpy(),
        collapsed=collapsed,
        verdict=verdict,
    )


def _to_tensor(
    device: str,
    values: np.ndarray,
    name: str = "embedding",
    shape: tuple[str, ...] = ("n_samples", "n_features"),
) -> Tensor:
    """Check an array and move it to the device, in double precision."""
    array = np.asarray(values, dtype=np.float32)
    if array.ndim != len(shape) or 0 in array.shape:
        raise ValueError(
            f"{name} must be a non-empty array of shape ({', '.join(shape)}), got an array of "
            f"shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return torch.from_numpy(array).to(resolve_device(device)).double()


def _singular_values(rows: Tensor) -> np.ndarray:
    """Singular values, largest first.

    The Gram matrix is computed on the device and its eigenvalues on the CPU. Squaring the values
    halves the number of correct digits, which double precision can afford.
    """
    gram = rows.T @ rows if rows.shape[0] > rows.shape[1] else rows @ rows.T
    return singular_values_of_gram(gram.cpu().numpy())


def _spectrum_decay(singular_values: np.ndarray) -> float:
    """Minus the slope of the eigenvalues over their index, both in logarithms."""
    eigenvalues = singular_values**2
    eigenvalues = eigenvalues[eigenvalues > _NEGLIGIBLE_EIGENVALUE * eigenvalues[0]]
    if len(eigenvalues) < 3:
        return float("nan")
    log_index = np.log(np.arange(1, len(eigenvalues) + 1))
    centered = log_index - log_index.mean()
    return float(-(centered * np.log(eigenvalues)).sum() / (centered**2).sum())
