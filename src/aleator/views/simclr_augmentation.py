"""The view of images of SimCLR (Chen et al. 2020): crop, flip, color jitter, grayscale, blur.

Color conversions and filters are kornia's (Riba et al. 2020). Random numbers are drawn here, on the
device and for the whole batch, because kornia draws on the host, which a CUDA graph cannot capture.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SimCLRAugmentation(nn.Module):
    """A random crop, resized and flipped, with changed colors, grayscale or blur.

    `low` and `high` are the smallest and largest value of every channel. Hue, saturation and
    grayscale apply to images of three channels only.

    Examples
    --------
    >>> view = SimCLRAugmentation(torch.zeros(3), torch.ones(3))
    >>> view(torch.rand(2, 3, 8, 10)).shape
    torch.Size([2, 3, 8, 10])
    """

    def __init__(
        self,
        low: Tensor,
        high: Tensor,
        *,
        least_area: float = 0.2,
        flip: float = 0.5,
        jitter: tuple[float, float, float, float] = (0.4, 0.4, 0.4, 0.1),
        jitter_share: float = 0.8,
        gray_share: float = 0.2,
        blur_share: float = 0.5,
        blur_kernel: int = 9,
    ) -> None:
        super().__init__()
        self._kornia = _kornia()
        self.register_buffer("low", low[:, None, None].clone())
        self.register_buffer("range", (high - low)[:, None, None].clone())
        self.least_area = least_area
        self.flip = flip
        self.jitter = jitter
        self.jitter_share = jitter_share
        self.gray_share = gray_share
        self.blur_share = blur_share
        self.blur_kernel = blur_kernel

    def forward(self, x: Tensor) -> Tensor:
        """Augment a batch of shape (n, channels, height, width)."""
        low: Tensor = self.low  # type: ignore[assignment]
        span: Tensor = self.range  # type: ignore[assignment]
        with torch.autocast(x.device.type, enabled=False):
            image = (self._crop(x.contiguous()) - low) / torch.where(span > 0, span, 1)
            image = self._apply_randomly(self.jitter_share, self._jitter_colors(image), image)
            if image.shape[1] == 3:
                gray = self._kornia.color.rgb_to_grayscale(image).expand_as(image)
                image = self._apply_randomly(self.gray_share, gray, image)
            if self.blur_share:
                image = self._apply_randomly(self.blur_share, self._blur(image), image)
            return image * span + low

    def _crop(self, x: Tensor) -> Tensor:
        """Crop a box of random area, aspect ratio and position, possibly mirrored."""
        area = self._uniform(x, self.least_area, 1)
        shape = self._uniform(x, math.log(3 / 4), math.log(4 / 3)).exp()
        width = (area * shape).sqrt().clamp(max=1)
        height = (area / shape).sqrt().clamp(max=1)
        across = self._uniform(x, -1, 1) * (1 - width)
        down = self._uniform(x, -1, 1) * (1 - height)
        mirrored = torch.where(torch.rand_like(width) < self.flip, -width, width)
        none = torch.zeros_like(width)
        rows = [torch.stack([mirrored, none, across], 1), torch.stack([none, height, down], 1)]
        grid = F.affine_grid(torch.stack(rows, 1), list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    def _jitter_colors(self, image: Tensor) -> Tensor:
        brightness, contrast, saturation, hue = self.jitter
        image = (image * self._factor(image, brightness)).clamp(0, 1)
        mean = image.mean(dim=(1, 2, 3), keepdim=True)
        image = torch.lerp(mean, image, self._factor(image, contrast)).clamp(0, 1)
        if image.shape[1] != 3:
            return image
        color = self._kornia.color
        gray = color.rgb_to_grayscale(image)
        image = torch.lerp(gray, image, self._factor(image, saturation)).clamp(0, 1)
        angle, rest = color.rgb_to_hsv(image).split([1, 2], dim=1)
        turn = 2 * math.pi * self._uniform(image, -hue, hue)[:, None, None, None]
        turned = torch.cat([(angle + turn).remainder(2 * math.pi), rest], dim=1)
        return color.hsv_to_rgb(turned)

    def _blur(self, image: Tensor) -> Tensor:
        # No wider than the image, which is reflected at its border.
        half = min(self.blur_kernel // 2, min(image.shape[2:]) - 1)
        taps = torch.arange(-half, half + 1, device=image.device)
        deviation = self._uniform(image, 0.1, 2)[:, None]
        kernel = torch.softmax(-(taps**2) / (2 * deviation**2), dim=1)
        return self._kornia.filters.filter2d_separable(image, kernel, kernel)

    def _apply_randomly(self, share: float, changed: Tensor, image: Tensor) -> Tensor:
        chosen = torch.rand(len(image), 1, 1, 1, device=image.device) < share
        return torch.where(chosen, changed, image)

    def _factor(self, image: Tensor, strength: float) -> Tensor:
        return self._uniform(image, 1 - strength, 1 + strength)[:, None, None, None]

    @staticmethod
    def _uniform(image: Tensor, low: float, high: float) -> Tensor:
        drawn = torch.rand(len(image), dtype=image.dtype, device=image.device)
        return drawn * (high - low) + low


def _kornia() -> Any:
    try:
        import kornia
    except ImportError as error:
        raise ImportError(
            "the augmentation of images needs kornia: pip install 'aleator[image]'"
        ) from error
    return kornia
