"""Durable writes: a crash at any moment leaves the old content or the new, never a mixture."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO


def write_file(path: Path, data: bytes) -> None:
    """Replace a file atomically and wait until it is on disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "note.txt", b"text")
    ...     (Path(folder) / "note.txt").read_bytes()
    b'text'
    """
    with new_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file under a temporary name, ``.NAME.xxxx.part``, then put it in the place of `path`.

    If the block raises, `path` is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_file(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"a")
    ...         (Path(folder) / "a.txt").exists()
    False
    """
    temporary = _temporary_name(path)
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Create a folder with those above it, if it does not exist, and wait until it is on disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_folder(Path(folder) / "a" / "b")
    ...     (Path(folder) / "a" / "b").is_dir()
    True
    """
    if not path.exists():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _sync_folder(path.parent)


@contextlib.contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Fill a temporary folder, then put it in the place of `path` as a whole.

    If the block raises, `path` is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with replace_folder(Path(parent) / "entry") as folder:
    ...         _ = (folder / "a.txt").write_text("a")
    ...     sorted(file.name for file in (Path(parent) / "entry").iterdir())
    ['a.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(path)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.rglob("*"):
            _sync(file)
        _sync_folder(temporary)
        shutil.rmtree(path, ignore_errors=True)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def describe_failure(what: str, folder: Path, error: OSError, then: str) -> str:
    """Say in one sentence what was not written, why, and what to do.

    Parameters
    ----------
    what : str
        What was not written, such as "the model was not saved".
    folder : Path
        Where.
    error : OSError
        What the system said.
    then : str
        What to do after the disk or the folder is in order, and what has become of what was there.

    Returns
    -------
    str

    Examples
    --------
    >>> full = OSError(errno.ENOSPC, "No space left on device")
    >>> describe_failure("the model was not saved", Path("m"), full, "and save it again")
    'the model was not saved in m (No space left on device): free some space, and save it again'
    """
    advice = "check the folder"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "free some space"
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        advice = "make it writable, or give another folder"
    return f"{what} in {folder} ({error.strerror or error}): {advice}, {then}"


def append_lines(path: Path, lines: Iterable[str]) -> None:
    r"""Append whole lines to a text file and wait until they are on disk.

    If an earlier write was cut short in mid-line, a line break is added first, so that the damaged
    line does not swallow the next one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append_lines(Path(folder) / "log", ["a", "b"])
    ...     (Path(folder) / "log").read_text()
    'a\nb\n'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()
        os.fsync(file.fileno())


def json_digest(content: Any) -> str:
    """SHA-256 of a JSON value, independent of the order of keys.

    Examples
    --------
    >>> json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _sync_folder(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
