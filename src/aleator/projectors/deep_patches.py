"""Two layers of random patches: patches of feature maps are the filters of a second layer.

After Coates and Ng (Selecting receptive fields in deep networks, 2011), who stack such layers.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from aleator.projectors.drawn import DrawnModule, random_rows
from aleator.projectors.patch_filters import PatchFilters, in_pieces, rectified
from aleator.projectors.patches import pool_signs, reduced, reduction

_FIRST_SIDE, _SECOND_SIDE = 5, 3
# Filters of the first layer: one for so many features, within limits.
_FEATURES_PER_FILTER, _FEWEST_FILTERS, _MOST_FILTERS = 16, 48, 96
_POOL = 2
# Images from which the layers are drawn.
_IMAGES = 512


class DeepPatchFeatures(DrawnModule):
    """Two layers of patch filters, averaged in cells.

    Parameters
    ----------
    first, second : PatchFilters, default=None
        Filters of both layers.
    factor : int, default=1
        How much images are reduced before the first layer.
    output_dim : int, default=0
        Number of features; surplus features are left out.

    Examples
    --------
    >>> sample = torch.randn(20, 3, 16, 16)
    >>> features = DeepPatchFeatures.draw(sample, 32, torch.Generator().manual_seed(0))
    >>> features(sample).shape
    torch.Size([20, 32])
    """

    factor: Tensor
    output_dim: Tensor

    def __init__(
        self,
        first: PatchFilters | None = None,
        second: PatchFilters | None = None,
        factor: int = 1,
        output_dim: int = 0,
    ) -> None:
        super().__init__()
        self.first = PatchFilters() if first is None else first
        self.second = PatchFilters() if second is None else second
        self.store(factor=factor, output_dim=output_dim)
        self.prepare()

    def prepare(self) -> None:
        """Read the factor and the number of features."""
        self._factor, self._width = int(self.factor), int(self.output_dim)

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw both layers of filters from patches of the data and of their feature maps.

        Parameters
        ----------
        sample : Tensor of shape (n, channels, height, width)
            Images of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        DeepPatchFeatures
        """
        factor = reduction(sample)
        images = reduced(random_rows(sample, min(len(sample), _IMAGES), generator), factor)
        side = min(_FIRST_SIDE, *((size + 2) // 3 for size in images.shape[2:]))
        n_filters = min(_MOST_FILTERS, max(_FEWEST_FILTERS, output_dim // _FEATURES_PER_FILTER))
        first = PatchFilters.draw(images, n_filters, side, generator)
        maps = in_pieces(partial(feature_maps, first), images, 2 * n_filters)
        side = min(_SECOND_SIDE, *maps.shape[2:])
        cells = math.prod(min(2, size - side + 1) for size in maps.shape[2:])
        second = PatchFilters.draw(maps, math.ceil(output_dim / (2 * cells)), side, generator)
        return cls(first, second, factor, output_dim).to(sample.device)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features.

        Parameters
        ----------
        x : Tensor of shape (m, channels, height, width)
            Images.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        x = reduced(x, self._factor)
        features = in_pieces(self._features, x, 2 * len(self.first.weight))
        return features[:, : self._width]

    def _features(self, images: Tensor) -> Tensor:
        return pool_signs(self.second(feature_maps(self.first, images)))


def feature_maps(filters: PatchFilters, images: Tensor) -> Tensor:
    """Thresholded responses in both signs, averaged over squares of places.

    Parameters
    ----------
    filters : PatchFilters
        The first layer.
    images : Tensor of shape (m, channels, height, width)
        Images.

    Returns
    -------
    Tensor of shape (m, 2 * k, height', width')
    """
    responses = filters(images)
    size = _POOL if min(responses.shape[2:]) >= _POOL else 1
    return torch.cat([F.avg_pool2d(maps, size) for maps in rectified(responses)], 1)
