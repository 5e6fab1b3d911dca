"""From what a user passes as X to a source, or to an error that names the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_array

from aleator.inputs.audio.source import Clips, as_audio
from aleator.inputs.frames import Frame, Kind, as_frame, is_frame
from aleator.inputs.graphs.source import as_graphs
from aleator.inputs.images.source import Images, as_images
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.parts.source import PartsSource, is_parts, naming_part
from aleator.inputs.series.source import as_series
from aleator.inputs.sources import ArraySource, DatasetSource, Source, tensor_to_array
from aleator.inputs.table_files import source_of_table
from aleator.inputs.table_source import TableSource
from aleator.inputs.texts.source import TextSource, as_texts

# Modalities of which collections of series are.
_SERIES = ("series", "irregular-series")


@dataclass(frozen=True)
class RawData:
    """Samples as the user passed them.

    Attributes
    ----------
    source : Source
        The samples, with their original values and data type.
    feature_names : list of str or None
        Names of the columns of a data frame.

    Examples
    --------
    >>> read([[1, 2], [3, 4]]).shape
    (2, 2)
    """

    source: Source
    feature_names: list[str] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array of samples."""
        return (len(self.source), *self.source.schema.shape)

    def describe_non_finite(
        self, values: np.ndarray, first_row: int, layout: ArrayLayout
    ) -> str | None:
        """Say where the first NaN or infinity in a chunk is; None if there is none."""
        names, describe_row = self.feature_names, self.source.describe_row
        return describe_non_finite(values, first_row, layout, names, describe_row)


def read(
    X: Any,
    *,
    min_samples: int = 1,
    estimator_name: str = "the estimator",
    modality: str | Mapping[str, str] = "auto",
) -> RawData:
    """Read X as a source; arrays, tensors, memory maps and frames are not copied.

    A data frame whose columns are all numbers without gaps becomes an array; the source of any
    other frame is a `TableSource`. A dict is several parts, each of which is read by itself.

    Parameters
    ----------
    X : array-like, tensor, data frame, path, torch Dataset, Source or dict of them
        The samples. A path is that of a file or folder, also as a URL.
    min_samples : int, default=1
        Smallest number of samples that is accepted.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.
    modality : str or mapping of str to str, default="auto"
        Kind of data, if the user has named it, or the kinds of some parts.

    Returns
    -------
    RawData
    """
    if is_parts(X):
        return _read_parts(X, min_samples, estimator_name, modality)
    if not isinstance(modality, str):
        raise ValueError("modality is a dict, but X is not a dict of parts: give one name")
    X = open_source(X)
    clips = as_audio(X, asked=modality == Clips.modality)
    if clips is not None:
        _check_length(len(clips), min_samples, estimator_name)
        return RawData(clips)
    if modality in ("auto", "table", *_SERIES):
        series = as_series(X, asked=modality in _SERIES)
        if series is not None:
            _check_length(len(series), min_samples, estimator_name)
            return RawData(series)
    if not is_frame(X):
        graphs = as_graphs(X)
        if graphs is not None:
            _check_length(len(graphs), min_samples, estimator_name)
            return RawData(graphs)
        images = as_images(X, asked=modality == Images.modality)
        if images is not None:
            _check_length(len(images), min_samples, estimator_name)
            return RawData(images)
        texts = as_texts(X, asked=modality == TextSource.modality)
        if texts is not None:
            _check_length(len(texts), min_samples, estimator_name)
            return RawData(texts)
        return read_numbers(X, min_samples=min_samples, estimator_name=estimator_name)
    frame = as_frame(X)
    frame.check_names()
    if len(frame) == 0 or holds_only_numbers(frame):
        return read_numbers(X, min_samples=min_samples, estimator_name=estimator_name)
    _check_length(len(frame), min_samples, estimator_name)
    return RawData(TableSource(frame), frame.names)


def read_numbers(X: Any, *, min_samples: int = 1, estimator_name: str = "the estimator") -> RawData:
    """Read X, as `read` does, as a source of numbers; anything else is an error.

    Examples
    --------
    >>> read_numbers([[1, 2], [3, 4]]).source.schema.dtype.kind
    'i'
    """
    if is_parts(X):
        raise ValueError(
            f"X is a dict of several parts, but {estimator_name} is expecting one kind of data: "
            "pass one of its values, or pandas.DataFrame(X) if they are columns of a table"
        )
    X = open_source(X)
    names = None
    if isinstance(X, Source):
        source, names = X, X.feature_names
    elif isinstance(X, torch.utils.data.Dataset):
        source = DatasetSource(X)
    elif type(X).__module__.startswith("pyarrow"):
        source = source_of_table(X)
        names = source.feature_names
    else:
        names = _column_names(X)
        if names is not None:
            _check_numeric_columns(X, names)
        source = ArraySource(_to_array(X, min_samples, estimator_name))
    _check_length(len(source), min_samples, estimator_name)
    return RawData(source, names)


def with_columns(X: Any, names: list[str] | None) -> Any:
    """Open X and, if it is a frame or a table in files, choose columns by their names.

    Parameters
    ----------
    X : object
        What a user passed as X.
    names : list of str or None
        Names of the columns; None is all.

    Returns
    -------
    object
        What `open_source` returns, or a frame of the library of X.

    Examples
    --------
    >>> import pandas as pd
    >>> list(with_columns(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), ["c", "a"]).columns)
    ['c', 'a']
    """
    X = open_source(X, names)
    if names is None or not is_frame(X):
        return X
    frame = as_frame(X)
    frame.check_names()
    return frame.select(frame.find(names)).native


