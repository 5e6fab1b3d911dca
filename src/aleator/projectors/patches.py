"""Random patches of the data as filters of images.

After Coates and Ng (The importance of encoding versus training with sparse coding and vector
quantization, 2011) and Thiry et al. (ICLR 2021): patches are normalized to their own mean and
contrast and whitened, used as filters in both signs, thresholded, and averaged in cells. Of the
averages the logarithms are taken: many are close to zero and a few are large, and what tells images
apart is by what factor they differ (compare the power normalization of Perronnin, Sánchez and
Mensink, Improving the Fisher kernel for large-scale image classification, 2010).
"""

from __future__ import annotations

import functools
import math
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from aleator.projectors.drawn import DrawnModule
from aleator.projectors.patch_filters import PatchFilters, in_pieces, rectified

_SIDE = 6
_CELLS = 2
# Images are averaged to at most this many pixels on their shorter side.
_MOST_PIXELS = 48
# What is added to averages before their logarithm is taken; they are about 0.2 on average.
_FLOOR = 0.03


class PatchFeatures(DrawnModule):
    """Logarithms of mean thresholded responses to patches, in both signs and at two scales.

    Parameters
    ----------
    fine, coarse : PatchFilters, default=None
        Filters of images, and of images of half the size. Small images have no coarse ones.
    factor : int, default=1
        How much images are reduced before the fine filters are applied.
    output_dim : int, default=0
        Number of features; surplus features are left out.

    Examples
    --------
    >>> sample = torch.randn(20, 3, 16, 16)
    >>> features = PatchFeatures.draw(sample, 32, torch.Generator().manual_seed(0))
    >>> features(sample).shape
    torch.Size([20, 32])
    """

    factor: Tensor
    output_dim: Tensor

    def __init__(
        self,
        fine: PatchFilters | None = None,
        coarse: PatchFilters | None = None,
        factor: int = 1,
        output_dim: int = 0,
    ) -> None:
        super().__init__()
        self.fine = PatchFilters() if fine is None else fine
        self.coarse = PatchFilters() if coarse is None else coarse
        self.store(factor=factor, output_dim=output_dim)
        self.prepare()

    def prepare(self) -> None:
        """Read the factor and the number of features."""
        self._factor, self._width = int(self.factor), int(self.output_dim)

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw filters from patches of the data.

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
        PatchFeatures
        """
        factor = reduction(sample)
        images = reduced(sample, factor)
        halved = reduced(images, 2)
        side = min(_SIDE, *((size + 1) // 2 for size in images.shape[2:]))
        n_cells = math.prod(_cells(*(size - side + 1 for size in images.shape[2:])))
        count = math.ceil(output_dim / (2 * n_cells))
        if min(halved.shape[2:]) < 2 * _SIDE or count == 1:
            fine = PatchFilters.draw(images, count, side, generator)
            return cls(fine, None, factor, output_dim).to(sample.device)
        fine = PatchFilters.draw(images, count - count // 2, _SIDE, generator)
        coarse = PatchFilters.draw(halved, count // 2, _SIDE, generator)
        return cls(fine, coarse, factor, output_dim).to(sample.device)

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
        pooled = [_pooled(self.fine, x)]
        if self.coarse.weight.numel():
            pooled.append(_pooled(self.coarse, reduced(x, 2)))
        return torch.cat(pooled, 1)[:, : self._width]


def reduction(images: Tensor) -> int:
    """Choose the factor by which images are reduced to a size that is cheap to filter.

    Parameters
    ----------
    images : Tensor of shape (n, channels, height, width)
        Images.

    Returns
    -------
    int

    Examples
    --------
    >>> reduction(torch.zeros(1, 3, 80, 100)), reduction(torch.zeros(1, 3, 32, 32))
    (2, 1)
    """
    return math.ceil(min(images.shape[2:]) / _MOST_PIXELS)


def reduced(images: Tensor, factor: int) -> Tensor:
    """Average squares of pixels.

    Parameters
    ----------
    images : Tensor of shape (n, channels, height, width)
        Images.
    factor : int
        Height and width of a square.

    Returns
    -------
    Tensor of shape (n, channels, height // factor, width // factor)

    Examples
    --------
    >>> reduced(torch.zeros(1, 3, 80, 100), 2).shape
    torch.Size([1, 3, 40, 50])
    """
    return F.avg_pool2d(images, factor) if 1 < factor <= min(images.shape[2:]) else images


def _pooled(filters: PatchFilters, images: Tensor) -> Tensor:
    return in_pieces(lambda part: pool_signs(filters(part)), images, len(filters.weight))


def pool_signs(responses: Tensor) -> Tensor:
    """Average thresholded responses of either sign in cells, and take logarithms.

    Parameters
    ----------
    responses : Tensor of shape (m, k, height, width)
        Responses of filters.

    Returns
    -------
    Tensor of shape (m, 2 * k * cells)

    Examples
    --------
    >>> [round(value, 2) for value in pool_signs(torch.ones(1, 1, 2, 2))[0].exp().tolist()]
    [0.78, 0.78, 0.78, 0.78, 0.03, 0.03, 0.03, 0.03]
    """
    return torch.cat([_cell_means(maps) for maps in rectified(responses)], 1).add_(_FLOOR).log_()


def _cell_means(maps: Tensor) -> Tensor:
    height, width = maps.shape[2:]
    if maps.device.type != "cpu":
        return F.adaptive_avg_pool2d(maps, _cells(height, width)).flatten(1)
    # On a CPU a product with a matrix of means is faster.
    places = maps.permute(0, 2, 3, 1).flatten(1, 2)
    return (_averaging_matrix(height, width).to(maps.dtype) @ places).transpose(1, 2).flatten(1)


@functools.cache
def _averaging_matrix(height: int, width: int) -> Tensor:
    """Matrix of shape (cells, height * width) that averages in cells."""
    places = torch.eye(height * width).view(-1, 1, height, width)
    return F.adaptive_avg_pool2d(places, _cells(height, width)).flatten(1).T.contiguous()


def _cells(height: int, width: int) -> tuple[int, int]:
    return min(_CELLS, height), min(_CELLS, width)
