"""Read files, folders and archives, with errors that name the damaged file."""

from __future__ import annotations

import contextlib
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from aleator.exceptions import DamagedFileError

# What libraries raise for damaged files.
_READ_ERRORS = (
    EOFError, OSError, KeyError, ValueError, IndexError, AttributeError, TypeError, RuntimeError,
    SyntaxError, struct.error, zlib.error, zipfile.BadZipFile, tarfile.TarError,
    pickle.UnpicklingError,
)  # fmt: skip


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert any error on reading a file into one that names the file.

    Parameters
    ----------
    path : Path
        The file that the block reads.

    Raises
    ------
    DamagedFileError
        If the block raises an error that a damaged file can cause.

    Examples
    --------
    >>> try:
    ...     with reading(Path("numbers.csv")):
    ...         float("1.2.3")
    ... except DamagedFileError as error:
    ...     print(error)
    numbers.csv is truncated or damaged: could not convert string to float: '1.2.3'
    """
    try:
        yield
    except (DamagedFileError, FileNotFoundError, PermissionError):  # these name their file already
        raise
    except _READ_ERRORS as error:
        raise DamagedFileError(f"{path} is truncated or damaged: {error}") from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[list[str], Callable[[str], bytes]]]:
    """Open a folder, a .zip or a .tar.gz.

    Parameters
    ----------
    path : Path
        Path of the folder or archive.

    Yields
    ------
    names : list of str
        Names of the files in it.
    read : callable
        Returns the content of the file with a given name.
    """

    def read(name: str) -> bytes:
        try:
            return get(name)
        except (FileNotFoundError, KeyError):
            raise FileNotFoundError(f"{name} is missing in {path}; is it complete?") from None

    with reading(path), contextlib.ExitStack() as stack:
        get: Callable[[str], bytes]
        if path.is_dir():
            names = sorted(str(f.relative_to(path)) for f in path.rglob("*") if f.is_file())
            get = lambda name: (path / name).read_bytes()  # noqa: E731
        elif path.suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            names, get = sorted(archive.namelist()), archive.read
        else:
            packed = stack.enter_context(tarfile.open(path))
            members = {member.name: member for member in packed if member.isfile()}
            names = sorted(members)
            get = lambda name: packed.extractfile(members[name]).read()  # type: ignore[union-attr]  # noqa: E731
        yield names, read
