"""Sources of images of any size: in files, or in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from aleator.inputs.files import is_hidden, natural_order, version_of
from aleator.inputs.images.decoding import decode, import_pillow, is_pillow
from aleator.inputs.sources import Schema, Source, chosen_rows

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
_ROWS_PER_CHUNK = 64


class Images(Source):
    """Images of any size and kind. Files are read when they are needed.

    Made by `open_images`; see there. It can be passed to estimators as X.

    Parameters
    ----------
    items : sequence of path, PIL.Image.Image, array or tensor
        The images.
    labels : ndarray of shape (n,) or None, default=None
        Names of the folders that they are in.
    root : str, default=""
        Folder to which names in messages are relative.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
        Names of the folders that the images are in; None if there are no such folders.
    paths : list of str or None
        The files; None if the images are in memory.

    Examples
    --------
    >>> images = Images([np.zeros((9, 8), np.uint8), np.zeros((5, 6, 3), np.uint8)])
    >>> [image.shape for image in images.gather(np.array([1, 0]))]
    [(3, 5, 6), (1, 9, 8)]
    """

    modality = "image"

    def __init__(
        self, items: Sequence[Any], labels: np.ndarray | None = None, root: str = ""
    ) -> None:
        self._items = list(items)
        self.labels = labels
        self._root = root
        self.schema = Schema((), np.dtype(object))
        self.in_memory = not any(isinstance(item, (str, os.PathLike)) for item in items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Self:
        """Return some of the images, with their labels: those of a slice, a mask or positions."""
        chosen = chosen_rows(len(self), index)
        items = [self._items[row] for row in chosen]
        return type(self)(items, None if self.labels is None else self.labels[chosen], self._root)

    @property
    def paths(self) -> list[str] | None:
        """The files; None if the images are in memory."""
        return None if self.in_memory else [os.fspath(item) for item in self._items]

    @property
    def rows_per_chunk(self) -> int:
        """Images per chunk if nothing else is asked for."""
        return _ROWS_PER_CHUNK

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the images at `index`: an array of arrays (channels, height, width)."""
        found = np.empty(len(index), object)
        for position, row in enumerate(np.asarray(index).tolist()):
            found[position] = decode(self._items[row], self.describe_row(row))
        return found

    def describe_row(self, row: int) -> str:
        """Name an image by its file, or by its row."""
        item = self._items[row]
        if not isinstance(item, (str, os.PathLike)):
            return f"row {row}"
        path = os.fspath(item)
        return path.removeprefix(self._root).lstrip("/\\") if self._root else path

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return what tells images apart: name, size and time of change of files, or pixels."""
        parts = []
        for row in np.asarray(index).tolist():
            item = self._items[row]
            if isinstance(item, (str, os.PathLike)):
                parts.append(repr([self.describe_row(row), *version_of(os.fspath(item))]).encode())
            else:
                image = decode(item, self.describe_row(row))
                parts.append(repr(image.shape).encode() + image.tobytes())
        return b"\n".join(parts)


def open_images(images: Any) -> Images:
    """Open a folder of image files, or a list of images, without reading them.

    The result can be passed to `fit` and `transform` of all estimators. Files of a folder, and of
    the folders in it, are sorted by path, numbers by their value. Names that begin with ``.`` or
    ``_`` and files that are no images are skipped.

    Parameters
    ----------
    images : str, path-like, or list of paths, PIL images, arrays or tensors
        The folder, or the images. Files need ``pip install 'aleator[image]'``.

    Returns
    -------
    Images
        Its attribute `labels` holds the name of the sub-folder that each image is in, or is None if
        there are no sub-folders. ``images[index]`` is a part of it.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("cat/2.png", "cat/10.png", "dog/1.png"):
    ...         path = Path(folder, name)
    ...         path.parent.mkdir(exist_ok=True)
    ...         Image.new("RGB", (8, 6)).save(path)
    ...     images = open_images(folder)
    ...     print(len(images), images.labels, images[1:].gather(np.array([0]))[0].shape)
    3 ['cat' 'cat' 'dog'] (3, 6, 8)
    """
    if isinstance(images, Images):
        return images
    if not isinstance(images, (str, os.PathLike)):
        items = list(images)
        if any(isinstance(item, (str, os.PathLike)) for item in items):
            import_pillow()
        return Images(items)
    root = os.fspath(images)
    if not os.path.isdir(root):
        raise FileNotFoundError(f"there is no folder {root!r}")
    paths = image_files(root)
    if not paths:
        raise ValueError(
            f"the folder {root!r} has no images: files that end in {', '.join(ENDINGS)}"
        )
    import_pillow()
    parts = [re.split(r"[/\\]", os.path.relpath(path, root)) for path in paths]
    labels = np.array([part[0] if len(part) > 1 else "" for part in parts])
    return Images(paths, labels if any(len(part) > 1 for part in parts) else None, root)


def image_files(root: str) -> list[str]:
    """List the images in a folder and the folders in it."""
    found = (str(path) for path in Path(root).rglob("*") if is_image_path(path))
    visible = (path for path in found if not is_hidden(path.removeprefix(root)))
    return sorted((path for path in visible if os.path.isfile(path)), key=natural_order)


def is_image_path(item: Any) -> bool:
    """Whether an object is a path with the ending of an image file.

    Examples
    --------
    >>> is_image_path("a/b.PNG"), is_image_path("see b.png!")
    (True, False)
    """
    return isinstance(item, (str, os.PathLike)) and os.fspath(item).lower().endswith(ENDINGS)


def as_images(X: Any, *, asked: bool = False) -> Images | None:
    """Return X as a source if it is a list of images.

    Parameters
    ----------
    X : object
        What a user passed as X.
    asked : bool, default=False
        Whether X is said to be images.

    Returns
    -------
    Images or None
        None if X is something else, also if it is a list of arrays of one shape, which is an array.

    Examples
    --------
    >>> as_images([np.zeros((8, 9, 3)), np.zeros((9, 9, 3))]).labels is None
    True
    >>> as_images([[1.0, 2.0]]) is None
    True
    """
    if isinstance(X, Images):
        return X
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype == object:
        X = X.tolist()
    if not isinstance(X, (list, tuple)) or len(X) == 0:
        return None
    if all(is_image_path(item) for item in X) or (
        asked and all(isinstance(item, (str, os.PathLike)) for item in X)
    ):
        return open_images(X)
    if any(is_pillow(item) for item in X):
        return Images(X)
    shapes = {tuple(shape) for shape in _shapes(X)}
    least = 2 if asked else 3
    if len(shapes) > 1 and all(least <= len(shape) <= 3 for shape in shapes):
        return Images(X)
    return None


def _shapes(items: Iterable[Any]) -> Iterable[Any]:
    return (getattr(item, "shape", ()) for item in items)
