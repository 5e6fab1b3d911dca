"""How good does an embedding look, without labels?

`rank_me` (Garrido et al. 2023) and `alpha_req` (Agrawal et al. 2022) read the spectrum of an
embedding, `lidar` (Thilak et al. 2024) that of the differences between samples relative to the
differences between views of one sample. `diagnose` puts them into words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from aleator.training.devices import resolve_device
from aleator.training.watch import LEAST_RANK, LEAST_SPREAD

_TINY = 1e-7
# An embedding that uses a smaller share of its dimensions is called narrow.
_NARROW = 0.1


def rank_me(embedding: np.ndarray, device: str = "auto") -> float:
    """Effective rank: the exponential of the entropy of the singular values, not centred.

    >>> round(rank_me(np.eye(4)), 3), round(rank_me(np.ones((5, 3))), 3)
    (4.0, 1.0)
    """
    return _effective_rank(_singular_values(_on(device, embedding)))


def alpha_req(embedding: np.ndarray, device: str = "auto") -> float:
    """Decay of the spectrum: alpha where the k-th eigenvalue of the covariance goes as k^-alpha.

    Fitted in logarithms over the eigenvalues that rounding has not eaten. Near one is thought
    best; far above one few directions dominate, and not-a-number says there are fewer than three.

    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(20_000, 50)) * np.arange(1, 51) ** -0.6  # variances: k^-1.2
    >>> round(alpha_req(rows), 1)
    1.2
    """
    rows = _on(device, embedding)
    return _decay(_singular_values(rows - rows.mean(0)))


def lidar(views: np.ndarray, device: str = "auto", ridge: float = 1e-4) -> float:
    """Effective rank of what tells samples apart, relative to what tells their views apart.

    `views` holds q embeddings of each of n samples: n × q × d. With the scatter between samples
    whitened by the scatter within them, the exponential of the entropy of its eigenvalues.

    >>> random = np.random.default_rng(0)
    >>> samples = random.normal(size=(500, 1, 8)) * [1, 1, 1, 0, 0, 0, 0, 0]
    >>> round(lidar(samples + 0.1 * random.normal(size=(500, 10, 8))))
    3
    """
    rows = _on(device, views, axes=3)
    n, q, width = rows.shape
    means = rows.mean(1)
    between = means - means.mean(0)
    within = (rows - means[:, None]).flatten(0, 1)
    scatter = within.T @ within / max(1, n * (q - 1))
    scatter = scatter + ridge * torch.eye(width, dtype=rows.dtype, device=rows.device)
    values, vectors = torch.linalg.eigh(scatter)
    whitened = between @ (vectors * values.rsqrt()) @ vectors.T
    return _effective_rank(_singular_values(whitened).square())


@dataclass(frozen=True)
class Diagnosis:
    """What an embedding looks like. Print it to read it."""

    rows: int
    width: int
    rank_me: float
    alpha_req: float
    lidar: float | None
    deviations: np.ndarray
    collapsed: bool
    verdict: str

    def __str__(self) -> str:
        quiet = int((self.deviations < 1e-3 * max(self.deviations.max(), _TINY)).sum())
        low, middle, high = np.quantile(self.deviations, [0, 0.5, 1])
        lines = [
            f"{self.rows} rows of {self.width} dimensions",
            f"  effective rank (RankMe)    {self.rank_me:.1f}",
            f"  spectrum decay (alpha-ReQ) {self.alpha_req:.2f}",
            *([f"  LiDAR                      {self.lidar:.1f}"] if self.lidar is not None else []),
            f"  standard deviations        {low:.3g} to {high:.3g}, half above {middle:.3g}; "
            f"{quiet} dimensions still",
            f"  {self.verdict}",
        ]
        return "\n".join(lines)


def diagnose(
    embedding: np.ndarray, views: np.ndarray | None = None, device: str = "auto"
) -> Diagnosis:
    """Look at an embedding without labels; `views` (n × q × d) adds LiDAR.

    >>> print(diagnose(np.random.default_rng(0).normal(size=(1000, 4))).verdict)
    healthy: 4 of 4 dimensions are in use
    """
    rows = _on(device, embedding)
    centred = rows - rows.mean(0)
    spectrum = _singular_values(centred)
    spread = float(centred.norm() / rows.norm().clamp_min(_TINY))
    rank, width = _effective_rank(spectrum), rows.shape[1]
    collapsed = True
    if spread < LEAST_SPREAD:
        verdict = "collapsed: every sample is mapped to nearly the same point"
    elif rank < LEAST_RANK and width > 1:
        verdict = "collapsed: all samples lie on nearly one line"
    else:
        collapsed = False
        narrow = rank < _NARROW * min(width, len(rows) - 1)
        how = "narrow: about" if narrow else "healthy:"
        verdict = f"{how} {rank:.0f} of {width} dimensions are in use"
    return Diagnosis(
        rows=len(rows),
        width=width,
        rank_me=_effective_rank(_singular_values(rows)),
        alpha_req=_decay(spectrum),
        lidar=None if views is None else lidar(views, device),
        deviations=centred.square().mean(0).sqrt().cpu().numpy(),
        collapsed=collapsed,
        verdict=verdict,
    )


def _on(device: str, values: np.ndarray, axes: int = 2) -> Tensor:
    array = np.asarray(values, dtype=np.float32)
    if array.ndim != axes or 0 in array.shape:
        wanted = "rows × dimensions" if axes == 2 else "samples × views × dimensions"
        raise ValueError(f"an embedding must be {wanted}; got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("the embedding holds values that are not finite (NaN or infinity)")
    return torch.from_numpy(array).to(resolve_device(device)).double()


def _singular_values(rows: Tensor) -> Tensor:
    """The largest first: roots of the eigenvalues of the smaller of the two matrices of products.

    That squares away half of the digits, of which double precision has enough.
    """
    products = rows.T @ rows if rows.shape[0] > rows.shape[1] else rows @ rows.T
    return torch.linalg.eigvalsh(products).clamp_min(0).sqrt().flip(0)


def _effective_rank(values: Tensor) -> float:
    """The exponential of the entropy of values taken as shares of their sum."""
    share = values / values.sum().clamp_min(_TINY) + _TINY
    return float(torch.exp(-(share * share.log()).sum()))


def _decay(singular: Tensor) -> float:
    eigenvalues = singular.square()
    eigenvalues = eigenvalues[eigenvalues > _TINY * eigenvalues[0]]
    if len(eigenvalues) < 3:
        return float("nan")
    order = torch.arange(1, len(eigenvalues) + 1, device=singular.device).double().log()
    centred = order - order.mean()
    return float(-(centred * eigenvalues.log()).sum() / centred.square().sum())
