"""Keep data sets that take long to read as plain arrays in a cache folder.

The folder is ``ALEATOR_CACHE``, else ``XDG_CACHE_HOME/aleator``, else ``~/.cache/aleator``. The
name of an entry depends on the names, sizes and modification times of the files it was read from,
so that changed files make a new entry. Entries may be deleted at any time. If the folder is not
writable, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from aleator.atomic_io import replace_folder
from aleator.benchmark.datasets.split import Split, hashed_pieces, pieces

# Increase this when a reader returns other values for the same files than before.
_READERS_VERSION = 1
_MIN_SECONDS = 1.0  # data sets that are read faster are not cached
_MAX_LOADED_BYTES = 1 << 30  # larger arrays are memory-mapped


def cache_folder() -> Path:
    """Return the folder of the cache."""
    if folder := os.environ.get("ALEATOR_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aleator"


def fingerprint(paths: Iterable[Path]) -> str:
    """Identify files by name, size and modification time, without reading them.

    Parameters
    ----------
    paths : iterable of Path
        Files, or folders, which stand for all files in them.

    Returns
    -------
    fingerprint : str
        16 hexadecimal digits.

    Examples
    --------
    >>> fingerprint([]) == fingerprint(())
    True
    """
    digest = hashlib.sha256(f"{_READERS_VERSION}".encode())
    for path in sorted(set(paths)):
        files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
        for file in files:
            status = file.stat()
            name = file.relative_to(path.parent)
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def through_cache(name: str, paths: Iterable[Path], read: Callable[[], Split]) -> Split:
    """Return a data set from the cache, or read it and cache it if that takes long.

    Parameters
    ----------
    name : str
        Name of the data set.
    paths : iterable of Path
        The files it is read from.
    read : callable
        Reads the data set. Its arrays may be objects that can only be sliced; such a data set is
        always cached, or loaded into memory if the cache is not writable.

    Returns
    -------
    split : Split
        The data set.
    """
    entry = cache_folder() / f"{name}-{fingerprint(paths)}"
    with contextlib.suppress(OSError, ValueError, KeyError, EOFError):
        return _load_entry(entry)  # a damaged entry is written again
    start = time.perf_counter()
    split = read()
    lazy = [key for key, array in split.arrays().items() if not isinstance(array, np.ndarray)]
    if lazy or time.perf_counter() - start > _MIN_SECONDS:
        with contextlib.suppress(OSError):
            checksum = _write_entry(split, entry)
            return _load_entry(entry) if lazy else split.with_sha256(checksum)
    if not lazy:
        return split
    arrays: dict[str, Any] = split.arrays()
    return Split(**arrays | {key: _in_memory(arrays[key]) for key in lazy})


def _load_entry(entry: Path) -> Split:
    about = json.loads((entry / "about.json").read_text())
    arrays = {}
    for key, size in about["sizes"].items():
        path = entry / f"{key}.npy"
        if path.stat().st_size != size:
            raise ValueError(f"{path} is truncated")
        arrays[key] = np.load(path, mmap_mode="r" if size > _MAX_LOADED_BYTES else None)
    return Split(**arrays).with_sha256(about["sha256"])


def _write_entry(split: Split, entry: Path) -> str:
    """Write an entry and return the checksum of its values."""
    with replace_folder(entry) as folder:
        sizes, digest = {}, hashlib.sha256()
        for key, array in split.arrays().items():
            _write_array(array, folder / f"{key}.npy", digest)
            sizes[key] = (folder / f"{key}.npy").stat().st_size
        checksum = digest.hexdigest()
        (folder / "about.json").write_text(json.dumps({"sizes": sizes, "sha256": checksum}))
    return checksum


def _write_array(array: Any, path: Path, digest: Any) -> None:
    """Write as `np.save`, but in pieces, so that the array does not have to be in memory."""
    with path.open("wb") as file:
        header = {"descr": array.dtype.str, "fortran_order": False, "shape": tuple(array.shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for piece in hashed_pieces(array, digest):
            file.write(piece.data)


def _in_memory(array: Any) -> np.ndarray:
    loaded = np.empty(array.shape, array.dtype)
    start = 0
    for piece in pieces(array):
        loaded[start : start + len(piece)] = piece
        start += len(piece)
    return loaded
