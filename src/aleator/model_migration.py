"""Reading models that earlier versions saved."""

from __future__ import annotations

from typing import Any

from torch import Tensor

# Prefixes of tensors, and networks, that had other names in format 2 (aleator 0.2).
_RENAMED_PREFIXES = {
    "door/": "adapter/",
    "facts/": "attributes/",
    "projector/": "projection_head/",
    "decoder/read.": "decoder/output.",
}


def migrate(
    content: dict[str, Any], tensors: dict[str, Tensor]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Bring the content of a model folder to the present format.

    Examples
    --------
    >>> content = {"format_version": 3, "estimator": "LFR"}
    >>> migrate(content, {})[0] is content
    True
    """
    if content["format_version"] == 2:
        content = _from_format_2(content)
        tensors = {_renamed(name): t for name, t in tensors.items()}
    parameters = content.get("parameters", {})
    if "projector_hidden" in parameters and "projector_dim" not in parameters:
        width = _width_of_projection_head(tensors)
        content = {**content, "parameters": {**parameters, "projector_dim": width}}
    return content, tensors


def _width_of_projection_head(tensors: dict[str, Tensor]) -> int | None:
    """Width of the last layer: until version 0.3 it was that of the hidden layers."""
    prefix = "projection_head/"
    layers = {
        int(name.removeprefix(prefix).split(".")[0]): len(tensor)
        for name, tensor in tensors.items()
        if name.startswith(prefix) and name.endswith(".weight") and tensor.ndim == 2
    }
    return layers[max(layers)] if layers else None


def _from_format_2(content: dict[str, Any]) -> dict[str, Any]:
    content = dict(content)
    content["adapter"] = content.pop("door")
    content["attributes"] = content.pop("facts")
    names = {"projector": "projection_head"}
    content["counts"] = {names.get(k, k): count for k, count in content["counts"].items()}
    parameters = content["parameters"] = dict(content["parameters"])
    # "auto" has become a pooled CNN for long series, whose weights have another shape.
    if content["adapter"]["modality"] == "series" and parameters.get("encoder") == "auto":
        parameters["encoder"] = "cnn"
    options = (parameters.get("view_options") or {}).get("options", {})
    if "grey_share" in options:
        renamed = {"gray_share" if k == "grey_share" else k: v for k, v in options.items()}
        parameters["view_options"] = {"options": renamed}
    return content


def _renamed(name: str) -> str:
    for old, new in _RENAMED_PREFIXES.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name
