"""Folders that hold a saved model: a description (JSON) and weights (safetensors). No pickle.

The description names the weights' file and its checksum, and is replaced in one stroke after the
weights are safely on disk. So a crash at any moment leaves the old model or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from torch import Tensor

import aleator

DESCRIPTION = "aleator.json"
_FORMAT = "aleator-model"
_FORMAT_VERSION = 2


class ModelFileError(ValueError):
    """A saved model is missing, damaged or not one of ours."""


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
        "aleator": aleator.__version__,
        **content,
        "weights": {"file": name, "sha256": checksum},
    }
    description = {"content": content, "sha256": _checksum(content)}
    before = _weights_file_of(folder)
    _write_safely(folder / name, weights)
    _write_safely(folder / DESCRIPTION, json.dumps(description, indent=1, allow_nan=False).encode())
    if before is not None and before != name:
        (folder / before).unlink(missing_ok=True)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what `write` wrote, and check that it is whole."""
    content = _read_description(folder)
    return content, _read_weights(folder, content["weights"])


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"{folder} holds no saved model: {path} does not exist") from None
    except NotADirectoryError:
        raise ModelFileError(f"{folder} is a file; a saved model is a folder") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path} is cut short or is not JSON: {error}") from None
    content = description.get("content") if isinstance(description, dict) else None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ModelFileError(f"{path} was not written by aleator")
    if not isinstance(content.get("format_version"), int):
        raise ModelFileError(f"{path} does not say which version of the format it has")
    if content["format_version"] > _FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format {content['format_version']}, newer than this aleator "
            f"({aleator.__version__}) reads: pip install --upgrade aleator"
        )
    if content["format_version"] < _FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format {content['format_version']} of aleator {content.get('aleator')}, "
            f"which this one ({aleator.__version__}) no longer reads: fit and save it again"
        )
    if _checksum(content) != description.get("sha256"):
        raise ModelFileError(f"{path} was altered after it was saved: its checksum does not match")
    return content


def _read_weights(folder: Path, expected: dict[str, str]) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load as from_bytes

    path = folder / Path(expected["file"]).name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"the model's weights are missing: {path} does not exist") from None
    if hashlib.sha256(data).hexdigest() != expected["sha256"]:
        raise ModelFileError(f"{path} is cut short or was altered: its checksum does not match")
    try:
        return from_bytes(data)
    except SafetensorError as error:
        raise ModelFileError(f"{path} is not a safetensors file: {error}") from None


def _weights_file_of(folder: Path) -> str | None:
    """The weights that a model already in the folder uses, if it is whole."""
    try:
        return Path(_read_description(folder)["weights"]["file"]).name
    except (ModelFileError, KeyError, TypeError):
        return None


def _write_safely(path: Path, data: bytes) -> None:
    """Write beside the target, force it to disk, then rename over the target."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
