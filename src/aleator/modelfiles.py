"""Saved estimators: from a fitted estimator to a model folder and back."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

import aleator
from aleator import modelfolders
from aleator.estimators.base import RepresentationLearner
from aleator.inputs import Door
from aleator.modelfolders import DESCRIPTION, ModelFileError
from aleator.parameters import NotStored
from aleator.training.devices import seeded
from aleator.training.plan import Placement, Plan

__all__ = ["ModelFileError", "load", "save"]

Networks = nn.Module | Sequence[nn.Module]


def save(estimator: RepresentationLearner, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator into the folder `path` (see `RepresentationLearner.save`)."""
    check_is_fitted(estimator)
    modelfolders.write(Path(path), _describe(estimator), _tensors(estimator))


def load(path: str | os.PathLike[str], **networks: Networks | None) -> Any:
    """Read an estimator that `save` wrote.

    Networks that were chosen by name are rebuilt. A network of your own cannot be stored without
    its code: pass a module of the same make under its name, as in `load(path, encoder=module)` or
    `load(path, projectors=[…])`; its weights are then filled in (it is copied, not changed). Your
    own encoder must be given; other networks of your own that are not given are left out (the
    attribute is None), since `transform` does without.

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
    content, tensors = modelfolders.read(folder)
    estimator = _class(content["estimator"])(**_restored_parameters(content["parameters"]))
    for name in networks:
        if name not in estimator.networks:
            known = ", ".join(estimator.networks)
            raise ModelFileError(f"{content['estimator']} has no {name}; its networks are {known}")
    try:
        given = {name: modules for name, modules in networks.items() if modules is not None}
        attributes = _attributes(estimator, content, tensors, given)
    except (KeyError, TypeError, IndexError) as error:
        raise ModelFileError(f"{folder / DESCRIPTION} lacks or garbles {error}") from error
    for name, value in attributes.items():
        setattr(estimator, name, value)
    return estimator


def _tensors(estimator: Any) -> dict[str, Tensor]:
    """Everything heavy, under flat names."""
    tensors: dict[str, Tensor] = {}
    for name in estimator.networks:
        for prefix, module in _numbered(name, getattr(estimator, f"{name}_")):
            for key, value in module.state_dict().items():
                tensors[f"{prefix}/{key}"] = value
    for key, array in estimator.door_.scale.items():
        tensors[f"door/{key}"] = torch.from_numpy(array)
    for name in estimator.facts:
        value = getattr(estimator, name)
        if _is_heavy(value):
            tensors[f"facts/{name}"] = torch.from_numpy(value)
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}


def _describe(estimator: Any) -> dict[str, Any]:
    kept = {name: getattr(estimator, f"{name}_") for name in estimator.networks}
    facts = {name: getattr(estimator, name) for name in estimator.facts}
    names = getattr(estimator, "feature_names_in_", None)
    plan = estimator.plan_
    return {
        "estimator": type(estimator).__name__,
        "parameters": {
            name: _stored(value) for name, value in estimator.get_params(deep=False).items()
        },
        "door": estimator.door_.describe(),
        "counts": {name: _count(modules) for name, modules in kept.items()},
        "facts": {
            name: _stored_fact(value) for name, value in facts.items() if not _is_heavy(value)
        },
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else [str(name) for name in names],
        "history": estimator.history_,
        "plan": None if plan is None else dataclasses.asdict(plan),
    }


def _attributes(
    estimator: Any,
    content: dict[str, Any],
    tensors: dict[str, Tensor],
    given: dict[str, Networks],
) -> dict[str, Any]:
    scale = {key: value.numpy() for key, value in _below(tensors, "door/").items()}
    door = Door.described(content["door"], scale, content["estimator"])
    facts: dict[str, Any] = {k: _restored_fact(v) for k, v in content["facts"].items()}
    facts |= {name: value.numpy() for name, value in _below(tensors, "facts/").items()}
    attributes: dict[str, Any] = {
        "door_": door,
        "n_features_in_": content["n_features_in"],
        "history_": content["history"],
        "plan_": None if content["plan"] is None else _plan(content["plan"]),
        **facts,
    }
    for name in estimator.networks:
        modules = _rebuilt(estimator, name, door, {**facts, "counts": content["counts"]}, given)
        for prefix, module in _numbered(name, modules):
            _fill(module, tensors, prefix)
        attributes[f"{name}_"] = modules
    if content["feature_names_in"] is not None:
        attributes["feature_names_in_"] = np.array(content["feature_names_in"], dtype=object)
    return attributes


def _rebuilt(
    estimator: Any, name: str, door: Door, facts: dict[str, Any], given: dict[str, Networks]
) -> Any:
    count = facts["counts"][name]
    if name in given:
        modules = given[name]
        if isinstance(modules, nn.Module) != (count is None):
            wanted = "one module" if count is None else f"a list of {count} modules"
            raise ModelFileError(f"{name} must be {wanted}")
        if not isinstance(modules, nn.Module) and len(modules) != count:
            raise ModelFileError(f"this model has {count} {name}, but {len(modules)} are given")
        return copy.deepcopy(modules)
    for parameter in estimator.networks[name]:
        choice = getattr(estimator, parameter)
        if isinstance(choice, NotStored):
            if name != "encoder":
                return None
            raise ModelFileError(
                f"this model's encoder is your own ({choice.description}), which a file cannot "
                "hold: load(path, encoder=a module of the same make)"
            )
    with seeded(0, torch.device("cpu")):
        return estimator._build(name, door, facts)


def _numbered(name: str, modules: Any) -> list[tuple[str, nn.Module]]:
    if modules is None:
        return []
    if isinstance(modules, nn.Module):
        return [(name, modules)]
    return [(f"{name}/{k}", module) for k, module in enumerate(modules)]


def _count(modules: Any) -> int | None:
    return None if isinstance(modules, nn.Module) else len(modules or [])


def _fill(module: nn.Module, tensors: dict[str, Tensor], prefix: str) -> None:
    try:
        module.float().load_state_dict(_below(tensors, f"{prefix}/"))
    except RuntimeError as error:
        raise ModelFileError(
            f"the saved weights of {prefix} do not fit the module: {error}"
        ) from error
    module.eval()


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _plan(stored: dict[str, Any]) -> Plan:
    placements = tuple(Placement(**place) for place in stored["placements"])
    return Plan(**{**stored, "placements": placements})


def _is_heavy(fact: Any) -> bool:
    return isinstance(fact, np.ndarray) and fact.dtype.kind == "f"


def _stored_fact(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    return value


def _restored_fact(value: Any) -> Any:
    if isinstance(value, dict):
        return np.array(value["array"], dtype=value["dtype"])
    return value


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
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        stored = {key: _stored(item) for key, item in value.items()}
        if not any(isinstance(item, dict) and "not stored" in item for item in stored.values()):
            return {"options": stored}
    if isinstance(value, (tuple, list)) and all(isinstance(item, str) for item in value):
        return {"names": list(value)}
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"not stored": name}


def _restored_parameters(stored: dict[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for name, value in stored.items():
        if isinstance(value, dict) and "not stored" in value:
            value = NotStored(name, value["not stored"])
        elif isinstance(value, dict) and "options" in value:
            value = _restored_parameters(value["options"])
        elif isinstance(value, dict):
            value = tuple(value["numbers"] if "numbers" in value else value["names"])
        parameters[name] = value
    return parameters


def _class(name: str) -> Any:
    from aleator import estimators

    found = getattr(estimators, name, None)
    if not (isinstance(found, type) and issubclass(found, RepresentationLearner)):
        raise ModelFileError(f"this file holds a {name}, which aleator {aleator.__version__} lacks")
    return found
