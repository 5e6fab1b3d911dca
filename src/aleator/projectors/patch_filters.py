"""Whitened patches of images as filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from aleator.projectors.drawn import GPU_VALUES, DrawnModule, random_rows

# Patches from which the whitening is estimated, and about how many values they may have.
_PATCHES = 1 << 16
_VALUES = 1 << 23
_PATCHES_PER_DIRECTION = 8
# What is added to variances so that noise is not amplified: a share of the mean contrast of
# patches, and of the mean variance of the directions that are whitened.
_CONTRAST_FLOOR = 0.01
_WHITENING_FLOOR = 0.1
_TINY = 1e-12
_ROWS_PER_PRODUCT = 4096
# Values of responses that are computed at once on a CPU. Smaller pieces fit in its cache, but then
# its threads wait for each other more often.
_VALUES_PER_PIECE = 1 << 23
_THRESHOLD = 0.25


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
        patches = draw_patches(images, n_patches, side, generator).flatten(1)
        # A single value has no contrast; it is kept, and divided by its root mean square.
        single = n_values == 1
        if not single:
            patches -= patches.mean(1, keepdim=True)
        variance = patches.square().mean(1, keepdim=True)
        floor = ((1 if single else _CONTRAST_FLOOR) * variance.double().mean() + _TINY).float()
        patches /= (floor if single else variance + floor).sqrt()
        mean, covariance = _moments(patches)
        eigenvalues, vectors = torch.linalg.eigh(covariance)
        # Directions that few patches vary in would be amplified in all others: they are left out.
        n_directions = min(n_values, max(1, len(patches) // _PATCHES_PER_DIRECTION))
        eigenvalues, vectors = eigenvalues[-n_directions:], vectors[:, -n_directions:]
        eigenvalues = eigenvalues.clamp_min(0) + _WHITENING_FLOOR * eigenvalues.mean() + _TINY
        whitening = (vectors * eigenvalues.rsqrt()) @ vectors.T
        chosen = (random_rows(patches, count, generator).double() - mean) @ whitening
        chosen = chosen / chosen.norm(dim=1, keepdim=True).clamp_min(_TINY)
        # Centering and whitening are linear, so they become part of the filters.
        weight = chosen @ whitening
        offset = weight @ mean
        if not single:
            weight = weight - weight.mean(1, keepdim=True)
        return cls(weight.float().view(-1, *shape), offset.float(), floor)

    def forward(self, x: Tensor) -> Tensor:
        """Return the responses.

        Parameters
        ----------
        x : Tensor of shape (m, channels, height, width)
            Images.

        Returns
        -------
        Tensor of shape (m, k, height - side + 1, width - side + 1)
            On a CPU in the memory format "channels last", in which pooling is fast.
        """
        side = self.weight.shape[-1]
        mean, power = _window_means(torch.stack([x.mean(1), (x * x).mean(1)]), side)
        contrast = ((power - mean.square()).clamp_min(0) + self.floor).rsqrt()
        responses = _correlate(x, self.weight).mul_(contrast[:, None])
        return responses.sub_(self.offset[:, None, None])


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
    n_rows, n_columns = height - side + 1, width - side + 1
    n_rounds = max(1, min(n_rows * n_columns, count // n_images))
    corners = [
        torch.randint(size, (n_images,), generator=generator)
        for _ in range(n_rounds)
        for size in (n_rows, n_columns)
    ]
    top, left = torch.stack(corners).view(n_rounds, 2, -1).transpose(0, 1).to(images.device)
    image = torch.arange(n_images, device=images.device).expand_as(top)
    # Windows are a view of the images, of shape (n, rows, columns, channels, side, side).
    windows = images.unfold(2, side, 1).unfold(3, side, 1).permute(0, 2, 3, 1, 4, 5)
    return windows[image.flatten(), top.flatten(), left.flatten()]


def in_pieces(function: Callable[[Tensor], Tensor], images: Tensor, n_maps: int) -> Tensor:
    """Apply a function to as many images at a time as suit the device.

    Parameters
    ----------
    function : callable
        Function of images that has a result for every image.
    images : Tensor of shape (n, channels, height, width)
        Images.
    n_maps : int
        Number of maps of the size of an image that the function computes on its way.

    Returns
    -------
    Tensor of shape (n, ...)
        The results of all images.

    Examples
    --------
    >>> in_pieces(lambda x: x.mean((1, 2, 3)), torch.ones(3, 1, 8, 8), n_maps=1 << 15).tolist()
    [1.0, 1.0, 1.0]
    """
    at_once = _VALUES_PER_PIECE if images.device.type == "cpu" else GPU_VALUES
    size = max(1, at_once // (n_maps * images.shape[2] * images.shape[3]))
    return torch.cat([function(part) for part in images.split(size)])


def rectified(responses: Tensor) -> Iterator[Tensor]:
    """Thresholded responses, first those of positive and then those of negative sign.

    Parameters
    ----------
    responses : Tensor
        Responses of filters.

    Yields
    ------
    Tensor
        Of the shape of the responses.

    Examples
    --------
    >>> [part.tolist() for part in rectified(torch.tensor([1.0, -2.0]))]
    [[0.75, 0.0], [0.0, 1.75]]
    """
    yield (responses - _THRESHOLD).relu_()
    yield (-_THRESHOLD - responses).relu_()


def _moments(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance; products have the precision of the rows, and their sums double."""
    mean = rows.mean(0, dtype=torch.float64)
    covariance = mean.new_zeros(len(mean), len(mean))
    for part in rows.split(_ROWS_PER_PRODUCT):
        centered = part - mean.to(part)
        covariance += centered.T @ centered
    return mean, covariance / max(1, len(rows) - 1)


def _window_means(images: Tensor, side: int) -> Tensor:
    if images.device.type != "cpu":
        return F.avg_pool2d(images, side, 1)
    # With few channels, avg_pool2d is not vectorized on a CPU.
    return images.unfold(2, side, 1).mean(-1).unfold(3, side, 1).mean(-1)


def _correlate(x: Tensor, weight: Tensor) -> Tensor:
    if x.device.type == "cpu":
        return F.conv2d(x.contiguous(memory_format=torch.channels_last), weight)
    # On a GPU, a convolution might be less precise than a product of matrices.
    side = weight.shape[-1]
    windows = x.unfold(2, side, 1).unfold(3, side, 1)
    columns = windows.permute(0, 1, 4, 5, 2, 3).flatten(1, 3).flatten(2)
    return (weight.flatten(1) @ columns).unflatten(2, windows.shape[2:4])
