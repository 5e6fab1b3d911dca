"""Saved estimators: a folder with weights (safetensors) and a description (JSON). No pickle.

The description names the weights' file and its checksum, and is replaced in one stroke after the
weights are safely on disk. So a crash at any moment leaves the old model or the new one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

import aleator
from aleator.base import RepresentationLearner
from aleator.inputs import Door
from aleator.networks.registry import (
    build_encoder,
    build_predictor,
    build_projector,
    encoder_name,
    predictor_choice,
)
from aleator.parameters import NotStored
from aleator.training.devices import seeded
from aleator.training.plan import Placement, Plan

DESCRIPTION = "aleator.json"
_FORMAT = "aleator-model"
_FORMAT_VERSION = 1
_LISTS = ("projectors", "predictors")


class ModelFileError(ValueError):
    """A saved model is missing, damaged or not one of ours."""


def save(estimator: RepresentationLearner, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator into the folder `path` (see `RepresentationLearner.save`)."""
    from safetensors.torch import save as to_bytes

    check_is_fitted(estimator)
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ModelFileError(f"{folder} is a file; a model is saved into a folder")
    folder.mkdir(parents=True, exist_ok=True)
    weights = to_bytes(_tensors(estimator))
    checksum = hashlib.sha256(weights).hexdigest()
    name = f"weights-{checksum[:16]}.safetensors"
    content = _describe(estimator) | {"weights": {"file": name, "sha256": checksum}}
    description = {"content": content, "sha256": _checksum(content)}
    before = _weights_file_of(folder)
    _write_safely(folder / name, weights)
    _write_safely(folder / DESCRIPTION, json.dumps(description, indent=1, allow_nan=False).encode())
    if before is not None and before != name:
        (folder / before).unlink(missing_ok=True)


def load(
    path: str | os.PathLike[str],
    *,
    encoder: nn.Module | None = None,
    projectors: Sequence[nn.Module] | None = None,
    predictors: Sequence[nn.Module] | None = None,
) -> Any:
    """Read an estimator that `save` wrote.

    Networks that were chosen by name are rebuilt. A network of your own cannot be stored without
    its code: pass a module of the same make, whose weights are then filled in (it is copied, not
    changed). Your own encoder must be given; projectors and predictors of your own that are not
    given are left out (`projectors_` or `predictors_` is None), since `transform` does without.

    >>> import tempfile
    >>> from aleator import LFR
    >>> X = np.random.default_rng(0).normal(size=(40, 4))
    >>> lfr = LFR(epochs=1, embedding_dim=8, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lfr.save(folder)
    ...     again = load(folder)
    >>> bool((again.transform(X) == lfr.transform(X)).all())
    True
    """
    folder = Path(path)
    content = _read_description(folder)
    tensors = _read_weights(folder, content["weights"])
    estimator = _class(content["estimator"])(**_restored_parameters(content["parameters"]))
    try:
        attributes = _attributes(estimator, content, tensors, encoder, projectors, predictors)
    except (KeyError, TypeError, IndexError) as error:
        raise ModelFileError(f"{folder / DESCRIPTION} lacks or garbles {error}") from error
    for name, value in attributes.items():
        setattr(estimator, name, value)
    return estimator


def _tensors(estimator: Any) -> dict[str, Tensor]:
    """Everything heavy, under flat names."""
    tensors = {f"encoder/{key}": value for key, value in estimator.encoder_.state_dict().items()}
    for role in _LISTS:
        for k, module in enumerate(getattr(estimator, f"{role}_", None) or []):
            for key, value in module.state_dict().items():
                tensors[f"{role}/{k}/{key}"] = value
    for key, array in estimator.door_.scale.items():
        tensors[f"door/{key}"] = torch.from_numpy(array)
    if hasattr(estimator, "projector_kernel_"):
        tensors["projector_kernel"] = torch.from_numpy(estimator.projector_kernel_)
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}


def _describe(estimator: Any) -> dict[str, Any]:
    counts = {role: len(getattr(estimator, f"{role}_", None) or []) for role in _LISTS}
    chosen = getattr(estimator, "selected_projectors_", None)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "aleator": aleator.__version__,
        "estimator": type(estimator).__name__,
        "parameters": {
            name: _stored(value) for name, value in estimator.get_params(deep=False).items()
        },
        "door": estimator.door_.describe(),
        "counts": counts,
        "embedding_dim": estimator.embedding_dim_,
        "target_dim": int(getattr(estimator, "target_dim_", estimator.embedding_dim_)),
        "selected_projectors": None if chosen is None else [int(at) for at in chosen],
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else [str(name) for name in names],
        "history": estimator.history_,
        "plan": dataclasses.asdict(estimator.plan_),
    }


