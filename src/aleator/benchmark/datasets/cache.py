"""What took long to read is kept as plain arrays in a cache folder.

The folder is `ALEATOR_CACHE`, else `XDG_CACHE_HOME/aleator`, else `~/.cache/aleator`. An entry is
bound to the names, sizes and times of the files it was read from, so that other files make another
entry; it may be deleted at any time. Where the folder cannot be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.datasets.split import Split, hashed_pieces, pieces

# Raise this when a reader gives other values for the same files than it did before.
_READERS_VERSION = 1
_WORTH_KEEPING_S = 1.0  # what is read faster than this is not worth a copy
_MAPPED_BYTES = 1 << 30  # larger arrays are mapped, not loaded


def cache_folder() -> Path:
    """Where entries are kept."""
    if named := os.environ.get("ALEATOR_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aleator"


def fingerprint(paths: Iterable[Path]) -> str:
    """What identifies these files, and all files in those that are folders, without reading them.

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
    """The data set `name` from the cache if it was kept there, else read now and perhaps kept."""
    entry = cache_folder() / f"{name}-{fingerprint(paths)}"
    with contextlib.suppress(OSError, ValueError, KeyError, EOFError):
        return _kept(entry)  # a damaged entry is as good as none
    begin = time.perf_counter()
    split = read()
    lazy = [key for key, array in split.arrays().items() if not isinstance(array, np.ndarray)]
    if lazy or time.perf_counter() - begin > _WORTH_KEEPING_S:
        with contextlib.suppress(OSError):
            checksum = _keep(split, entry)
            return _kept(entry) if lazy else split.with_sha256(checksum)
    if not lazy:
        return split
    arrays: dict[str, Any] = split.arrays()
    return Split(**arrays | {key: _in_memory(arrays[key]) for key in lazy})


def _kept(entry: Path) -> Split:
    about = json.loads((entry / "about.json").read_text())
    arrays = {}
    for key, size in about["sizes"].items():
        path = entry / f"{key}.npy"
        if path.stat().st_size != size:
            raise ValueError(f"{path} is cut short")
        arrays[key] = np.load(path, mmap_mode="r" if size > _MAPPED_BYTES else None)
    return Split(**arrays).with_sha256(about["sha256"])


def _keep(split: Split, entry: Path) -> str:
    """Write into a folder of another name first: an entry is there as a whole or not at all.

    Returns the checksum of what was written.
    """
    entry.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=entry.parent))
    try:
        sizes, digest = {}, hashlib.sha256()
        for key, array in split.arrays().items():
            _write(array, making / f"{key}.npy", digest)
            sizes[key] = (making / f"{key}.npy").stat().st_size
        checksum = digest.hexdigest()
        (making / "about.json").write_text(json.dumps({"sizes": sizes, "sha256": checksum}))
        shutil.rmtree(entry, ignore_errors=True)
        making.rename(entry)
        return checksum
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _write(array: Any, path: Path, digest: Any) -> None:
    """As `np.save`, but a piece at a time, so that what is not in memory need not be."""
    with path.open("wb") as file:
        header = {"descr": array.dtype.str, "fortran_order": False, "shape": tuple(array.shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for piece in hashed_pieces(array, digest):
            file.write(piece.data)


def _in_memory(array: Any) -> np.ndarray:
    whole = np.empty(array.shape, array.dtype)
    start = 0
    for piece in pieces(array):
        whole[start : start + len(piece)] = piece
        start += len(piece)
    return whole
