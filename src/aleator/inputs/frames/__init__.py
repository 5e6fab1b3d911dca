"""Data frames of pandas, polars and pyarrow, and arrays, as columns of the same values.

One file per library. None of them is imported before an object of it arrives.
"""

from aleator.inputs.frames.base import Frame, Kind
from aleator.inputs.frames.opening import as_frame, is_frame

__all__ = ["Frame", "Kind", "as_frame", "is_frame"]
