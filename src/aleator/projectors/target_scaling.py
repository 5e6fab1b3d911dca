"""Scaling of the outputs of projectors before they become targets."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from aleator.projectors.drawn import scale_of

TARGET_SCALINGS = ("standardize", "whiten")
# Share of the mean variance that is added to all variances before whitening, so that directions in
# which the targets hardly vary are not amplified.
_WHITENING_FLOOR = 0.1
_TINY = 1e-12


class TargetScaling(nn.Module):
    """Centers the outputs of projectors, and multiplies them by a matrix or a scale.

    Parameters
    ----------
    mean : Tensor of shape (k, d)
        Mean output of every projector.
    matrix : Tensor of shape (k, d, d) or (k, 1, d)
        Whitening matrix or scale of every projector.

    Examples
    --------
    >>> scaling = TargetScaling.fit([torch.randn(500, 2)], "whiten")
    >>> scaling(torch.zeros(5, 1, 2)).shape
    torch.Size([5, 1, 2])
    """

    mean: Tensor
    matrix: Tensor

    def __init__(self, mean: Tensor, matrix: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("matrix", matrix)

    @classmethod
    def fit(cls, outputs: Iterable[Tensor], how: str) -> TargetScaling:
        """Compute the scaling from the outputs on a sample.

        Parameters
        ----------
        outputs : iterable of k Tensors of shape (n, d)
            Outputs of every projector on samples of the training data.
        how : {"standardize", "whiten"}
            Scale every output to unit variance, or whiten the outputs of every projector.

        Returns
        -------
        TargetScaling
        """
        means, matrices = [], []
        with torch.no_grad():
            for output in outputs:
                means.append(output.double().mean(0))
                output = output.double() - means[-1]
                scale = 1 / scale_of(output.square().mean(0).sqrt(), means[-1])
                matrices.append(
                    _whitening(output * scale, scale) if how == "whiten" else scale[None]
                )
        return cls(torch.stack(means).float(), torch.stack(matrices).float())

    def forward(self, outputs: Tensor) -> Tensor:
        """Scale outputs.

        Parameters
        ----------
        outputs : Tensor of shape (m, k, d)
            Outputs of all projectors.

        Returns
        -------
        Tensor of shape (m, k, d)
        """
        centered = outputs - self.mean
        if self.matrix.shape[1] == 1:
            return centered * self.matrix[:, 0]
        return torch.einsum("mkd,kde->mke", centered, self.matrix)


def _whitening(standardized: Tensor, scale: Tensor) -> Tensor:
    covariance = standardized.T @ standardized / len(standardized)
    variances, vectors = torch.linalg.eigh(covariance)
    variances = variances.clamp_min(0) + _WHITENING_FLOOR * variances.mean() + _TINY
    return scale[:, None] * ((vectors * variances.rsqrt()) @ vectors.T)
