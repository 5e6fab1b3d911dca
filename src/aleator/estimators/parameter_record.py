"""Parameters as they are compared when a run continues: any two that differ have other records.

What has no JSON value is described as far as it can be: functions by their names, with what they
are bound to; arrays and modules by their values; other objects by their classes and attributes.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import json
import math
import re
import types
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aleator.serialization import NotStored, encode_parameter

# Objects that hold each other, deeper than this, are told apart by their types only.
_DEEPEST = 32
_LONGEST_SHOWN = 80
_NO_JSON = object()


def record_of(value: Any) -> Any:
    """Describe a parameter as a JSON value, which two parameters share only if they are the same.

    Parameters
    ----------
    value : object
        The parameter.

    Returns
    -------
    object
        A JSON value.

    Examples
    --------
    >>> from functools import partial
    >>> record_of(0.5), record_of([1, 2])
    (0.5, {'numbers': [1, 2]})
    >>> record_of(partial(round, ndigits=1)) == record_of(partial(round, ndigits=2))
    False
    """
    return _record(value, ())


def shown(record: Any) -> str:
    """Return a record as a message shows it, shortened.

    Parameters
    ----------
    record : object
        What `record_of` returned.

    Returns
    -------
    str

    Examples
    --------
    >>> shown(record_of({"loss": len, "scale": 0.5}))
    "{'loss': 'len', 'scale': 0.5}"
    """
    try:
        text = repr(_plain(record))
    except RecursionError:  # which no record is that was written here
        text = "…"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def digest_of_array(array: np.ndarray) -> str:
    """Return a digest of the type, the shape and the values of an array.

    Examples
    --------
    >>> digest_of_array(np.zeros(2)) == digest_of_array(np.zeros((2, 1)))
    False
    """
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(array.tobytes())
    return digest.hexdigest()


def _plain(record: Any) -> Any:
    if isinstance(record, list):
        return [_plain(item) for item in record]
    if not isinstance(record, dict):
        return record
    if "not stored" in record:
        return record["not stored"]
    if len(record) != 1:
        return record
    (content,) = record.values()  # the key says of what kind it is
    if isinstance(content, dict):
        return {key: _plain(item) for key, item in content.items()}
    return _plain(content)


def _record(value: Any, inside: tuple[int, ...]) -> Any:
    """Describe a value; `inside` are the objects that hold it."""
    stored = _json_value(value)
    if stored is not _NO_JSON:
        return stored
    if id(value) in inside or len(inside) > _DEEPEST:
        return {"not stored": type(value).__qualname__}
    inside = (*inside, id(value))
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {"options": {key: _record(item, inside) for key, item in value.items()}}
        return {"pairs": [[_record(k, inside), _record(v, inside)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"items": [_record(item, inside) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((_record(item, inside) for item in value), key=json.dumps)}
    if isinstance(value, Tensor):
        return {"not stored": "Tensor", **_record_of_tensor(value)}
    if isinstance(value, np.ndarray):
        return {"not stored": "ndarray", **_record_of_array(value, inside)}
    if isinstance(value, nn.Module):
        return {"not stored": type(value).__qualname__, **_record_of_module(value, inside)}
    if isinstance(value, functools.partial):
        function = _record(value.func, inside)
        return {
            "not stored": f"partial({_plain(function)})",
            "function": function,
            "arguments": [_record(item, inside) for item in value.args],
            "keywords": {key: _record(item, inside) for key, item in value.keywords.items()},
        }
    if callable(value) and hasattr(value, "__qualname__"):
        return {**_name_of(value), **_record_of_bound(value, inside)}
    return {**_name_of(type(value)), **_record_of_attributes(value, inside)}


def _json_value(value: Any) -> Any:
    """Return a parameter as JSON; `_NO_JSON` if it has to be described."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, np.random.RandomState):
        return "a RandomState instance"
    if isinstance(value, (Enum, torch.dtype, PurePath)):
        return {"not stored": str(value)}
    if isinstance(value, (bytes, bytearray, complex)):
        return {"not stored": type(value).__qualname__, "value": repr(value)}
    if isinstance(value, types.ModuleType):
        return {"not stored": value.__name__}
    if value is None or isinstance(value, (bool, int, float, str, torch.device, NotStored)):
        return encode_parameter(value)
    simple = (bool, int, float, str)
    if isinstance(value, (list, tuple)) and all(type(item) in simple for item in value):
        stored = encode_parameter(value)
        numbers = stored.get("numbers", [])
        if "not stored" not in stored and all(map(math.isfinite, numbers)):
            return stored
    return _NO_JSON


