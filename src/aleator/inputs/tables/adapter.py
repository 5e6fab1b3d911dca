"""The input adapter of tables whose columns are of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np

from aleator.inputs.adapter_base import Adapter, ColumnRecord, check_preprocessing
from aleator.inputs.frames import Frame, as_frame, is_frame
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.reading import RawData, read_numbers
from aleator.inputs.scale import read_scale
from aleator.inputs.sources import evenly_spaced
from aleator.inputs.table_files import TableFiles
from aleator.inputs.table_source import TableSource
from aleator.inputs.tables.adapted import AdaptedTable
from aleator.inputs.tables.adapted_files import AdaptedTableFiles
from aleator.inputs.tables.column import TableColumn
from aleator.inputs.tables.learning import choose_encoders
from aleator.inputs.tables.ngrams import NGrams
from aleator.inputs.tables.printing import format_columns
from aleator.inputs.tables.values import Place

# Kinds, categories, medians and directions are learned from so many rows at most, evenly spaced.
# Means and standard deviations are those of all rows.
_MOST_ROWS = 1 << 17


class TableAdapter(Adapter):
    """Converts tables of numbers, text, categories, dates and gaps to standardized features.

    Columns are found by their names; new data may have them in another order, and further ones.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the converted samples.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.

    Attributes
    ----------
    columns : list of TableColumn
        How every column is converted.
    scale : dict of str to ndarray
        Mean and standard deviation ("mean", "deviation") of every feature; empty if they are not
        standardized.

    Examples
    --------
    >>> import pandas as pd
    >>> from aleator.inputs.reading import read
    >>> layout = ArrayLayout("table", "tables", ("columns",), "column", mixed_columns=True)
    >>> frame = pd.DataFrame({"age": [30, None, 50], "alive": [True, False, True]})
    >>> adapter = TableAdapter(layout).fit(read(frame), None)
    >>> adapter.transform(frame).tolist()
    [[30.0, 0.0, 1.0], [40.0, 1.0, 0.0], [50.0, 0.0, 1.0]]
    >>> print(adapter)
    column  kind     missing  features  treatment
    age     number   33.3 %          2  number; gaps have the median, and a feature of their own
    alive   boolean                  1  number
    """

    form: ClassVar[str] = "table"

    def __init__(self, layout: ArrayLayout, estimator_name: str = "the estimator") -> None:
        self.layout = layout
        self.estimator_name = estimator_name
        self.columns: list[TableColumn] = []
        self.scale: dict[str, np.ndarray] = {}
        self._named = True

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of features."""
        return (sum(column.n_outputs for column in self.columns),)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def column_blocks(self) -> list[slice]:
        """Where the features of every column are."""
        return [
            slice(stop - column.n_outputs, stop)
            for column, stop in zip(self.columns, self._stops, strict=True)
            if column.n_outputs
        ]

    @property
    def columns_(self) -> list[ColumnRecord]:
        """What is done with every column."""
        return [column.record for column in self.columns]

    def __repr__(self) -> str:
        return format_columns(self.columns_)

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn what becomes of every column."""
        check_preprocessing(preprocessing)
        self._named = data.feature_names is not None
        index = evenly_spaced(len(data.source), _MOST_ROWS)
        place: Place = lambda row: data.source.describe_row(int(index[row]))  # noqa: E731
        sample = rows_at(data, index)
        encoders = choose_encoders(sample)
        self.columns = [
            TableColumn.learn(sample, column, encoder, place)
            for column, encoder in enumerate(encoders)
        ]
        if self.shape == (0,):
            raise ValueError(
                "all rows of X are equal: every column is constant, or has no values at all"
            )
        self.scale = {}
        scale = self._scale_of(self.adapt(data), standardize=preprocessing == "auto")
        self.scale = scale
        return self

    def adapt(self, data: RawData) -> AdaptedTable | AdaptedTableFiles:
        """Return a source of converted rows; nothing is converted yet."""
        if isinstance(data.source, TableFiles):
            return AdaptedTableFiles(data.source, self)
        return AdaptedTable(data, self)

    def read(self, X: Any) -> AdaptedTable | AdaptedTableFiles:
        """Read new data and return a source of converted rows."""
        names = [column.name for column in self.columns]
        X = open_source(X, names if self._named else None)
        if not is_frame(X):
            data = read_numbers(X, estimator_name=self.estimator_name)
        else:
            frame = as_frame(X)
            if self._named:
                frame.check_names()
                frame = frame.select(frame.find(names))
            data = RawData(TableSource(frame), names)
        width = data.shape[1] if len(data.shape) == 2 else 0
        if width != len(names):
            raise ValueError(
                f"X has {width} features, but {self.estimator_name} is expecting {len(names)} "
                "features as input"
                if width
                else f"X has the shape {data.shape}, but {self.estimator_name} is expecting a table"
            )
        return self.adapt(data)

    def convert(self, batch: Any, place: Place) -> np.ndarray:
        """Convert rows to features, standardized if the training data were.

        Parameters
        ----------
        batch : Frame or ndarray of shape (m, n_columns)
            Rows.
        place : callable
            How messages name a row.

        Returns
        -------
        ndarray of shape (m, *shape), float64
        """
        frame = batch if isinstance(batch, Frame) else self._frame_of(batch)
        features = np.empty((len(frame), *self.shape))
        start = 0
        for position, column in enumerate(self.columns):
            if column.n_outputs:
                stop = start + column.n_outputs
                features[:, start:stop] = column.encode(frame, position, place)
                start = stop
        if self.scale:
            features -= self.scale["mean"]
            features /= self.scale["deviation"]
        return features

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {
            "form": self.form,
            "modality": self.modality,
            "named": self._named,
            "columns": [column.to_dict() for column in self.columns],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Scale, and what was learned of every column."""
        found = {f"scale/{name}": array for name, array in self.scale.items()}
        for position, column in enumerate(self.columns):
            found |= {f"{position}/{name}": array for name, array in column.arrays().items()}
        # The oldest safetensors that is supported cannot read empty arrays.
        return {name: array for name, array in found.items() if array.size}

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned; ValueError if it cannot be."""
        made = cls(layout, estimator_name)
        if not isinstance(stored["named"], bool) or not isinstance(stored["columns"], list):
            raise ValueError("the columns of the table are missing")
        made._named = stored["named"]
        groups: dict[str, dict[str, np.ndarray]] = {}
        for name, array in arrays.items():
            group, _, rest = name.partition("/")
            groups.setdefault(group, {})[rest] = array
        made.columns = [
            TableColumn.from_saved(column, groups.get(str(position), {}))
            for position, column in enumerate(stored["columns"])
        ]
        if not made.shape[0] or len({column.name for column in made.columns}) != made.n_features:
            raise ValueError("the table has no features, or a column twice")
        made.scale = read_scale(groups.get("scale", {}), made.shape)
        return made

    @property
    def _stops(self) -> list[int]:
        """Position after the last feature of every column."""
        return list(accumulate(column.n_outputs for column in self.columns))

    def _frame_of(self, values: np.ndarray) -> Frame:
        return as_frame(values, [column.name for column in self.columns])

    def _scale_of(
        self, source: AdaptedTable | AdaptedTableFiles, *, standardize: bool
    ) -> dict[str, np.ndarray]:
        """One pass over all rows, which also checks their values."""
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler()
        for features in source.features():
            scaler.partial_fit(features)
        if not standardize:
            return {}
        deviation = scaler.scale_.copy()
        for column, stop in zip(self.columns, self._stops, strict=True):
            # The directions of text are of unequal weight; the last ones are noise.
            if isinstance(column.encoder, NGrams) and column.n_outputs:
                block = slice(stop - column.n_outputs, stop - column.gaps)
                deviation[block] = deviation[block].max()
        return {"mean": scaler.mean_, "deviation": deviation}


def rows_at(data: RawData, index: np.ndarray) -> Frame:
    """Return rows of a source, at sorted positions, as a frame."""
    if isinstance(data.source, TableFiles):
        return data.source.frame_at(index)
    rows = data.source.gather(index)
    return rows if isinstance(rows, Frame) else as_frame(rows, data.feature_names)
