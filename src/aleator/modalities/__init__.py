"""Kinds of data: one file per kind holds its networks, views and defaults."""

from aleator.modalities.registry import (
    get_modality,
    infer_layout,
    infer_modality,
    modality_names,
    modality_of,
    register_modality,
    stored_layout,
)
from aleator.modalities.spec import Modality

__all__ = [
    "Modality", "get_modality", "infer_layout", "infer_modality", "modality_names", "modality_of",
    "register_modality", "stored_layout",
]  # fmt: skip
