"""From a file, an image of Pillow or an array to one array: channels, height and width in [0, 1].

What users of Pillow and torchvision expect: an image is turned as its EXIF tag says, colors of a
palette and CMYK become RGB, the first frame of an animation is read, and an alpha channel is
dropped. Unlike Pillow's own conversion, 16-bit gray values are scaled, not cut off at 255.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch

from aleator.exceptions import DamagedFileError

_CHANNELS = (1, 3, 4)
# No format has more pixels in a byte than this, unless the image is blank. A header that says so is
# damaged, and would take gigabytes.
_MOST_PIXELS_PER_BYTE, _FEW_PIXELS = 2000, 1 << 18
# Weights of red, green and blue in gray: those of Pillow and torchvision (ITU-R 601-2).
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def import_pillow() -> Any:
    """Import Pillow, or say how to install it."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError("image files need Pillow: pip install 'aleator[image]'") from error
    return Image, ImageOps


def is_pillow(item: Any) -> bool:
    """Whether an object is an image of Pillow, which need not be installed.

    Examples
    --------
    >>> is_pillow(np.zeros((2, 2)))
    False
    """
    return any(
        kind.__module__ == "PIL.Image" and kind.__name__ == "Image" for kind in type(item).__mro__
    )


def decode(item: Any, place: str) -> np.ndarray:
    """Return an image as float32 of shape (channels, height, width), with one channel or three.

    Parameters
    ----------
    item : path, PIL.Image.Image, array or tensor
        The image.
    place : str
        How messages name it.

    Returns
    -------
    ndarray of shape (1 or 3, height, width), float32
        Integers are scaled to [0, 1]; floating-point numbers are as they were.

    Examples
    --------
    >>> decode(np.full((5, 6, 3), 255, np.uint8), "row 0").shape
    (3, 5, 6)
    """
    if isinstance(item, (str, os.PathLike)):
        return _decode_file(item)
    if is_pillow(item):
        return _of_pillow(item)
    if isinstance(item, torch.Tensor):
        item = item.detach().cpu().numpy()
    return _of_array(np.asarray(item), place)


def resize(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Resize an image by bilinear interpolation, smoothed where it becomes smaller.

    Parameters
    ----------
    image : ndarray of shape (channels, height, width), float32
        The image.
    size : tuple of two int
        Height and width.

    Returns
    -------
    ndarray of shape (channels, *size), float32

    Examples
    --------
    >>> resize(np.ones((1, 4, 6), np.float32), (2, 3)).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """
    if image.shape[1:] == size:
        return image
    given = torch.from_numpy(np.ascontiguousarray(image))[None]
    resized = torch.nn.functional.interpolate(given, size, mode="bilinear", antialias=True)
    return resized[0].numpy()


def with_channels(image: np.ndarray, count: int) -> np.ndarray:
    """Make a color image gray, or repeat the channel of a gray one.

    Examples
    --------
    >>> with_channels(np.ones((1, 2, 2), np.float32), 3).shape
    (3, 2, 2)
    """
    if len(image) == count:
        return image
    if count == 1:
        return np.tensordot(_LUMA, image, 1)[None]
    return np.repeat(image, 3, axis=0)


def has_channels_last(shape: tuple[int, ...]) -> bool:
    """Whether the last axis of an image counts its channels, and no other axis may.

    Channels are 1 (gray), 3 (RGB) or 4 (RGB and alpha); height and width must be larger than that.

    Examples
    --------
    >>> [has_channels_last(shape) for shape in ((32, 32, 3), (3, 32, 32), (3, 32, 3))]
    [True, False, False]
    """
    height, width, channels = shape
    return channels in _CHANNELS and min(height, width) > max(_CHANNELS)


def _decode_file(path: str | os.PathLike[str]) -> np.ndarray:
    image, _ = import_pillow()
    try:
        with image.open(path) as opened:
            _check_size(opened, os.path.getsize(path))
            return _of_pillow(opened)
    except FileNotFoundError:
        raise
    # The readers of Pillow raise anything at all if a file is damaged.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise DamagedFileError(f"{os.fspath(path)} cannot be read: {reason}") from error


def _check_size(image: Any, n_bytes: int) -> None:
    """Raise ValueError if a file is too small for the size that its header tells."""
    width, height = image.size
    if image.mode != "1" and width * height > max(_FEW_PIXELS, _MOST_PIXELS_PER_BYTE * n_bytes):
        raise ValueError(
            f"its header tells of {width} × {height} pixels, but a file of {n_bytes} bytes cannot "
            "hold so many"
        )


def _of_pillow(given: Any) -> np.ndarray:
    _, operations = import_pillow()
    image = operations.exif_transpose(given)
    mode = image.mode
    if mode == "F":
        return np.array(image, np.float32)[None]
    if mode.startswith("I"):  # 16 bits, also where Pillow has them in 32
        scaled = np.array(image).astype(np.float32)
        scaled /= 65535
        return scaled[None]
    if mode in ("1", "L", "LA", "La"):
        return _scaled(np.array(image.convert("L")))[None]
    if mode in ("P", "PA") and "transparency" in image.info:
        image = image.convert("RGBA")  # or Pillow warns
    return _scaled(np.moveaxis(np.asarray(image.convert("RGB")), -1, 0))


def _of_array(values: np.ndarray, place: str) -> np.ndarray:
    if values.dtype.kind not in "buif" or values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(
            f"{place} of X is no image: it has the shape {values.shape} and the type "
            f"{values.dtype}; give arrays of numbers of shape (height, width), "
            "(height, width, channels) or (channels, height, width)"
        )
    if values.ndim == 2:
        values = values[None]
    elif values.shape[0] not in _CHANNELS or has_channels_last(values.shape):
        values = np.moveaxis(values, -1, 0)
    if values.shape[0] not in _CHANNELS:
        raise ValueError(
            f"{place} of X has the shape {values.shape}: an image must have 1, 3 or 4 channels, "
            "as its first or its last axis"
        )
    image = _scaled(values[:3])
    if not np.isfinite(image).all():
        raise ValueError(f"{place} of X contains NaN or inf: replace them")
    return image


def _scaled(values: np.ndarray) -> np.ndarray:
    """Scale integers to [0, 1], by the largest number of their type."""
    if values.dtype.kind in "bf":
        with np.errstate(over="ignore"):
            return values.astype(np.float32)
    scaled = values.astype(np.float32, order="C")
    scaled /= 65535 if values.dtype.itemsize == 2 else 255
    return scaled
