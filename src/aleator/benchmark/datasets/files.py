"""Reading files, folders and archives, and saying so plainly when they are damaged."""

from __future__ import annotations

import contextlib
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

_DAMAGE = (
    EOFError, OSError, KeyError, ValueError, IndexError, AttributeError, TypeError, RuntimeError,
    SyntaxError, struct.error, zlib.error, zipfile.BadZipFile, tarfile.TarError,
    pickle.UnpicklingError,
)  # fmt: skip


class DamagedFileError(ValueError):
    """A file that cannot be read; the message names it."""


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a library says of a damaged file into a sentence that names the file.

    >>> try:
    ...     with reading(Path("numbers.csv")):
    ...         float("1.2.3")
    ... except DamagedFileError as error:
    ...     print(error)
    numbers.csv is cut short or altered: could not convert string to float: '1.2.3'
    """
    try:
        yield
    except (DamagedFileError, FileNotFoundError, PermissionError):  # these name their file already
        raise
    except _DAMAGE as error:
        raise DamagedFileError(f"{path} is cut short or altered: {error}") from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[list[str], Callable[[str], bytes]]]:
    """The names of the files in a folder, a .zip or a .tar.gz, and a way to read one of them."""

    def read(name: str) -> bytes:
        try:
            return get(name)
        except (FileNotFoundError, KeyError):
            raise FileNotFoundError(f"{path} lacks {name}: is it complete?") from None

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
