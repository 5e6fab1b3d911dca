"""Saved estimators: from a fitted estimator to a model folder and back.

Networks that were chosen by name are rebuilt from the parameters and filled with the saved weights.
A module or function of the user cannot be stored without its code; `NotStored` takes its place.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from aleator import model_folder
from aleator.allocation_limit import AllocationLimit, counted_values
from aleator.exceptions import ModelFileError
from aleator.model_migration import migrate
from aleator.training.plan import Plan

# Building a network takes memory besides its weights, but not much more than they do.
_SPARE_VALUES = 1 << 22

# Texts in an array, all of which take as much as its type says, may be longer than they need.
_SPARE_BYTES = 1 << 26
# Numbers, texts, objects that JSON has, and times.
_KINDS_OF_ATTRIBUTES = "biufUOmM"

# What an entry of the wrong type, or out of range, leads to.
_WRONG_ENTRY_ERRORS = (
    LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError,
)  # fmt: skip


class ChosenByParameters(Protocol):
    """A network spec, as far as saving is concerned."""

    parameters: tuple[str, ...]


class NotStored:
    """Placeholder of a parameter that a model folder cannot hold (a function, a module).

    Examples
    --------
    >>> NotStored("loss", "my_loss")
    <loss: my_loss, not stored>
    """

    def __init__(self, name: str, description: str) -> None:
        self.name = name
        self.description = description

    def __repr__(self) -> str:
        return f"<{self.name}: {self.description}, not stored>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotStored) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclasses.dataclass(frozen=True)
class SavedModel:
    """Content of a model folder.

    Attributes
    ----------
    estimator : str
        Name of the class.
    parameters : dict
        Parameters of the estimator.
    adapter : dict
        Everything else that the input adapter learned.
    arrays : dict of str to ndarray
        Arrays of the input adapter.
    attributes : dict
        Fitted attributes of the method.
    common_attributes : dict
        Fitted attributes that all estimators have.
    counts : dict of str to int or None
        Number of modules of each network; None for a single module.
    tensors : dict of str to Tensor
        Weights of the networks.
    """

    estimator: str
    parameters: dict[str, Any]
    adapter: dict[str, Any]
    arrays: dict[str, np.ndarray]
    attributes: dict[str, Any]
    common_attributes: dict[str, Any]
    counts: dict[str, int | None]
    tensors: dict[str, Tensor]


def save(
    estimator: Any,
    path: Path,
    *,
    networks: Mapping[str, ChosenByParameters],
    attributes: Sequence[str],
) -> None:
    """Write a fitted estimator with its networks and attributes into a folder."""
    kept = {name: getattr(estimator, f"{name}_") for name in networks}
    values = {name: getattr(estimator, name) for name in attributes}
    names = getattr(estimator, "feature_names_in_", None)
    plan = estimator.plan_
    content = {
        "estimator": type(estimator).__name__,
        "parameters": {k: encode_parameter(v) for k, v in estimator.get_params(deep=False).items()},
        "adapter": estimator.adapter_.to_dict(),
        "counts": {name: _count(modules) for name, modules in kept.items()},
        "attributes": {k: _encode_attribute(v) for k, v in values.items() if not _is_tensor(v)},
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else [str(name) for name in names],
        "history": estimator.history_,
        "random_state_": estimator.random_state_,
        "plan": None if plan is None else plan.to_dict(),
    }
    tensors: dict[str, Tensor] = {}
    for name, modules in kept.items():
        for prefix, module in _numbered(name, modules):
            tensors |= {f"{prefix}/{key}": value for key, value in module.state_dict().items()}
    for key, array in estimator.adapter_.arrays().items():
        tensors[f"adapter/{key}"] = torch.from_numpy(array)
    for name, value in values.items():
        if _is_tensor(value):
            tensors[f"attributes/{name}"] = torch.from_numpy(value)
    # Tensors that share memory are copied, since safetensors refuses them.
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    model_folder.write(path, content, tensors)


def read(folder: Path) -> SavedModel:
    """Read a model folder, also one of an older version of the format."""
    with complete(folder):
        content, tensors = migrate(*model_folder.read(folder))
        attributes = {k: _decode_attribute(v) for k, v in content["attributes"].items()}
        attributes |= {k: v.numpy() for k, v in _below(tensors, "attributes/").items()}
        names = content["feature_names_in"]
        common = {
            "n_features_in_": content["n_features_in"],
            "history_": content["history"],
            "random_state_": content.get("random_state_"),  # not stored before version 0.4
            "plan_": None if content["plan"] is None else Plan.from_dict(content["plan"]),
        }
        if names is not None:
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ModelFileError(f"{folder} has no list of the names of columns")
            common["feature_names_in_"] = np.array(names, dtype=object)
        return SavedModel(
            content["estimator"],
            _decode_parameters(content["parameters"]),
            content["adapter"],
            {key: value.numpy() for key, value in _below(tensors, "adapter/").items()},
            attributes,
            common,
            content["counts"],
            tensors,
        )


@contextlib.contextmanager
def complete(folder: Path) -> Iterator[None]:
    """Turn whatever a wrong entry of a description leads to into an error that names the file."""
    try:
        yield
    except ModelFileError:
        raise
    except _WRONG_ENTRY_ERRORS as error:
        description = folder / model_folder.DESCRIPTION
        raise ModelFileError(f"{description} has a missing or invalid entry: {error}") from error


def restored_networks(
    saved: SavedModel,
    estimator: Any,
    specs: Mapping[str, ChosenByParameters],
    given: Mapping[str, Any],
    build: Callable[[str], Any],
) -> dict[str, Any]:
    """Build all networks of a saved model and fill them with its weights.

    `given` are modules of the user; a network of the user that is not given is None, but for the
    encoder, which `transform` needs.
    """
    for name in given:
        if name not in specs:
            raise ModelFileError(
                f"{saved.estimator} has no network {name!r}; its networks are {', '.join(specs)}"
            )
    attributes: dict[str, Any] = {}
    stored = counted_values(saved.tensors.values())

    def too_large() -> ModelFileError:
        return ModelFileError(
            f"the parameters of this {saved.estimator} describe networks that are far larger than "
            "the weights that are stored with them"
        )

    for name, spec in specs.items():
        count = saved.counts[name]
        if name in given:
            modules = _check_given(name, given[name], count)
        elif (own := _not_stored(estimator, spec)) is not None:
            if name == "encoder":
                raise ModelFileError(
                    f"the encoder of this model is a module of your own ({own.description}), which "
                    "a model folder cannot hold: load(path, encoder=a module of the same "
                    "architecture)"
                )
            modules = None
        else:
            with AllocationLimit(_SPARE_VALUES + 8 * stored, too_large):
                modules = build(name)
        for prefix, module in _numbered(name, modules):
            _fill(module, saved.tensors, prefix)
        attributes[f"{name}_"] = modules
    return attributes


def check_all_stored(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError if a parameter of a loaded estimator must be set before fitting again."""
    for name, value in parameters.items():
        if isinstance(value, NotStored):
            raise ValueError(
                f"this estimator was loaded from a file, which cannot hold its {name} "
                f"({value.description}): set_params({name}=…) before fitting it again"
            )


