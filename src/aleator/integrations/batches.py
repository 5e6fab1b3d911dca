"""What all engines share: which columns a model reads, and the embedding of a batch of rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aleator.estimators.kept_columns import check_keep, check_names_differ
from aleator.inputs.arrow_values import import_pyarrow
from aleator.integrations.worker_model import WorkerModel


@dataclass(frozen=True)
class BatchEmbedder:
    """Embeds batches of rows with a saved model; it is sent to workers, the model is not.

    Parameters
    ----------
    model : WorkerModel
        The model.
    columns : str, tuple of str or None
        Columns of the features, or the one column that holds whole samples; None is all columns
        that are not kept.
    keep : tuple of str
        Columns that are copied beside the embedding.
    names : tuple of str
        Names of the columns of the embedding.
    named : bool
        Whether the model was trained on columns with names.
    modality : str
        Kind of data of the model.
    """

    model: WorkerModel
    columns: str | tuple[str, ...] | None
    keep: tuple[str, ...]
    names: tuple[str, ...]
    named: bool
    modality: str

    @classmethod
    def prepare(
        cls,
        model: str | os.PathLike[str],
        columns: Sequence[str] | None,
        keep: Sequence[str],
        known: Sequence[str] | None,
    ) -> BatchEmbedder:
        """Read which columns a saved model needs and makes, and check that the data have them.

        Parameters
        ----------
        model : str or path-like
            Folder of the model.
        columns : str, sequence of str or None
            What the user chose.
        keep : sequence of str
            Columns that are copied.
        known : sequence of str or None
            All columns of the data; None if they are not known yet.

        Returns
        -------
        BatchEmbedder
        """
        saved = WorkerModel.saved_in(model)
        fitted = saved.get()
        features = getattr(fitted, "feature_names_in_", None)
        if features is not None and columns is not None:
            raise ValueError(
                "the model finds its columns by the names that they had in fit: leave out columns="
            )
        if features is not None:
            columns = tuple(str(name) for name in features)
        elif columns is not None and not isinstance(columns, str):
            columns = tuple(columns)
        check_keep(keep, keep)
        names = tuple(str(name) for name in fitted.get_feature_names_out())
        check_names_differ(keep, names)
        modality = fitted.adapter_.modality
        made = cls(saved, columns, tuple(keep), names, features is not None, modality)
        if known is not None:
            made.check_columns(known)
        return made

    @property
    def needed(self) -> list[str] | None:
        """The columns that are read, each once; None is all."""
        if self.columns is None:
            return None
        features = [self.columns] if isinstance(self.columns, str) else self.columns
        return list(dict.fromkeys([*self.keep, *features]))

    def check_columns(self, known: Sequence[str]) -> None:
        """Raise ValueError if a column is missing or is there twice."""
        known = [str(name) for name in known]
        check_keep(self.keep, known)
        for name in self.needed or ():
            if known.count(name) != 1:
                have = ", ".join(map(repr, known[:20])) + (", …" if len(known) > 20 else "")
                raise ValueError(
                    f"the model needs the column {name!r}, but there is none, or more than one; "
                    f"the data have {have}"
                )

    def embed_table(self, table: Any) -> Any:
        """Return the kept columns and the embedding of a pyarrow Table as another."""
        pa = import_pyarrow()
        self.check_columns(table.column_names)
        kept = table.select(list(self.keep))
        if isinstance(self.columns, str):
            X = self._samples_in_arrow(table.column(self.columns))
        else:
            X = self._values(table.select(self._features_of(table.column_names)))
        arrays = [pa.array(column) for column in np.ascontiguousarray(self._embed(X).T)]
        return pa.table([*kept.columns, *arrays], names=[*self.keep, *self.names])

    def embed_frame(self, frame: Any) -> Any:
        """Return the kept columns and the embedding of a pandas DataFrame as another."""
        import pandas as pd

        self.check_columns(frame.columns)
        if isinstance(self.columns, str):
            X = self._samples(frame[self.columns])
        else:
            X = self._values(frame[self._features_of(frame.columns)])
        embedded = pd.DataFrame(self._embed(X), index=frame.index, columns=list(self.names))
        return pd.concat([frame[list(self.keep)], embedded], axis=1) if self.keep else embedded

    def _features_of(self, known: Iterable[Any]) -> list[Any]:
        if self.columns is None:
            return [name for name in known if name not in self.keep]
        return list(self.columns)

    def _values(self, features: Any) -> Any:
        """Return a frame as it is, or as an array if the model was trained on one."""
        if self.named:
            return features
        columns = [np.asarray(features[name]) for name in _names_of(features)]
        return np.column_stack(columns) if columns else features

    def _samples_in_arrow(self, column: Any) -> Any:
        """Return a column of tensors or nested lists as samples."""
        if len(column) == 0:
            return []
        array = column.combine_chunks()
        if hasattr(array, "to_numpy_ndarray"):  # a type for tensors of one shape
            return array.to_numpy_ndarray()
        return self._samples(column.to_pandas())

    def _samples(self, cells: Iterable[Any]) -> Any:
        """Return samples, each an array or nested lists: one array, or a list if they differ."""
        samples = [_dense(cell) for cell in cells]
        if samples and samples[0].dtype.kind == "U" and self.modality != "text":
            raise ValueError(
                f"column {self.columns!r} holds text, but the model was fitted on {self.modality} "
                "data; Dask makes text of lists, unless "
                "dask.config.set({'dataframe.convert-string': False})"
            )
        if self.modality == "irregular-series" or not samples:
            return samples
        for row, sample in enumerate(samples):
            if sample.shape != samples[0].shape:
                raise ValueError(
                    f"column {self.columns!r} has samples of different shapes: {samples[0].shape} "
                    f"in row 0, {sample.shape} in row {row}"
                )
        return np.stack(samples)

    def _embed(self, X: Any) -> np.ndarray:
        if len(X) == 0:
            return np.empty((0, len(self.names)), np.float32)
        return np.asarray(self.model.get().transform(X))


def _names_of(features: Any) -> list[str]:
    """Names of the columns of a pandas DataFrame or a pyarrow Table."""
    return list(getattr(features, "column_names", None) or features.columns)


def _dense(cell: Any) -> np.ndarray:
    array = np.asarray(cell)
    # Arrow gives nested lists as arrays of arrays.
    return np.stack([_dense(part) for part in array]) if array.dtype == object else array
