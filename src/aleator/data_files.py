"""Files that hold data and nothing else: JSON and safetensors, each with its checksum. No pickle.

What is read is checked before anything is made of it: kind, version, size and checksum. JSON files
have a largest size, which is compared before they are read, and when they are written.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from aleator.atomic_io import json_digest, write_file
from aleator.exceptions import DataFileError
from aleator.version import __version__

# A column takes about 200 bytes of a description and one or two lists, and so does an epoch. An
# empty list takes three bytes of text, but 64 of memory.
_LARGEST_DESCRIPTION = 64 << 20
_MOST_CONTAINERS = 1 << 20


@dataclass(frozen=True)
class FileFormat:
    """A kind of JSON file.

    Parameters
    ----------
    name : str
        Name of the kind, which every file holds.
    version : int
        Version of what is written.
    oldest : int
        Oldest version that can be read.
    if_too_old : str
        What to do about a file that is older than that.

    Examples
    --------
    >>> import tempfile
    >>> notes = FileFormat("note", version=1, oldest=1, if_too_old="write it again")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes.write(Path(folder) / "note.json", {"text": "hello"})
    ...     notes.read(Path(folder) / "note.json")["text"]
    'hello'
    """

    name: str
    version: int
    oldest: int
    if_too_old: str

    def write(self, path: Path, content: dict[str, Any]) -> None:
        """Replace a file atomically; it holds its kind, its version and its checksum."""
        content = {
            "format": self.name,
            "format_version": self.version,
            "aleator": __version__,
            **content,
        }
        description = {"content": content, "sha256": json_digest(content)}
        text = json.dumps(description, indent=1, allow_nan=False)  # only ASCII
        _check_size(path, len(text))
        _check_number_of_containers(path, text)
        write_file(path, text.encode())

    def read(self, path: Path) -> dict[str, Any]:
        """Read what `write` wrote; DataFileError says what is wrong with any other file."""
        _check_size(path, path.stat().st_size)
        try:
            text = path.read_text(encoding="utf-8")
            _check_number_of_containers(path, text)
            description = json.loads(text)
        except DataFileError:
            raise
        except (ValueError, RecursionError) as error:
            raise DataFileError(f"{path} is truncated or is not JSON: {error}") from None
        content = description.get("content") if isinstance(description, dict) else None
        if not isinstance(content, dict) or content.get("format") != self.name:
            raise DataFileError(f"{path} was not written by aleator")
        version = content.get("format_version")
        if not isinstance(version, int):
            raise DataFileError(f"{path} does not contain its format version")
        if version > self.version:
            raise DataFileError(
                f"{path} has format {version}, which is newer than this version of aleator "
                f"({__version__}) can read: pip install --upgrade aleator"
            )
        if version < self.oldest:
            raise DataFileError(
                f"{path} has format {version} of aleator {content.get('aleator')}, which this "
                f"version ({__version__}) can no longer read: {self.if_too_old}"
            )
        if json_digest(content) != description.get("sha256"):
            raise DataFileError(
                f"{path} was changed after it was saved: its checksum does not match"
            )
        return content


def _check_size(path: Path, size: int) -> None:
    if size > _LARGEST_DESCRIPTION:
        raise DataFileError(
            f"{path} would be a description of {size} bytes: the largest has {_LARGEST_DESCRIPTION}"
        )


def _check_number_of_containers(path: Path, text: str) -> None:
    """Raise DataFileError if a text describes so many lists that they take far more memory."""
    count = text.count("[") + text.count("{")
    if count > _MOST_CONTAINERS:
        raise DataFileError(
            f"{path} would be a description of {count} lists and objects: the largest has "
            f"{_MOST_CONTAINERS}"
        )


def tensors_to_bytes(tensors: dict[str, Tensor]) -> tuple[bytes, dict[str, Any]]:
    """Return tensors, none of which share memory, as a safetensors file with its size and checksum.

    Examples
    --------
    >>> import torch
    >>> data, description = tensors_to_bytes({"a": torch.zeros(2)})
    >>> len(data) == description["bytes"]
    True
    """
    from safetensors.torch import save

    data = save(tensors)
    return data, {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def read_tensors(path: Path, expected: dict[str, Any]) -> dict[str, Tensor]:
    """Read a safetensors file that must have the size and the checksum of `expected`.

    The size is compared before the file is read; older versions did not record it. That the shapes
    in its header fit its size is checked before tensors are made of it.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> data, description = tensors_to_bytes({"a": torch.zeros(2)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.safetensors"
    ...     _ = path.write_bytes(data)
    ...     read_tensors(path, description)["a"].tolist()
    [0.0, 0.0]
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not isinstance(expected, dict) or "sha256" not in expected:
        raise DataFileError(f"the size and the checksum of {path} are not known")
    changed = f"{path} is truncated or was changed: its checksum does not match"
    size = path.stat().st_size
    if expected.get("bytes", size) != size:
        raise DataFileError(changed)
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != expected["sha256"]:
        raise DataFileError(changed)
    try:
        return load(data)
    except SafetensorError as error:
        raise DataFileError(f"{path} is not a safetensors file: {error}") from None
