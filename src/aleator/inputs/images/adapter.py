"""The input adapter of images of any size: one size, number of channels and scale for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from aleator.inputs.adapter_base import Adapter, ColumnRecord, check_preprocessing
from aleator.inputs.images.decoding import resize, with_channels
from aleator.inputs.images.source import Images, as_images
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.reading import RawData, read_numbers
from aleator.inputs.scale import read_scale
from aleator.inputs.sources import evenly_spaced
from aleator.inputs.tables.adapted import AdaptedTable
from aleator.inputs.tables.values import Place

# Size, channels and scale are learned from so many images at most, evenly spaced.
_MOST_IMAGES = 1 << 12
_IMAGES_AT_ONCE = 64
# A model that was saved has no larger images.
_MOST_PIXELS = 1 << 26


class ImageAdapter(Adapter):
    """Converts images of any size to one size and number of channels, standardized.

    The size is the most frequent one of the training data; of several, the larger one. Images are
    gray if all of the training data are, else RGB.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the converted samples.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.

    Attributes
    ----------
    shape : tuple of int
        Channels, height and width.
    scale : dict of str to ndarray
        Mean and standard deviation ("mean", "deviation") of every channel; empty if values are not
        standardized.

    Examples
    --------
    >>> layout = ArrayLayout("image", "images", ("channels", "height", "width"), "channel")
    >>> photos = [np.zeros((6, 8, 3), np.uint8), np.ones((6, 8), np.uint8), np.ones((9, 9))]
    >>> adapter = ImageAdapter(layout).fit(RawData(Images(photos)))
    >>> adapter
    images: RGB, 6 × 8 pixels (height × width), the size of 66.7 % of them; others are resized
    >>> adapter.transform(photos).shape
    (3, 3, 6, 8)
    """

    form: ClassVar[str] = "image"

    def __init__(self, layout: ArrayLayout, estimator_name: str = "the estimator") -> None:
        self.layout = layout
        self.estimator_name = estimator_name
        self.shape = (1, 1, 1)
        self.scale: dict[str, np.ndarray] = {}
        self._share = 1.0

    @property
    def n_features(self) -> int:
        """Number of channels."""
        return self.shape[0]

    @property
    def columns_(self) -> list[ColumnRecord]:
        """Images have no columns."""
        return []

    def __repr__(self) -> str:
        color = "gray" if self.shape[0] == 1 else "RGB"
        text = f"images: {color}, {self.shape[1]} × {self.shape[2]} pixels (height × width)"
        if self._share == 1:
            return text
        share = f"{self._share:.1%}".replace("%", " %")
        return f"{text}, the size of {share} of them; others are resized"

    def facts(self) -> dict[str, str]:
        """Return what images become."""
        return {"images": repr(self).removeprefix("images: ")}

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn the size, the channels and the scale of the training data.

        Without preprocessing, values of files and integers are in [0, 1].
        """
        check_preprocessing(preprocessing)
        index = evenly_spaced(len(data.source), _MOST_IMAGES)
        sizes: Counter[tuple[int, ...]] = Counter()
        channels = 1
        for start in range(0, len(index), _IMAGES_AT_ONCE):
            for image in data.source.gather(index[start : start + _IMAGES_AT_ONCE]):
                sizes[image.shape[1:]] += 1
                channels = max(channels, len(image))
        size, count = max(sizes.items(), key=lambda item: (item[1], np.prod(item[0]), item[0]))
        self.shape = (channels, *size)
        self._share = count / len(index)
        self.scale = {}
        if preprocessing == "auto":
            self.scale = self._scale_of(data, index)
        return self

    def adapt(self, data: RawData) -> AdaptedTable:
        """Return a source of converted images; nothing is read yet."""
        return AdaptedTable(data, self)

    def read(self, X: Any) -> AdaptedTable:
        """Read new images and return a source of converted ones."""
        X = open_source(X)
        source = as_images(X, asked=True)
        if source is None:
            source = self._of_array(X)
        return self.adapt(RawData(source))

    def convert(self, batch: Any, place: Place) -> np.ndarray:
        """Convert images.

        Parameters
        ----------
        batch : ndarray of shape (m,) of arrays (channels, height, width)
            Images.
        place : callable
            How messages name a row.

        Returns
        -------
        ndarray of shape (m, *shape), float32
        """
        converted = np.empty((len(batch), *self.shape), np.float32)
        for row, image in enumerate(batch):
            converted[row] = resize(with_channels(image, self.shape[0]), self.shape[1:])  # type: ignore[arg-type]
        if self.scale:
            converted -= self.scale["mean"]
            converted /= self.scale["deviation"]
        return converted

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {
            "form": self.form,
            "modality": self.modality,
            "shape": list(self.shape),
            "share": self._share,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the scale."""
        return self.scale

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned; ValueError if it cannot be."""
        made = cls(layout, estimator_name)
        shape, share = stored["shape"], stored["share"]
        whole = isinstance(shape, list) and all(type(size) is int and size > 0 for size in shape)
        if layout.name != "image" or not whole or len(shape) != 3 or shape[0] not in (1, 3):
            raise ValueError("the shape of the images is wrong")
        if max(shape) > _MOST_PIXELS or shape[1] * shape[2] > _MOST_PIXELS:
            raise ValueError("the images are too large")
        if not isinstance(share, float) or not 0 < share <= 1:
            raise ValueError("the share of images of this size is wrong")
        made.shape, made._share = tuple(shape), share
        made.scale = read_scale(arrays, (shape[0], 1, 1), np.float32)
        return made

    def _scale_of(self, data: RawData, index: np.ndarray) -> dict[str, np.ndarray]:
        """Mean and standard deviation of every channel, by sums in double precision."""
        total, squares = np.zeros(self.shape[0]), np.zeros(self.shape[0])
        for start in range(0, len(index), _IMAGES_AT_ONCE):
            rows = index[start : start + _IMAGES_AT_ONCE]
            batch = self.convert(data.source.gather(rows), str).astype(np.float64)
            total += batch.sum(axis=(0, 2, 3))
            squares += np.square(batch).sum(axis=(0, 2, 3))
        count = len(index) * self.shape[1] * self.shape[2]
        mean = total / count
        deviation = np.sqrt(np.maximum(squares / count - np.square(mean), 0))
        deviation[deviation < 1e-6] = 1
        return {
            "mean": mean.astype(np.float32).reshape(-1, 1, 1),
            "deviation": deviation.astype(np.float32).reshape(-1, 1, 1),
        }

    def _of_array(self, X: Any) -> Images:
        data = read_numbers(X, estimator_name=self.estimator_name)
        if len(data.shape) not in (3, 4):
            raise ValueError(
                f"{self.estimator_name} is expecting images as input, but X has the shape "
                f"{data.shape}"
            )
        array = getattr(data.source, "array", None)  # whose images are views
        return Images(
            list(data.source.gather(np.arange(len(data.source))) if array is None else array)
        )
