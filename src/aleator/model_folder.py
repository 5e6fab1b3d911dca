"""Folders that hold a saved model: a description (JSON) and weights (safetensors). No pickle.

The description names the file of the weights and its checksum, and is replaced atomically after the
weights are on disk. A crash at any moment leaves the old model or the new one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from aleator.atomic_io import describe_failure, write_file
from aleator.data_files import FileFormat, read_tensors, tensors_to_bytes
from aleator.exceptions import DataFileError, ModelFileError

DESCRIPTION = "aleator.json"
# A description that names another file was not written here; that file is neither read nor removed.
_WEIGHTS = re.compile(r"weights-[0-9a-f]{16}\.safetensors")
_FORMAT = FileFormat(
    "aleator-model", version=3, oldest=2, if_too_old="fit and save the model again"
)


def write(folder: Path, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model into `folder`, replacing the one that may be there."""
    if folder.exists() and not folder.is_dir():
        raise ModelFileError(f"{folder} is a file; a model is saved into a folder")
    weights, description = tensors_to_bytes(tensors)
    name = f"weights-{description['sha256'][:16]}.safetensors"
    previous = _current_weights(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / name, weights)
        _FORMAT.write(folder / DESCRIPTION, {**content, "weights": {"file": name, **description}})
    except (OSError, DataFileError) as error:
        if name != previous:  # weights without a description only take space
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        if isinstance(error, DataFileError):
            raise ModelFileError(str(error)) from None
        then = "and save it again; a model that was there is unchanged"
        message = describe_failure("the model was not saved", folder, error, then)
        raise OSError(error.errno, message) from error
    if previous is not None and previous != name:
        with suppress(OSError):  # it takes space, but does no harm
            (folder / previous).unlink(missing_ok=True)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what `write` wrote, and check that it is complete."""
    content = _read_description(folder)
    return content, _read_weights(folder, content["weights"])


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    try:
        return _FORMAT.read(path)
    except FileNotFoundError:
        raise ModelFileError(f"{folder} holds no saved model: {path} does not exist") from None
    except NotADirectoryError:
        raise ModelFileError(f"{folder} is a file; a saved model is a folder") from None
    except DataFileError as error:
        raise ModelFileError(str(error)) from None


def _read_weights(folder: Path, expected: dict[str, Any]) -> dict[str, Tensor]:
    name = expected["file"]
    if not _is_name_of_weights(name):
        raise ModelFileError(f"{folder / DESCRIPTION} names {name!r}, which is no file of weights")
    path = folder / name
    try:
        return read_tensors(path, expected)
    except FileNotFoundError:
        raise ModelFileError(f"the weights of the model are missing: {path}") from None
    except OSError as error:  # for example a name that is too long
        raise ModelFileError(f"the weights of the model cannot be read: {error}") from None
    except DataFileError as error:
        raise ModelFileError(str(error)) from None


def _current_weights(folder: Path) -> str | None:
    """Name of the weights of a complete model that is in the folder already."""
    try:
        name = _read_description(folder)["weights"]["file"]
    except (ModelFileError, KeyError, TypeError):
        return None
    return name if _is_name_of_weights(name) else None


def _is_name_of_weights(name: Any) -> bool:
    return isinstance(name, str) and _WEIGHTS.fullmatch(name) is not None
