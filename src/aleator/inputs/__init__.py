"""Sources of data and the input adapter, which treats new data as the training data."""

from aleator.inputs.adapter import InputAdapter
from aleator.inputs.adapter_base import Adapter, AdapterSource, ColumnRecord
from aleator.inputs.adapters import fit_adapter, restore_adapter
from aleator.inputs.audio.adapter import AudioAdapter
from aleator.inputs.checksum import checksum_of
from aleator.inputs.graphs.adapter import GraphAdapter
from aleator.inputs.images.adapter import ImageAdapter
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.parts.adapter import PartsAdapter
from aleator.inputs.parts.source import PartsSource
from aleator.inputs.pieces import PiecewiseSource
from aleator.inputs.reading import RawData, read, read_numbers, with_columns
from aleator.inputs.series.adapter import SeriesAdapter
from aleator.inputs.sources import (
    ArraySource,
    DatasetSource,
    Schema,
    SomeRows,
    Source,
    evenly_spaced,
)
from aleator.inputs.tables import TableAdapter
from aleator.inputs.texts.adapter import TextAdapter

__all__ = [
    "Adapter", "AdapterSource", "ArrayLayout", "ArraySource", "AudioAdapter", "ColumnRecord",
    "DatasetSource", "GraphAdapter", "ImageAdapter", "InputAdapter", "PartsAdapter", "PartsSource",
    "PiecewiseSource", "RawData", "Schema", "SeriesAdapter", "SomeRows", "Source", "TableAdapter",
    "TextAdapter", "checksum_of", "evenly_spaced", "fit_adapter", "open_source", "read",
    "read_numbers", "restore_adapter", "with_columns",
]  # fmt: skip
