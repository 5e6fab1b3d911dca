"""The input adapter of arrays of numbers: their shape and their scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from aleator.exceptions import MissingValuesError
from aleator.inputs.adapted import AdaptedSource
from aleator.inputs.adapter_base import Adapter, ColumnRecord, check_preprocessing
from aleator.inputs.images.channels import ChannelsFirst
from aleator.inputs.images.decoding import has_channels_last
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.reading import RawData, read_numbers
from aleator.inputs.scale import read_scale
from aleator.inputs.series.source import SeriesSource, as_series
from aleator.inputs.sources import evenly_spaced
from aleator.inputs.tables.one_hot import one_hot_groups, read_groups
from aleator.inputs.tables.printing import format_columns

# Rows in which columns are looked for that are indicators of one category.
_ROWS_FOR_GROUPS = 1024


@dataclass(repr=False)
class InputAdapter(Adapter):
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
    names : list of str or None, default=None
        Names of the columns of a table that has them; set by `fit`.
    channels_last : bool, default=False
        Whether the last axis of the training data was taken for channels; set by `fit`.
    one_hot : list of slice, default=[]
        Columns of a table that are the indicators of one category together; set by `fit`.

    Examples
    --------
    >>> table = ArrayLayout("table", "tables", ("columns",), "column")
    >>> adapter = InputAdapter(table).fit(read_numbers([[0, 10], [2, 10]]))
    >>> adapter.transform([[1, 10], [2, 10]]).tolist()  # a constant column becomes zero
    [[0.0, 0.0], [1.0, 0.0]]
    """

    form: ClassVar[str] = "array"

    layout: ArrayLayout
    estimator_name: str = "the estimator"
    shape: tuple[int, ...] = ()
    scale: dict[str, np.ndarray] = field(default_factory=dict)
    lacks_channels: bool = False
    names: list[str] | None = None
    channels_last: bool = False
    one_hot: list[slice] = field(default_factory=list)

    def __repr__(self) -> str:
        if self.columns_:
            return format_columns(self.columns_)
        sizes = " × ".join(map(str, self.shape))
        treatment = "standardized" if self.scale else "as they are"
        return f"{self.layout.plural}: {sizes} values, {treatment}"

    @property
    def n_features(self) -> int:
        """Length of the first axis of a sample as it was given: columns, or mostly channels."""
        return self.shape[1 if self.lacks_channels else 0]

    @property
    def columns_(self) -> list[ColumnRecord]:
        """What is done with every column of a table; empty for other data."""
        if not self.layout.mixed_columns:
            return []
        names = self.names or [str(position) for position in range(self.shape[0])]
        treatment = "standardized" if self.scale else "as it is"
        records = [ColumnRecord(name, "number", treatment, 1) for name in names]
        for group in self.one_hot:
            of_category = f"{treatment}, an indicator of a category of {group.stop - group.start}"
            for position in range(group.start, group.stop):
                records[position] = replace(records[position], treatment=of_category)
        return records

    @property
    def column_blocks(self) -> list[slice]:
        """Where the features of every column are if some are indicators of a category."""
        if not self.one_hot:
            return []
        within = {position for group in self.one_hot for position in range(group.start, group.stop)}
        alone = [slice(k, k + 1) for k in range(self.shape[0]) if k not in within]
        return sorted([*alone, *self.one_hot], key=lambda block: block.start)

    def facts(self) -> dict[str, str]:
        """Return the lengths of series, or what was assumed about the axes of images."""
        if self.layout.axes == ("channels", "time"):
            channels, steps = self.shape
            of = f" of {channels} channels" if channels > 1 else ""
            return {"lengths": f"all {steps} time steps{of}"}
        if not self.layout.finds_channels:
            return {}
        if self.lacks_channels:
            return {"axes": "height and width; images are gray"}
        names = ["height", "width", "channels"] if self.channels_last else list(self.layout.axes)
        count = f"{self.shape[0]} channel{'s' if self.shape[0] > 1 else ''}"
        return {"axes": f"{names[0]}, {names[1]} and {names[2]}; images have {count}"}

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn the shape and the scale of the training data, and check their values."""
        check_preprocessing(preprocessing)
        given, data = data, self._with_channels_first(data)
        self.channels_last = given is not data
        self.names = data.feature_names
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
        """Return a source of converted samples; nothing is converted yet."""
        data = self._with_channels_first(data)
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
        """Read new data and return a source of converted samples."""
        X = open_source(X)
        series = None if self.layout.with_gaps is None else as_series(X)
        if isinstance(series, SeriesSource) and len({*series.lengths}) == 1:
            X = np.stack([*series.gather(np.arange(len(series)))])
        elif series is not None:
            raise ValueError(
                f"{self.estimator_name} was fitted on {self.layout.plural} of one length without "
                "gaps, but those of X have different lengths or times: fit it with modality="
                f"{self.layout.with_gaps.name!r}"  # type: ignore[union-attr]
            )
        return self.adapt(read_numbers(X, estimator_name=self.estimator_name))

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
            "one_hot": [[group.start, group.stop] for group in self.one_hot],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the scale."""
        return self.scale

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned; ValueError if it cannot be."""
        shape, lacks_channels = stored["shape"], stored["lacks_channels"]
        whole = isinstance(shape, list) and all(type(size) is int and size > 0 for size in shape)
        if not whole or len(shape) != len(layout.axes) or not isinstance(lacks_channels, bool):
            raise ValueError(f"the shape of the {layout.plural} is wrong")
        scale = read_scale(arrays, (shape[0],) + (1,) * (len(shape) - 1))
        made = cls(layout, estimator_name, tuple(shape), scale, lacks_channels)
        made.one_hot = read_groups(
            stored.get("one_hot", []), shape[0] if layout.mixed_columns else 0
        )
        return made

    def check_chunk(
        self, values: np.ndarray, converted: np.ndarray, first_row: int, data: RawData
    ) -> None:
        """Raise ValueError at the first value that is missing, infinite or beyond float32."""
        if (problem := self._describe_problem(values, converted, first_row, data)) is not None:
            raise ValueError(f"X contains {problem}. {self._advice}")

    @property
    def _advice(self) -> str:
        if self.layout.with_gaps is None:
            return _ADVICE
        return f"{_ADVICE}, or fit with modality={self.layout.with_gaps.name!r}, which masks them"

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

    def _with_channels_first(self, data: RawData) -> RawData:
        """Move the channels of images to where networks expect them, when they are read."""
        shape = data.shape[1:]
        if not self.layout.finds_channels or len(shape) != 3 or not has_channels_last(shape):
            return data
        return RawData(ChannelsFirst(data.source), data.feature_names)

    def _scan(self, data: RawData, *, standardize: bool) -> None:
        """One pass over the training data: values are checked, and their scale is computed."""
        scaler = _make_scaler() if standardize else None
        may_overflow = (
            data.source.schema.dtype.kind == "f" and data.source.schema.dtype.itemsize > 4
        )
        problem, rows_with_gaps, start = None, 0, 0
        infinite = False
        few = evenly_spaced(len(data.source), _ROWS_FOR_GROUPS)
        kept: list[np.ndarray] = []
        for chunk in data.source.chunks():
            values = chunk.reshape(len(chunk), *self.shape)
            if self.layout.mixed_columns:
                kept.append(values[few[(few >= start) & (few < start + len(values))] - start])
            found = data.describe_non_finite(values, start, self.layout)
            if found is not None:
                problem = problem or found
                infinite |= bool(np.isinf(values).any())
                rows_with_gaps += int((~np.isfinite(values)).reshape(len(values), -1).any(1).sum())
            elif problem is None and scaler is not None:
                with np.errstate(over="ignore", invalid="ignore"):  # is checked in the end
                    scaler.partial_fit(np.moveaxis(values, 1, -1).reshape(-1, self.shape[0]))
            elif problem is None and may_overflow:
                self._describe_problem(chunk, self.convert(chunk), start, data)
            start += len(chunk)
        if problem is not None:
            error = ValueError if infinite else MissingValuesError
            raise error(
                f"X contains {problem}; {rows_with_gaps} of {len(data.source)} rows have NaN or "
                f"inf. {self._advice}"
            )
        if kept:
            self.one_hot = one_hot_groups(np.concatenate(kept))
        if scaler is not None:
            self.scale = self._scale_of(scaler)

    def _scale_of(self, scaler: Any) -> dict[str, np.ndarray]:
        """Mean and standard deviation of every channel or column; ValueError at an overflow."""
        for unit in np.flatnonzero(~np.isfinite(scaler.mean_ + scaler.scale_))[:1].tolist():
            label = repr(self.names[unit]) if self.names is not None else str(unit)
            raise ValueError(
                f"X contains values in {self.layout.unit} {label} that are too large to be "
                "standardized: rescale them"
            )
        trailing = (1,) * (len(self.shape) - 1)
        return {
            "mean": scaler.mean_.reshape(-1, *trailing),
            "deviation": scaler.scale_.reshape(-1, *trailing),
        }


def _make_scaler() -> Any:
    # Half a second to import, which data that are not standardized need not wait for.
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


_ADVICE = "Impute missing values first (for example with scikit-learn's SimpleImputer) or drop them"
