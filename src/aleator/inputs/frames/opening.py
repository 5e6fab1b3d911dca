"""Which objects are frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from aleator.inputs.frames.base import Frame


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars, or a table of pyarrow.

    Examples
    --------
    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"a": [1]})), is_frame([[1]])
    (True, False)
    """
    if isinstance(X, Frame):
        return True
    library, name = type(X).__module__.partition(".")[0], type(X).__name__
    if library == "pyarrow":
        return name in ("Table", "RecordBatch")
    # Also frames of libraries that have the interface of pandas.
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def as_frame(X: Any, names: list[str] | None = None) -> Frame:
    """Return a data frame, a table of pyarrow or a two-dimensional array as a `Frame`.

    Parameters
    ----------
    X : object
        What the user passed, or a `Frame`.
    names : list of str, default=None
        Names of the columns of an array; None numbers them.

    Returns
    -------
    Frame

    Examples
    --------
    >>> as_frame(np.array([[1.0, 2.0]])).names
    ['0', '1']
    """
    if isinstance(X, Frame):
        return X
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow":
        from aleator.inputs.frames.arrow_frame import ArrowFrame

        return ArrowFrame.of(X)
    if library == "polars":
        from aleator.inputs.frames.polars_frame import PolarsFrame

        return PolarsFrame(X)
    if hasattr(X, "iloc"):
        from aleator.inputs.frames.pandas_frame import PandasFrame

        return PandasFrame(X)
    from aleator.inputs.frames.array_frame import ArrayFrame

    return ArrayFrame(np.asarray(X), names)
