"""Random features of several families side by side, standardized and optionally compressed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from aleator.networks.shapes import flatten_output
from aleator.projectors.drawn import DrawnModule, scale_of

# Components that vary less than this share of the first one are directions of rounding.
_LEAST_DEVIATION = 1e-6
_ROWS_PER_PIECE = 256
_ENOUGH_ROWS = 1024
_POWER_ITERATIONS = 4
_OVERSAMPLING = 32

# (input_shape, output_dim, sample or None) -> module
Family = Callable[[Sequence[int], int, Any], nn.Module]


class FeatureBank(DrawnModule):
    """Outputs of several modules, standardized, and multiplied by a matrix if there is one.

    Parameters
    ----------
    modules : sequence of torch.nn.Module
        Modules without trainable weights.
    mean, scale : Tensor of shape (n_features,), default=None
        What is subtracted from the features, and by what they are divided.
    components : Tensor of shape (n_features, n_components), default=None
        By what the features are multiplied, for example their principal components.
    deviation : Tensor of shape (n_components,), default=None
        Standard deviations of the products.

    Examples
    --------
    >>> bank = FeatureBank.fit([nn.Flatten()], torch.randn(100, 3, 4), n_components=2)
    >>> bank(torch.randn(5, 3, 4)).shape
    torch.Size([5, 2])
    """

    mean: Tensor
    scale: Tensor
    components: Tensor
    deviation: Tensor

    def __init__(
        self,
        modules: Sequence[nn.Module],
        mean: Tensor | None = None,
        scale: Tensor | None = None,
        components: Tensor | None = None,
        deviation: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.families = nn.ModuleList(modules)
        self.store(mean=mean, scale=scale, components=components, deviation=deviation)

    @classmethod
    def fit(
        cls,
        modules: Sequence[nn.Module],
        sample: Tensor,
        n_components: int | None = None,
    ) -> Self:
        """Standardize the outputs of modules on a sample, and find their principal components.

        Parameters
        ----------
        modules : sequence of torch.nn.Module
            Modules without trainable weights.
        sample : Tensor of shape (n, ...)
            Samples of the training data.
        n_components : int, default=None
            Number of principal components; None keeps all features. There are fewer if the sample
            or the features are fewer.

        Returns
        -------
        FeatureBank
        """
        bank = cls(modules).to(sample.device)
        if n_components is None:
            bank.standardize(few_of(sample))
        else:
            features = bank.standardize(sample)
            bank.project(principal_components(features, n_components), features)
        return bank

    @torch.no_grad()
    def standardize(self, sample: Tensor) -> Tensor:
        """Take mean and scale of the features from a sample.

        Parameters
        ----------
        sample : Tensor of shape (n, ...)
            Samples of the training data.

        Returns
        -------
        Tensor of shape (n, n_features)
            The standardized features of the sample.
        """
        # This is the largest array of a fit, so that there is only one of its size.
        raw = self.raw(sample[:_ROWS_PER_PIECE])
        features = raw.new_empty(len(sample), raw.shape[1])
        for start in range(0, len(sample), _ROWS_PER_PIECE):
            raw = self.raw(sample[start : start + _ROWS_PER_PIECE]) if start else raw
            features[start : start + len(raw)] = raw
        self.mean = features.mean(0)
        features -= self.mean
        deviation = torch.linalg.vector_norm(features, dim=0) / len(features) ** 0.5
        self.scale = scale_of(deviation, self.mean)
        features /= self.scale
        return features

    @torch.no_grad()
    def project(self, components: Tensor, features: Tensor) -> None:
        """Multiply standardized features by a matrix from now on.

        Parameters
        ----------
        components : Tensor of shape (n_features, n_components)
            The matrix.
        features : Tensor of shape (n, n_features)
            Standardized features of a sample.
        """
        deviation = (features @ components).square().mean(0).sqrt()
        # In directions in which the sample does not vary, other samples still may.
        varies = deviation > _LEAST_DEVIATION * deviation.max()
        self.components, self.deviation = components * varies, deviation * varies

    def raw(self, x: Tensor) -> Tensor:
        """Return the outputs of all modules, as they are.

        Parameters
        ----------
        x : Tensor of shape (m, ...)
            Samples.

        Returns
        -------
        Tensor of shape (m, n_features)
        """
        return torch.cat([flatten_output(family(x)) for family in self.families], 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return standardized features, or their products with the components.

        Parameters
        ----------
        x : Tensor of shape (m, ...)
            Samples.

        Returns
        -------
        Tensor of shape (m, n_features) or (m, n_components)
        """
        # In place: these are the largest arrays of an encoder.
        features = self.raw(x).sub_(self.mean).div_(self.scale)
        return features @ self.components if self.components.numel() else features


def few_of(sample: Tensor) -> Tensor:
    """Thin out a sample to as many rows as are enough for means and scales of features.

    Parameters
    ----------
    sample : Tensor of shape (n, ...)
        Samples of the training data.

    Returns
    -------
    Tensor of shape (m, ...)
        At most 1024 of them, evenly spaced.

    Examples
    --------
    >>> few_of(torch.zeros(2500, 3)).shape
    torch.Size([834, 3])
    """
    return sample[:: math.ceil(len(sample) / _ENOUGH_ROWS)]


def draw_families(
    families: Sequence[Family], input_shape: Sequence[int], n_features: int, sample: Any
) -> list[nn.Module]:
    """Draw modules of several families that have `n_features` outputs together.

    Parameters
    ----------
    families : sequence of callable
        Factories ``(input_shape, output_dim, sample) -> module``.
    input_shape : sequence of int
        Shape of a sample.
    n_features : int
        Number of features, divided evenly among the families.
    sample : object or None
        What factories read samples of the training data from; None creates modules that are to be
        loaded.

    Returns
    -------
    list of torch.nn.Module

    Examples
    --------
    >>> from aleator.projectors.trees import RandomTrees
    >>> [len(m.column) for m in draw_families([RandomTrees.build] * 2, (3,), 32, torch.randn(9, 3))]
    [2, 2]
    """
    even, surplus = divmod(n_features, len(families))
    widths = [even + (k < surplus) for k in range(len(families))]
    return [
        family(tuple(input_shape), width, sample)
        for family, width in zip(families, widths, strict=True)
        if width
    ]


def principal_components(features: Tensor, count: int) -> Tensor:
    """Principal components by randomized SVD (Halko, Martinsson and Tropp 2011).

    Parameters
    ----------
    features : Tensor of shape (n, n_features)
        Centered features.
    count : int
        Number of components.

    Returns
    -------
    Tensor of shape (n_features, min(count, n, n_features))
        Orthonormal directions in order of decreasing variance.

    Examples
    --------
    >>> features = torch.randn(100, 2) * torch.tensor([1.0, 9.0])
    >>> principal_components(features, 1).abs().round().T.tolist()
    [[0.0, 1.0]]
    """
    count = min(count, *features.shape)
    rank = min(count + _OVERSAMPLING, *features.shape)
    _, _, directions = torch.svd_lowrank(features, rank, niter=_POWER_ITERATIONS)
    directions = directions[:, :count]
    # The sign of a direction is arbitrary; its largest entry is made positive.
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    return directions * largest.sign()