def _attributes(
    estimator: Any,
    content: dict[str, Any],
    tensors: dict[str, Tensor],
    encoder: nn.Module | None,
    projectors: Sequence[nn.Module] | None,
    predictors: Sequence[nn.Module] | None,
) -> dict[str, Any]:
    scale = {key: value.numpy() for key, value in _below(tensors, "door/").items()}
    door = Door.described(content["door"], scale, content["estimator"])
    given = {"projectors": projectors, "predictors": predictors}
    attributes: dict[str, Any] = {
        "door_": door,
        "embedding_dim_": content["embedding_dim"],
        "target_dim_": content["target_dim"],
        "n_features_in_": content["n_features_in"],
        "history_": content["history"],
        "plan_": _plan(content["plan"]),
        "encoder_": _filled(_encoder(estimator, door, encoder), tensors, "encoder/"),
    }
    for role in _LISTS:
        modules = _modules(estimator, role, door, content, given[role])
        if modules is not None:
            modules = [_filled(m, tensors, f"{role}/{k}/") for k, m in enumerate(modules)]
        attributes[f"{role}_"] = modules
    if content["selected_projectors"] is not None:
        attributes["selected_projectors_"] = np.array(content["selected_projectors"])
        attributes["projector_kernel_"] = tensors["projector_kernel"].numpy()
    if content["feature_names_in"] is not None:
        attributes["feature_names_in_"] = np.array(content["feature_names_in"], dtype=object)
    return attributes


def _encoder(estimator: Any, door: Door, given: nn.Module | None) -> nn.Module:
    if given is not None:
        return build_encoder(given, door.modality.name, door.shape, None).float()
    if isinstance(estimator.encoder, NotStored):
        raise ModelFileError(
            f"this model's encoder is your own ({estimator.encoder.description}), which a file "
            "cannot hold: load(path, encoder=a module of the same make)"
        )
    with seeded(0, torch.device("cpu")):
        return build_encoder(
            estimator.encoder, door.modality.name, door.shape, estimator.embedding_dim
        )


def _modules(
    estimator: Any,
    role: str,
    door: Door,
    content: dict[str, Any],
    given: Sequence[nn.Module] | None,
) -> list[nn.Module] | None:
    count = content["counts"][role]
    if given is not None:
        if len(given) != count:
            raise ModelFileError(f"this model has {count} {role}, but {len(given)} are given")
        return [build_encoder(m, door.modality.name, door.shape, None).float() for m in given]
    kind = estimator.projector if role == "projectors" else estimator.predictor
    if count == 0 or isinstance(getattr(estimator, role), NotStored) or isinstance(kind, NotStored):
        return None
    width, target = content["embedding_dim"], content["target_dim"]
    modality, like = door.modality.name, estimator.encoder
    own_kind = encoder_name(like, modality) if isinstance(like, str) else None
    with seeded(0, torch.device("cpu")):
        if role == "predictors":
            kind = predictor_choice(kind, modality, own_kind)
            layers, hidden = estimator.predictor_layers, estimator.predictor_hidden
            return [build_predictor(kind, width, target, layers, hidden) for _ in range(count)]
        return [build_projector(kind, modality, door.shape, target, own_kind) for _ in range(count)]


def _filled(module: nn.Module, tensors: dict[str, Tensor], prefix: str) -> nn.Module:
    try:
        module.load_state_dict(_below(tensors, prefix))
    except RuntimeError as error:
        raise ModelFileError(
            f"the saved weights of {prefix.strip('/')} do not fit the module: {error}"
        ) from error
    return module.eval()


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _plan(stored: dict[str, Any]) -> Plan:
    placements = tuple(Placement(**place) for place in stored["placements"])
    return Plan(**{**stored, "placements": placements})


def _stored(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, NotStored):
        return {"not stored": value.description}
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (tuple, list)) and all(isinstance(item, (int, float)) for item in value):
        return {"numbers": list(value)}
    if isinstance(value, torch.device):
        return str(value)
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"not stored": name}


def _restored_parameters(stored: dict[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for name, value in stored.items():
        if isinstance(value, dict):
            if "numbers" in value:
                value = tuple(value["numbers"])
            else:
                value = NotStored(name, value["not stored"])
        parameters[name] = value
    return parameters


def _class(name: str) -> Any:
    from aleator import estimators

    found = getattr(estimators, name, None)
    if not (isinstance(found, type) and issubclass(found, RepresentationLearner)):
        raise ModelFileError(f"this file holds a {name}, which aleator {aleator.__version__} lacks")
    return found


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
