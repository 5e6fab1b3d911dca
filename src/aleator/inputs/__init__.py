"""Sources of data and the input adapter, which treats new data as the training data."""

from aleator.inputs.adapter import InputAdapter
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.pieces import PiecewiseSource
from aleator.inputs.reading import RawData, read
from aleator.inputs.sources import (
    ArraySource,
    DatasetSource,
    Schema,
    Source,
    evenly_spaced,
)

__all__ = [
    "ArrayLayout", "ArraySource", "DatasetSource", "InputAdapter", "PiecewiseSource", "RawData",
    "Schema", "Source", "evenly_spaced", "open_source", "read",
]  # fmt: skip
