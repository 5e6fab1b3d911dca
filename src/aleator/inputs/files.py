"""Finding files: one file, a folder of parts, or a URL of a file system that fsspec knows."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

from aleator.exceptions import DamagedFileError

PARQUET, ARROW, CSV, NPY = "Parquet", "Arrow", "CSV", "NumPy"
_ENDINGS = {
    ".parquet": PARQUET, ".pq": PARQUET, ".arrow": ARROW, ".feather": ARROW, ".ipc": ARROW,
    ".csv": CSV, ".csv.gz": CSV, ".csv.bz2": CSV, ".csv.zst": CSV, ".tsv": CSV, ".tsv.gz": CSV,
    ".npy": NPY,
}  # fmt: skip
_ENDINGS_IN_WORDS = ".parquet, .arrow, .feather, .csv (also .csv.gz, .tsv) and .npy"


@dataclass(frozen=True)
class Files:
    """Files of one format, in order.

    Parameters
    ----------
    paths : tuple of str
        The files, as their file system names them.
    format : {"Parquet", "Arrow", "CSV", "NumPy"}
        Their format.
    filesystem : fsspec file system, default=None
        Where they are; None is the disk.
    root : str, default=""
        The folder that was given; names in messages are relative to it.
    """

    paths: tuple[str, ...]
    format: str
    filesystem: Any = None
    root: str = ""

    def name(self, path: str) -> str:
        """How messages name a file."""
        return path.removeprefix(self.root).lstrip("/\\") if self.root else path

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading bytes."""
        if self.filesystem is None:
            return open(path, "rb")
        return self.filesystem.open(path, "rb")

    def versions(self) -> list[Any]:
        """Name, size and time of change of every file, as JSON values."""
        return [[self.name(path), *version_of(path, self.filesystem)] for path in self.paths]


def version_of(path: str, filesystem: Any = None) -> list[Any]:
    """Size and time of change of a file, as far as its file system knows them."""
    if filesystem is None:
        status = os.stat(path)
        return [status.st_size, status.st_mtime_ns]
    about = filesystem.info(path)
    changed = next(
        (about[key] for key in ("mtime", "LastModified", "ETag", "updated", "created")
         if about.get(key) is not None), None,
    )  # fmt: skip
    return [about.get("size"), str(changed)]


def find_files(path: str | os.PathLike[str]) -> Files:
    """Find the file at a path or URL, or the files in a folder.

    The files of a folder and of the folders in it are sorted by path, numbers by their value:
    ``part-2`` is before ``part-10``. Names that begin with ``.`` or ``_`` are skipped, and so are
    files with an ending that is not known.

    Parameters
    ----------
    path : str or path-like
        A path, or a URL such as ``s3://bucket/folder``.

    Returns
    -------
    Files

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("part-10.csv", "part-2.csv", "_SUCCESS"):
    ...         _ = (Path(folder) / name).write_text("")
    ...     files = find_files(folder)
    ...     [files.name(path) for path in files.paths]
    ['part-2.csv', 'part-10.csv']
    """
    given = os.fspath(path)
    filesystem, root = _open_filesystem(given) if "://" in given else (None, given)
    if filesystem is None:
        exists, is_folder = os.path.exists(root), os.path.isdir(root)
    else:
        exists, is_folder = filesystem.exists(root), filesystem.isdir(root)
    if not exists:
        raise FileNotFoundError(f"X is the path {given!r}, but there is no such file or folder")
    if not is_folder:
        kind = _format_of(root)
        if kind is None:
            raise ValueError(
                f"X is the path {given!r}, but only files that end in {_ENDINGS_IN_WORDS} can be "
                "read; open a file with another ending as a pyarrow.dataset"
            )
        return Files((root,), kind, filesystem)
    return _files_of_folder(given, root, filesystem)


def holds_tables(root: str) -> bool:
    """Whether a folder on the disk has files that `find_files` would find."""
    files = (str(path) for path in Path(root).rglob("*") if _format_of(str(path)) is not None)
    return any(not is_hidden(file.removeprefix(root)) for file in files)


def _open_filesystem(url: str) -> tuple[Any, str]:
    import fsspec  # torch depends on it

    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise type(error)(f"{url!r} cannot be opened: {error}") from error
    if type(filesystem).__name__ == "LocalFileSystem":
        return None, path
    return filesystem, path


def _files_of_folder(given: str, root: str, filesystem: Any) -> Files:
    if filesystem is None:
        found = [str(file) for file in Path(root).rglob("*") if file.is_file()]
    else:
        found = list(filesystem.find(root))
    visible = [file for file in found if not is_hidden(file.removeprefix(root))]
    kinds = {file: kind for file in visible if (kind := _format_of(file)) is not None}
    formats = sorted(set(kinds.values()))
    if len(formats) != 1:
        problem = (
            f"has files of several formats ({' and '.join(formats)}); they must be of one"
            if formats
            else f"has no files that end in {_ENDINGS_IN_WORDS}"
        )
        raise ValueError(f"X is the folder {given!r}, but it {problem}")
    return Files(tuple(sorted(kinds, key=natural_order)), formats[0], filesystem, root)


def _format_of(path: str) -> str | None:
    name = path.lower()
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


def is_hidden(path: str) -> bool:
    """Whether a part of a path begins with ``.`` or ``_``."""
    return any(part.startswith((".", "_")) for part in re.split(r"[/\\]", path) if part)


def natural_order(path: str) -> list[Any]:
    """Sort key: text and numbers in turn."""
    parts: Sequence[str] = re.split(r"(\d+)", path)
    return [int(part) if position % 2 else part for position, part in enumerate(parts)]


# NumPy parses the header of a .npy file as an expression of Python, whose errors are the last ones.
_ERRORS_OF_FILES = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    OverflowError,
    SyntaxError,
    TokenError,
    RecursionError,
    SystemError,
)


@contextlib.contextmanager
def naming(file: str) -> Any:
    """Turn whatever goes wrong while a file is read into an error that names it."""
    try:
        yield
    except Exception as error:
        # pyarrow has errors of its own, which are errors of an index, of memory and so on, too.
        known = isinstance(error, _ERRORS_OF_FILES) or type(error).__module__ == "pyarrow.lib"
        if isinstance(error, DamagedFileError) or not known:
            raise
        raise DamagedFileError(f"{file} cannot be read: {error}") from error


def naming_all(file: str, parts: Iterable[Any]) -> Iterator[Any]:
    """Yield parts of a file; what goes wrong while they are read, and only then, names it."""
    with naming(file):
        yield from parts
