"""Folders that hold a saved model: a description (JSON) and weights (safetensors). No pickle.

The description names the file of the weights and its checksum, and is replaced atomically after the
weights are on disk. A crash at any moment leaves the old model or the new one.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from torch import Tensor

from aleator.atomic_io import json_digest, write_file
from aleator.exceptions import ModelFileError
from aleator.version import __version__

DESCRIPTION = "aleator.json"
_FORMAT = "aleator-model"
_FORMAT_VERSION = 3
_OLDEST_READABLE = 2


def write(folder: Path, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model into `folder`, replacing the one that may be there."""
    from safetensors.torch import save as to_bytes

    if folder.exists() and not folder.is_dir():
        raise ModelFileError(f"{folder} is a file; a model is saved into a folder")
    folder.mkdir(parents=True, exist_ok=True)
    weights = to_bytes(tensors)
    checksum = hashlib.sha256(weights).hexdigest()
    name = f"weights-{checksum[:16]}.safetensors"
    content = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "aleator": __version__,
        **content,
        "weights": {"file": name, "sha256": checksum},
    }
    description = {"content": content, "sha256": json_digest(content)}
    previous = _current_weights(folder)
    write_file(folder / name, weights)
    write_file(folder / DESCRIPTION, json.dumps(description, indent=1, allow_nan=False).encode())
    if previous is not None and previous != name:
        (folder / previous).unlink(missing_ok=True)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what `write` wrote, and check that it is complete."""
    content = _read_description(folder)
    return content, _read_weights(folder, content["weights"])


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"{folder} holds no saved model: {path} does not exist") from None
    except NotADirectoryError:
        raise ModelFileError(f"{folder} is a file; a saved model is a folder") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path} is truncated or is not JSON: {error}") from None
    content = description.get("content") if isinstance(description, dict) else None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ModelFileError(f"{path} was not written by aleator")
    version = content.get("format_version")
    if not isinstance(version, int):
        raise ModelFileError(f"{path} does not contain its format version")
    if version > _FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format {version}, which is newer than this version of aleator "
            f"({__version__}) can read: pip install --upgrade aleator"
        )
    if version < _OLDEST_READABLE:
        raise ModelFileError(
            f"{path} has format {version} of aleator {content.get('aleator')}, which this version "
            f"({__version__}) can no longer read: fit and save the model again"
        )
    if json_digest(content) != description.get("sha256"):
        raise ModelFileError(f"{path} was changed after it was saved: its checksum does not match")
    return content


def _read_weights(folder: Path, expected: dict[str, str]) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load as from_bytes

    path = folder / Path(expected["file"]).name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"the weights of the model are missing: {path}") from None
    if hashlib.sha256(data).hexdigest() != expected["sha256"]:
        raise ModelFileError(f"{path} is truncated or was changed: its checksum does not match")
    try:
        return from_bytes(data)
    except SafetensorError as error:
        raise ModelFileError(f"{path} is not a safetensors file: {error}") from None


def _current_weights(folder: Path) -> str | None:
    """Name of the weights of a complete model that is in the folder already."""
    try:
        return Path(_read_description(folder)["weights"]["file"]).name
    except (ModelFileError, KeyError, TypeError):
        return None