def _check_given(name: str, modules: Any, count: int | None) -> Any:
    if isinstance(modules, nn.Module) != (count is None):
        expected = "one module" if count is None else f"a list of {count} modules"
        raise ModelFileError(f"{name} must be {expected}")
    if not isinstance(modules, nn.Module) and len(modules) != count:
        raise ModelFileError(f"this model has {count} {name}, but {len(modules)} are given")
    return copy.deepcopy(modules)


def _not_stored(estimator: Any, spec: ChosenByParameters) -> NotStored | None:
    for parameter in spec.parameters:
        value = getattr(estimator, parameter)
        if isinstance(value, NotStored):
            return value
    return None


def _numbered(name: str, modules: Any) -> list[tuple[str, nn.Module]]:
    if modules is None:
        return []
    if isinstance(modules, nn.Module):
        return [(name, modules)]
    return [(f"{name}/{k}", module) for k, module in enumerate(modules)]


def _count(modules: Any) -> int | None:
    return None if isinstance(modules, nn.Module) else len(modules or [])


def _fill(module: nn.Module, tensors: Mapping[str, Tensor], prefix: str) -> None:
    try:
        module.float().load_state_dict(_below(tensors, f"{prefix}/"))
    except RuntimeError as error:
        raise ModelFileError(
            f"the saved weights of {prefix} do not fit the module: {error}"
        ) from error
    module.eval()


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _encode_attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    return value


def _decode_attribute(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    items, name = value["array"], value["dtype"]
    dtype = np.dtype(name) if isinstance(name, str) else None
    if dtype is None or dtype.kind not in _KINDS_OF_ATTRIBUTES or not isinstance(items, list):
        raise ValueError(f"no array has the type {name!r}")
    if dtype.kind == "U":
        # A text takes as much memory as the type says, however short it is.
        spare = len(items) * (dtype.itemsize - 4 * max(map(len, items), default=0))
        if spare > _SPARE_BYTES or not all(isinstance(item, str) for item in items):
            raise ValueError(f"an array has the type {name!r}, but no text of that length")
    return np.array(items, dtype=dtype)


def encode_parameter(value: Any) -> Any:
    """Convert a parameter to a JSON value; what has no code of its own is named, but not stored.

    Examples
    --------
    >>> encode_parameter((0.9, 0.999)), encode_parameter(len)
    ({'numbers': [0.9, 0.999]}, {'not stored': 'len'})
    """
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
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        stored = {key: encode_parameter(item) for key, item in value.items()}
        if not any(isinstance(item, dict) and "not stored" in item for item in stored.values()):
            return {"options": stored}
    if isinstance(value, (tuple, list)) and all(isinstance(item, str) for item in value):
        return {"names": list(value)}
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"not stored": name}


def _decode_parameters(stored: dict[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for name, value in stored.items():
        if isinstance(value, dict) and "not stored" in value:
            value = NotStored(name, value["not stored"])
        elif isinstance(value, dict) and "options" in value:
            value = _decode_parameters(value["options"])
        elif isinstance(value, dict):
            value = tuple(value["numbers"] if "numbers" in value else value["names"])
        parameters[name] = value
    return parameters
