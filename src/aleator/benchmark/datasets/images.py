"""Readers of the paper's images: Kvasir, CIFAR-10. Values from 0 to 1, channels first."""

from __future__ import annotations

import csv
import io
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.datasets.catalogue import SOURCES
from aleator.benchmark.datasets.split import Split

_KVASIR_SIZE = (100, 80)  # width and height, as the paper resizes
_TEST_SHARE = 0.25  # of every class


def kvasir(folder: Path) -> Split:
    """Kvasir, version 2: a quarter of every class held out, seed 42."""
    return _folders_of_classes(SOURCES["kvasir"].find(folder))


def kvasir_v1(folder: Path) -> Split:
    """Kvasir, version 1: packed with an index that names each image's part, or as published, and
    then split like version 2.
    """
    path = SOURCES["kvasir-v1"].find(folder)
    if path.name != "kvasir_v1_100x80.zip":
        return _folders_of_classes(path)
    with zipfile.ZipFile(path) as archive:
        index = list(csv.DictReader(io.StringIO(archive.read("index.csv").decode())))
        images = np.stack([_decoded(archive.read(row["file"])) for row in index])
    labels = np.array([int(row["label"]) for row in index])
    test = np.array([row["split"] == "test" for row in index])
    return Split(images[~test], labels[~test], images[test], labels[test])


def _folders_of_classes(path: Path) -> Split:
    if path.is_dir():
        files = {str(f.relative_to(path)): f for f in sorted(path.glob("*/*.jpg"))}
        return _quarter_held_out(list(files), lambda name: files[name].read_bytes())
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
        return _quarter_held_out(names, archive.read)


def _quarter_held_out(names: list[str], read: Callable[[str], bytes]) -> Split:
    from sklearn.model_selection import train_test_split

    if not names:
        raise ValueError("the Kvasir data hold no .jpg file in a folder named after its class")
    _, labels = np.unique([Path(name).parent.name for name in names], return_inverse=True)
    images = np.stack([_decoded(read(name)) for name in names])
    X_train, X_test, y_train, y_test = train_test_split(
        images, labels, test_size=_TEST_SHARE, random_state=42, stratify=labels
    )
    return Split(X_train, y_train, X_test, y_test)


def _decoded(data: bytes) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("images are read with pillow: pip install 'aleator[bench]'") from error
    image = Image.open(io.BytesIO(data)).convert("RGB")
    if image.size != _KVASIR_SIZE:
        image = image.resize(_KVASIR_SIZE, Image.Resampling.BILINEAR)
    return np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / 255


def cifar10(folder: Path) -> Split:
    """CIFAR-10, in the publisher's Python or binary form, unpacked or not."""
    path = SOURCES["cifar10"].find(folder)
    form = _binary_batch if "bin" in path.name else _python_batch
    suffix = ".bin" if form is _binary_batch else ""
    names = [f"data_batch_{k}{suffix}" for k in range(1, 6)] + [f"test_batch{suffix}"]
    batches = [form(data) for data in _members(path, names)]
    X_train = np.concatenate([images for images, _ in batches[:5]])
    y_train = np.concatenate([labels for _, labels in batches[:5]])
    return Split(X_train, y_train, *batches[5])


def _members(path: Path, names: list[str]) -> list[bytes]:
    try:
        if path.is_dir():
            return [(path / name).read_bytes() for name in names]
        with tarfile.open(path) as archive:
            inside = {Path(member.name).name: member for member in archive if member.isfile()}
            return [archive.extractfile(inside[name]).read() for name in names]  # type: ignore[union-attr]
    except (FileNotFoundError, KeyError) as error:
        raise FileNotFoundError(f"{path} lacks {error}: is it complete?") from None
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{path} is cut short or is no archive: {error}") from None


def _binary_batch(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Records of one byte of label and 3072 bytes of image."""
    if len(data) % 3073:
        raise ValueError("a CIFAR-10 batch is cut short: it does not hold whole records")
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, 3073)
    return _scaled(records[:, 1:]), records[:, 0].astype(np.int64)


def _python_batch(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    try:
        batch = _ArraysOnly(io.BytesIO(data), encoding="bytes").load()
        return _scaled(batch[b"data"]), np.array(batch[b"labels"], dtype=np.int64)
    except (EOFError, KeyError, pickle.UnpicklingError) as error:
        raise ValueError(f"a CIFAR-10 batch is cut short or altered: {error}") from None


def _scaled(pixels: np.ndarray) -> np.ndarray:
    return pixels.reshape(-1, 3, 32, 32).astype(np.float32) / 255


class _ArraysOnly(pickle.Unpickler):
    """Reads pickles of arrays, and nothing that could run."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in ("_reconstruct", "ndarray", "dtype"):
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        if (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no array needs")
