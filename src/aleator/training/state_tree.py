"""States as data: nested dicts and lists become a JSON value and named tensors, and back."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from aleator.exceptions import DataFileError

State = dict[str, Any] | list[Any] | Tensor | str | int | float | None


def pack(state: State) -> tuple[Any, dict[str, Tensor]]:
    """Split a state into a JSON value, in which tensors are references, and its tensors.

    Parameters
    ----------
    state : dict, list, Tensor, str, bool, int, float or None
        Nested; keys of dicts are strings.

    Returns
    -------
    tree : object
        A JSON value.
    tensors : dict of str to Tensor
        Contiguous tensors on the CPU.

    Examples
    --------
    >>> import torch
    >>> tree, tensors = pack({"steps": 3, "weights": [torch.ones(2)]})
    >>> tree
    {'items': {'steps': 3, 'weights': [{'tensor': '/weights/0'}]}}
    >>> unpack(tree, tensors)
    {'steps': 3, 'weights': [tensor([1., 1.])]}
    """
    tensors: dict[str, Tensor] = {}
    return _tree_of(state, "", tensors), tensors


# Not within `pack`: a function that calls itself through its closure keeps the tensors until the
# garbage collector runs, after every checkpoint.
def _tree_of(value: State, path: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors[path] = value.detach().cpu().contiguous()
        return {"tensor": path}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"keys of a state must be strings, got {list(value)!r}")
        return {"items": {k: _tree_of(item, f"{path}/{k}", tensors) for k, item in value.items()}}
    if isinstance(value, list):
        return [_tree_of(item, f"{path}/{k}", tensors) for k, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}  # which JSON does not have
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"a state cannot hold {type(value).__name__} ({path})")


def unpack(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """Put the parts that `pack` returned together.

    Parameters
    ----------
    tree : object
        A JSON value.
    tensors : dict of str to Tensor
        The tensors.

    Returns
    -------
    object
        The state.

    Raises
    ------
    DataFileError
        If the value was not made by `pack`, or a tensor is missing.
    """
    if isinstance(tree, list):
        return [unpack(item, tensors) for item in tree]
    if not isinstance(tree, dict):
        return tree
    match tree:
        case {"items": dict(items), **rest} if not rest:
            return {key: unpack(item, tensors) for key, item in items.items()}
        case {"tensor": str(path), **rest} if not rest and path in tensors:
            return tensors[path]
        case {"float": "nan" | "inf" | "-inf" as text, **rest} if not rest:
            return float(text)
    raise DataFileError(f"the state has an entry that cannot be read: {str(tree)[:80]}")