def _name_of(value: Any) -> dict[str, Any]:
    # A script is another module in processes that were started to train together.
    module = str(getattr(value, "__module__", None)).replace("__mp_main__", "__main__")
    return {"not stored": value.__qualname__, "module": module}


def _record_of_bound(function: Any, inside: tuple[int, ...]) -> dict[str, Any]:
    """Describe what a function depends on besides its name: defaults, closure, its object."""
    bound: dict[str, Any] = {}
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        bound["object"] = _record(owner, inside)
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return bound
    for name in ("__defaults__", "__kwdefaults__"):
        if given := getattr(function, name):
            bound[name.strip("_")] = _record(given, inside)
    code = function.__code__
    if function.__closure__:
        # What a function assigns to is its state, such as a counter, and no setting.
        state = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_DEREF"}
        bound["closure"] = {
            name: _record_of_cell(cell, inside)
            for name, cell in zip(code.co_freevars, function.__closure__, strict=True)
            if name not in state
        }
    if "<lambda>" in function.__qualname__:  # which is no name
        bound["code"] = _digest_of_code(code)
    return bound


def _record_of_cell(cell: Any, inside: tuple[int, ...]) -> Any:
    try:
        return _record(cell.cell_contents, inside)
    except ValueError:  # an empty cell
        return {"not stored": "nothing"}


def _digest_of_code(code: types.CodeType) -> str:
    digest = hashlib.sha256(code.co_code)
    for constant in code.co_consts:
        inner = isinstance(constant, types.CodeType)
        digest.update((_digest_of_code(constant) if inner else repr(constant)).encode())
    digest.update(repr(code.co_names).encode())
    return digest.hexdigest()


def _record_of_array(array: np.ndarray, inside: tuple[int, ...]) -> dict[str, Any]:
    about: dict[str, Any] = {"shape": list(array.shape), "dtype": array.dtype.str}
    if array.dtype.hasobject:  # whose bytes are addresses
        return {**about, "values": [_record(item, inside) for item in array.ravel().tolist()]}
    return {**about, "sha256": digest_of_array(array)}


def _record_of_tensor(tensor: Tensor) -> dict[str, Any]:
    about: dict[str, Any] = {"shape": list(tensor.shape), "dtype": str(tensor.dtype)}
    try:
        return {**about, "sha256": hashlib.sha256(_bytes_of(tensor)).hexdigest()}
    except (RuntimeError, TypeError, NotImplementedError):  # for example of a sparse layout
        return about


def _bytes_of(tensor: Tensor) -> Any:
    array = tensor.detach().cpu().contiguous().view(-1)
    return array.view(torch.uint8).numpy().data


def _record_of_module(module: nn.Module, inside: tuple[int, ...]) -> dict[str, Any]:
    """Return a digest of the weights, and of the attributes that neither they nor the text show."""
    # A text may hold addresses of functions, which differ between processes.
    digest = hashlib.sha256(re.sub(r" at 0x[0-9a-f]+", "", repr(module)).encode())
    for name, tensor in module.state_dict().items():
        digest.update(name.encode())
        if isinstance(tensor, Tensor):
            digest.update(_bytes_of(tensor))
    for name, part in module.named_modules():
        public = {
            key: item
            for key, item in vars(part).items()
            if not key.startswith("_") and key != "training"
        }
        about = [name, _name_of(type(part)), _record(public, (*inside, id(part)))]
        digest.update(json.dumps(about, sort_keys=True).encode())
    return {"sha256": digest.hexdigest()}


def _record_of_attributes(value: Any, inside: tuple[int, ...]) -> dict[str, Any]:
    attributes = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if hasattr(value, name):
                attributes[name] = getattr(value, name)
    if not attributes:
        return {}
    return {"attributes": {name: _record(item, inside) for name, item in attributes.items()}}
