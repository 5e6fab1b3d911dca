"""Whitened patches of images as filters."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from aleator.projectors.drawn import DrawnModule, random_rows

# Patches from which the whitening is estimated, and about how many values they may have.
_PATCHES = 1 << 16
_VALUES = 1 << 23
_PATCHES_PER_DIRECTION = 8
# What is added to variances so that noise is not amplified: a share of the mean contrast of
# patches, and of the mean variance of the directions that are whitened.
_CONTRAST_FLOOR = 0.01
_WHITENING_FLOOR = 0.1
_TINY = 1e-12


class PatchFilters(DrawnModule):
    """Filters for patches that are normalized to zero mean and unit contrast.

    Parameters
    ----------
    weight : Tensor of shape (k, channels, side, side), default=None
        Filters, each with a sum of zero, unless patches are single values.
    offset : Tensor of shape (k,), default=None
        Response to the mean patch, which is subtracted.
    floor : Tensor of shape (), default=None
        What is added to the variance of a patch.

    Examples
    --------
    >>> filters = PatchFilters(torch.randn(5, 3, 4, 4), torch.zeros(5), torch.tensor(0.1))
    >>> filters(torch.randn(2, 3, 8, 8)).shape
    torch.Size([2, 5, 5, 5])
    """

    weight: Tensor
    offset: Tensor
    floor: Tensor

    def __init__(
        self,
        weight: Tensor | None = None,
        offset: Tensor | None = None,
        floor: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.store(weight=weight, offset=offset, floor=floor)

    @classmethod
    def draw(  # type: ignore[override]
        cls, images: Tensor, count: int, side: int, generator: torch.Generator
    ) -> Self:
        """Draw whitened patches.

        Parameters
        ----------
        images : Tensor of shape (n, channels, height, width)
            Images, or feature maps of a layer before.
        count : int
            Number of filters.
        side : int
            Height and width of the patches.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        PatchFilters
        """
        shape = images.shape[1], side, side
        n_values = images.shape[1] * side * side
        n_patches = min(_PATCHES, max(4 * n_values, _VALUES // n_values))
        patches = draw_patches(images, n_patches, side, generator).flatten(1).double()
        # A single value has no contrast; it is kept, and divided by its root mean square.
        single = n_values == 1
        if not single:
            patches = patches - patches.mean(1, keepdim=True)
        variance = patches.square().mean(1, keepdim=True)
        floor = (1 if single else _CONTRAST_FLOOR) * variance.mean() + _TINY
        patches = patches / (floor if single else variance + floor).sqrt()
        mean = patches.mean(0)
        eigenvalues, vectors = torch.linalg.eigh(torch.cov(patches.T).view(n_values, n_values))
        # Directions that few patches vary in would be amplified in all others: they are left out.
        n_directions = min(n_values, max(1, len(patches) // _PATCHES_PER_DIRECTION))
        eigenvalues, vectors = eigenvalues[-n_directions:], vectors[:, -n_directions:]
        eigenvalues = eigenvalues.clamp_min(0) + _WHITENING_FLOOR * eigenvalues.mean() + _TINY
        whitening = (vectors * eigenvalues.rsqrt()) @ vectors.T
        chosen = (random_rows(patches, count, generator) - mean) @ whitening
        chosen = chosen / chosen.norm(dim=1, keepdim=True).clamp_min(_TINY)
        # Centering and whitening are linear, so they become part of the filters.
        weight = chosen @ whitening
        offset = weight @ mean
        if not single:
            weight = weight - weight.mean(1, keepdim=True)
        return cls(weight.float().view(-1, *shape), offset.float(), floor.float())

    def forward(self, x: Tensor) -> Tensor:
        """Return the responses.

        Parameters
        ----------
        x : Tensor of shape (m, channels, height, width)
            Images.

        Returns
        -------
        Tensor of shape (m, k, height - side + 1, width - side + 1)
        """
        side = self.weight.shape[-1]
        mean, power = (F.avg_pool2d(part.mean(1, keepdim=True), side, 1) for part in (x, x * x))
        contrast = ((power - mean.square()).clamp_min(0) + self.floor).rsqrt()
        responses = (self.weight.flatten(1) @ _windows(x, side)).unflatten(2, contrast.shape[2:])
        return responses.mul_(contrast).sub_(self.offset[:, None, None])


def draw_patches(images: Tensor, count: int, side: int, generator: torch.Generator) -> Tensor:
    """Draw patches at random places of images.

    Parameters
    ----------
    images : Tensor of shape (n, channels, height, width)
        Images.
    count : int
        About how many patches: as many from every image, at least one.
    side : int
        Height and width of the patches.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    Tensor of shape (n_patches, channels, side, side)

    Examples
    --------
    >>> images = torch.zeros(3, 1, 8, 8)
    >>> draw_patches(images, 6, 4, torch.Generator().manual_seed(0)).shape
    torch.Size([6, 1, 4, 4])
    """
    n_images, _, height, width = images.shape
    places = (height - side + 1) * (width - side + 1)
    index = torch.arange(n_images)[:, None, None]
    patches = []
    for _ in range(max(1, min(places, count // n_images))):
        top = torch.randint(height - side + 1, (n_images, 1), generator=generator)
        left = torch.randint(width - side + 1, (n_images, 1), generator=generator)
        rows = (top + torch.arange(side))[:, :, None]
        columns = (left + torch.arange(side))[:, None, :]
        patches.append(images[index, :, rows, columns].permute(0, 3, 1, 2))
    return torch.cat(patches)


def _windows(x: Tensor, side: int) -> Tensor:
    """All patches of images, of shape (m, channels * side * side, places).

    On a CPU a product with these is twice as fast as a convolution.
    """
    n_images, n_channels, height, width = x.shape
    x = x.contiguous()
    image, channel, row, column = x.stride()
    places = height - side + 1, width - side + 1
    windows = x.as_strided(
        (n_images, n_channels, side, side, *places), (image, channel, row, column, row, column)
    )
    return windows.reshape(n_images, n_channels * side * side, places[0] * places[1])
