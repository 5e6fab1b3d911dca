"""The input adapter: what was learned from the training data to treat new data alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from aleator.inputs.layout import ArrayLayout
from aleator.inputs.reading import RawData, read
from aleator.inputs.sources import ArraySource, Schema, Source

PREPROCESSING = ("auto", None)


@dataclass
class InputAdapter:
    """Converts data of one modality and shape to float32, standardized as the training data.

    Values are converted when they are read, chunk by chunk or batch by batch, so that the data are
    never copied as a whole.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the data.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.
    shape : tuple of int, default=()
        Shape of a sample; set by `fit`.
    scale : dict of str to ndarray, default={}
        Mean and standard deviation ("mean", "deviation") of every column or channel; set by `fit`,
        empty if values are not standardized.
    lacks_channels : bool, default=False
        Whether the training data had no channel axis; set by `fit`.

    Examples
    --------
    >>> table = ArrayLayout("table", "tables", ("columns",), "column")
    >>> adapter = InputAdapter(table).fit(read([[0, 10], [2, 10]]))
    >>> adapter.transform([[1, 10], [2, 10]]).tolist()  # a constant column becomes zero
    [[0.0, 0.0], [1.0, 0.0]]
    """

    layout: ArrayLayout
    estimator_name: str = "the estimator"
    shape: tuple[int, ...] = ()
    scale: dict[str, np.ndarray] = field(default_factory=dict)
    lacks_channels: bool = False

    @property
    def modality(self) -> str:
        """Name of the kind of data."""
        return self.layout.name

    @property
    def n_features(self) -> int:
        """Length of the first axis of a sample as it was given: columns, or mostly channels."""
        return self.shape[1 if self.lacks_channels else 0]

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn the shape and the scale of the training data, and check their values.

        Parameters
        ----------
        data : RawData
            Training data.
        preprocessing : {"auto", None}, default="auto"
            "auto" standardizes every column or channel; None leaves values as they are.

        Returns
        -------
        InputAdapter
        """
        if preprocessing not in PREPROCESSING:
            raise ValueError(f"preprocessing must be 'auto' or None, got {preprocessing!r}")
        self.shape = self.layout.sample_shape(data.shape)
        self.lacks_channels = len(data.shape) < self.layout.rank
        for axis, size in zip(self.layout.axes, self.shape, strict=True):
            if size == 0:
                raise ValueError(
                    f"Found array with 0 feature(s): X has the shape {data.shape} and no {axis}"
                )
        self._scan(data, standardize=preprocessing == "auto")
        return self

    def adapt(self, data: RawData) -> AdaptedSource:
        """Return a source of converted samples; nothing is converted yet.

        Parameters
        ----------
        data : RawData
            Samples of the shape of the training data.

        Returns
        -------
        AdaptedSource
        """
        shape = self.layout.sample_shape(data.shape)
        for axis, size, expected in zip(self.layout.axes, shape, self.shape, strict=True):
            if size != expected:
                without_channels = len(data.shape) < self.layout.rank and len(self.shape) == 2
                unit = "features" if without_channels else self.layout.describe_size(axis)
                raise ValueError(
                    f"X has {size} {unit}, but {self.estimator_name} is expecting {expected} "
                    f"{unit} as input"
                )
        return AdaptedSource(data, self)

    def read(self, X: Any) -> AdaptedSource:
        """Read new data and return a source of converted samples.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset or Source
            Samples of the shape of the training data.

        Returns
        -------
        AdaptedSource
        """
        return self.adapt(read(X, estimator_name=self.estimator_name))

    def transform(self, X: Any) -> np.ndarray:
        """Convert new data as a whole.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset or Source
            Samples of the shape of the training data.

        Returns
        -------
        ndarray of shape (n_samples, *shape), float32
        """
        return self.read(X).materialize()

    def convert(self, values: np.ndarray) -> np.ndarray:
        """Convert raw samples to float32 with all axes.

        Parameters
        ----------
        values : ndarray of shape (m, ...)
            Raw samples.

        Returns
        -------
        ndarray of shape (m, *shape), float32
        """
        values = values.reshape(len(values), *self.shape)
        if self.scale:  # in double precision, since a large mean would cost digits
            values = (values - self.scale["mean"]) / self.scale["deviation"]
        with np.errstate(over="ignore"):
            return values.astype(np.float32, copy=not values.flags.writeable)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays of `scale`, as JSON values."""
        return {
            "modality": self.modality,
            "shape": list(self.shape),
            "lacks_channels": self.lacks_channels,
        }

    def check_chunk(
        self, values: np.ndarray, converted: np.ndarray, first_row: int, data: RawData
    ) -> None:
        """Raise ValueError at the first value that is missing, infinite or beyond float32."""
        if (problem := self._describe_problem(values, converted, first_row, data)) is not None:
            raise ValueError(f"X contains {problem}. {_ADVICE}")

    def _describe_problem(
        self, values: np.ndarray, converted: np.ndarray, first_row: int, data: RawData
    ) -> str | None:
        raw = values.reshape(len(values), *self.shape)
        problem = data.describe_non_finite(raw, first_row, self.layout)
        if problem is None:
            problem = data.describe_non_finite(converted, first_row, self.layout)
            if problem is not None:
                place = problem.partition(" in ")[2]
                raise ValueError(
                    f"X contains a value in {place} that is too large for float32: rescale it"
                )
        return problem

    def _scan(self, data: RawData, *, standardize: bool) -> None:
        """One pass over the training data: values are checked, and their scale is computed."""
        scaler = _make_scaler() if standardize else None
        may_overflow = (
            data.source.schema.dtype.kind == "f" and data.source.schema.dtype.itemsize > 4
        )
        problem, rows_with_gaps, start = None, 0, 0
        for chunk in data.source.chunks():
            values = chunk.reshape(len(chunk), *self.shape)
            found = data.describe_non_finite(values, start, self.layout)
            if found is not None:
                problem = problem or found
                rows_with_gaps += int((~np.isfinite(values)).reshape(len(values), -1).any(1).sum())
            elif problem is None and scaler is not None:
                scaler.partial_fit(np.moveaxis(values, 1, -1).reshape(-1, self.shape[0]))
            elif problem is None and may_overflow:
                self._describe_problem(chunk, self.convert(chunk), start, data)
            start += len(chunk)
        if problem is not None:
            raise ValueError(
                f"X contains {problem}; {rows_with_gaps} of {len(data.source)} rows have NaN or "
                f"inf. {_ADVICE}"
            )
        if scaler is not None:
            trailing = (1,) * (len(self.shape) - 1)
            self.scale = {
                "mean": scaler.mean_.reshape(-1, *trailing),
                "deviation": scaler.scale_.reshape(-1, *trailing),
            }


def _make_scaler() -> Any:
    # Half a second to import, which data that are not standardized need not wait for.
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


_ADVICE = "Impute missing values first (for example with scikit-learn's SimpleImputer) or drop them"


class AdaptedSource(Source):
    """Samples of another source, converted by an adapter whenever they are read.

    Parameters
    ----------
    data : RawData
        The samples as they were given.
    adapter : InputAdapter
        How to convert them.
    """

    def __init__(self, data: RawData, adapter: InputAdapter) -> None:
        self._data = data
        self._adapter = adapter
        self.feature_names = data.feature_names
        self.schema = Schema(adapter.shape, np.dtype(np.float32))
        self.in_memory = data.source.in_memory

    @property
    def raw(self) -> Source:
        """The samples as they were given."""
        return self._data.source

    def __len__(self) -> int:
        return len(self._data.source)

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the converted samples at `index`, in that order."""
        return self._adapter.convert(self._data.source.gather(index))

    def chunks(
        self, rows: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[np.ndarray]:
        """Yield samples in order, converted and checked."""
        for chunk in self._data.source.chunks(rows, start, stop):
            converted = self._adapter.convert(chunk)
            self._adapter.check_chunk(chunk, converted, start, self._data)
            yield converted
            start += len(chunk)

    def in_order(self, order: np.ndarray) -> AdaptedSource:
        """Return a source for reading the samples at `order` once, in this order."""
        source = self._data.source.in_order(order)
        return AdaptedSource(RawData(source, self._data.feature_names), self._adapter)

    def part(self, pieces: np.ndarray) -> AdaptedSource:
        """Return the samples of some of the pieces that the files are read in."""
        part = self._data.source.part(pieces)
        return AdaptedSource(RawData(part, self._data.feature_names), self._adapter)

    def as_array(self) -> np.ndarray | None:
        """Return the array behind the source if its values need no conversion, else None."""
        source = self._data.source
        if not isinstance(source, ArraySource) or not source.in_memory or self._adapter.scale:
            return None
        array = source.array
        if array.dtype != np.float32 or not array.flags.c_contiguous or not array.flags.writeable:
            return None
        return array.reshape(len(array), *self.schema.shape)

    def materialize(self) -> np.ndarray:
        """Return all samples as one array; a copy unless they need no conversion."""
        whole = self.as_array()
        shared = whole is not None
        if whole is None:
            whole = np.empty((len(self), *self.schema.shape), np.float32)
        start = 0
        for chunk in self.chunks():  # which also checks the values
            if not shared:
                whole[start : start + len(chunk)] = chunk
            start += len(chunk)
        return whole