def holds_only_numbers(frame: Frame) -> bool:
    """Whether all columns of a frame are numbers or truth values, and no value is missing.

    Examples
    --------
    >>> holds_only_numbers(as_frame(np.ones((2, 2))))
    True
    """
    columns = range(len(frame.names))
    numeric = (Kind.NUMBER, Kind.BOOLEAN)
    return all(frame.kind(column) in numeric and not frame.has_gaps(column) for column in columns)


def _check_length(n_samples: int, least: int, estimator_name: str) -> None:
    if n_samples < least:
        raise ValueError(
            f"Found {n_samples} sample(s), but {estimator_name} requires at least {least}"
        )


def describe_non_finite(
    values: np.ndarray,
    first_row: int,
    layout: ArrayLayout,
    names: list[str] | None,
    describe_row: Callable[[int], str] = "row {}".format,
) -> str | None:
    """Say where the first NaN or infinity in a chunk is; None if there is none.

    Examples
    --------
    >>> table = ArrayLayout("table", "tables", ("columns",), "column")
    >>> describe_non_finite(np.array([[0.0, np.nan]]), 7, table, ["age", "pay"])
    "NaN (a missing value) in row 7, column 'pay'"
    """
    if values.dtype.kind != "f":
        return None
    # A sum is finite only if all terms are; if it overflows, the exact test settles it.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return None
    gaps = ~np.isfinite(values)
    if not gaps.any():
        return None
    row, unit, *rest = (int(i) for i in np.argwhere(gaps)[0])
    value = values[(row, unit, *rest)]
    label = repr(names[unit]) if names is not None and len(layout.axes) == 1 else str(unit)
    where = "".join(f", {axis} {i}" for axis, i in zip(layout.axes[1:], rest, strict=True))
    kind = "NaN (a missing value)" if np.isnan(value) else "an infinity (inf)"
    return f"{kind} in {describe_row(first_row + row)}, {layout.unit} {label}{where}"


def _read_parts(
    X: Mapping[Any, Any],
    min_samples: int,
    estimator_name: str,
    modality: str | Mapping[str, str],
) -> RawData:
    """Read a dict; a value must be what an estimator would take by itself."""
    if not X:
        raise ValueError("X is a dict without parts")
    if isinstance(modality, str) and modality != "auto":
        raise ValueError(
            f"X is a dict of several parts, but modality={modality!r} is one for all: leave it at "
            f"'auto', or name those of parts, such as modality={{{next(iter(X))!r}: {modality!r}}}"
        )
    chosen = {} if isinstance(modality, str) else modality
    if unknown := [name for name in chosen if name not in X]:
        raise ValueError(f"modality names the part {unknown[0]!r}, which X does not have")
    parts = {}
    for name, part in X.items():
        if not isinstance(name, str):
            raise ValueError(f"the names of the parts of X must be text, but one is {name!r}")
        with naming_part(name):
            if is_parts(part):
                raise ValueError("it is a dict; parts cannot have parts")
            if _is_column(part):
                raise ValueError(
                    "it is a single column of numbers, but a dict is several kinds of data, each "
                    "with a sample per row: pass pandas.DataFrame(X) if X is a table, or an array "
                    "of shape (n, 1)"
                )
            parts[name] = read(
                part,
                min_samples=min_samples,
                estimator_name=estimator_name,
                modality=chosen.get(name, "auto"),
            )
    return RawData(PartsSource(parts))


def _is_column(part: Any) -> bool:
    """Whether a part is numbers along one axis: a column of a table, but no kind of data."""
    if isinstance(part, (list, tuple)):
        return bool(len(part)) and isinstance(part[0], (bool, int, float, np.number))
    if is_frame(part) or isinstance(part, (str, torch.utils.data.Dataset, Source)):
        return False
    return len(getattr(part, "shape", (0, 0))) == 1 and as_texts(part) is None


def _to_array(X: Any, min_samples: int, estimator_name: str) -> np.ndarray:
    if isinstance(X, torch.Tensor):
        X = tensor_to_array(X)
    _check_holds_numbers(X)
    return check_array(
        X,
        dtype="numeric",
        allow_nd=True,
        ensure_all_finite=False,
        ensure_min_samples=min_samples,
        ensure_min_features=1,
        estimator=estimator_name,
        input_name="X",
    )


def _check_holds_numbers(X: Any) -> None:
    """Raise ValueError for arrays of dates, and of objects some of which are text."""
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype) or getattr(X, "ndim", 0) != 2:
        return
    advice = "pass a data frame, such as pandas.DataFrame(X), whose columns may be text or dates"
    if dtype.kind in "mM":
        raise ValueError(f"X is an array of {dtype} values, not of numbers: {advice}")
    if dtype.kind not in "OU":
        return
    for (row, column), value in np.ndenumerate(X):
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                place = f"row {row}, column {column}: {str(value)!r:.40}"
                raise ValueError(f"X is an array that holds text ({place}): {advice}") from None


def _column_names(X: Any) -> list[str] | None:
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    return [str(name) for name in X.columns]


_ENCODE = "encode it first (for example with scikit-learn's OneHotEncoder) or drop it"


def _check_numeric_columns(frame: Any, names: list[str]) -> None:
    for position, name in enumerate(names):
        column = (
            frame.iloc[:, position] if hasattr(frame, "iloc") else frame.get_columns()[position]
        )
        kind = str(column.dtype).lower()
        if not any(known in kind for known in ("int", "float", "bool", "decimal", "object")):
            raise ValueError(
                f"column {name!r} holds {column.dtype} values; only numeric columns can be read: "
                f"{_ENCODE}"
            )
        if kind == "object":
            _check_no_text(column, name)


def _check_no_text(column: Any, name: str) -> None:
    for row, value in enumerate(column):
        if isinstance(value, (str, bytes)):
            raise ValueError(
                f"column {name!r} holds text (row {row}: {value!r}); only numeric columns can be "
                f"read: {_ENCODE}"
            )
