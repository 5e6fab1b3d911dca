"""What all input adapters have in common.

An adapter is what was learned from the training data in order to treat new data alike. There is
one class per form of data: `InputAdapter` for arrays of numbers, `TableAdapter` for tables of
columns of any kind. A new form of data is a class with the methods below, which is entered in
`aleator.inputs.adapters`; estimators, saved models and `aleator.describe` know nothing else of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from aleator.inputs.layout import ArrayLayout
from aleator.inputs.reading import RawData
from aleator.inputs.sources import Schema, Source

PREPROCESSING = ("auto", None)


class AdapterSource(Source):
    """Samples that an adapter converts; what estimators read."""

    @property
    @abstractmethod
    def raw(self) -> Source:
        """The samples as they were given, or pieces of them."""

    @property
    def in_pieces(self) -> Source:
        """The source whose pieces decide in which order training reads, if there are pieces."""
        return self.raw

    @property
    @abstractmethod
    def can_be_shared(self) -> bool:
        """Whether `as_array` has an array of all samples for the training to use."""

    def filled_up(self, shape: tuple[int, ...]) -> AdapterSource | None:
        """Return samples that are filled up to a larger shape, if they are such that may be.

        Parameters
        ----------
        shape : tuple of int
            Shape of a sample.

        Returns
        -------
        AdapterSource or None
        """
        return None

    def materialize(self) -> np.ndarray:
        """Return all samples as one array; a copy unless they need no conversion."""
        whole = np.empty((len(self), *self.schema.shape), np.float32)
        start = 0
        for chunk in self.chunks():  # which also checks the values
            whole[start : start + len(chunk)] = chunk
            start += len(chunk)
        return whole


class ConvertedSource(AdapterSource):
    """Samples of one source, converted by an adapter whenever they are read.

    Parameters
    ----------
    data : RawData
        The samples as they were given.
    shape : tuple of int
        Shape of a converted sample.
    """

    def __init__(self, data: RawData, shape: tuple[int, ...]) -> None:
        self._data = data
        self.feature_names = data.feature_names
        self.schema = Schema(shape, np.dtype(np.float32))
        self.in_memory = data.source.in_memory

    @property
    def raw(self) -> Source:
        """The samples as they were given."""
        return self._data.source

    def __len__(self) -> int:
        return len(self._data.source)


@dataclass(frozen=True)
class ColumnRecord:
    """What an adapter does with a column of a table.

    Attributes
    ----------
    name : str
        Name of the column, or its number.
    kind : str
        What its values are: "number", "boolean", "text", "category", "date", "time of day",
        "duration" or "empty".
    treatment : str
        What becomes of them, in words.
    n_outputs : int
        Number of features that the column becomes; 0 if it is left out.
    missing : float
        Share of the values that are missing in the training data.
    constant : bool
        Whether all values of the training data are equal.

    Examples
    --------
    >>> ColumnRecord("age", "number", "standardized", 1).missing
    0.0
    """

    name: str
    kind: str
    treatment: str
    n_outputs: int
    missing: float = 0.0
    constant: bool = False


class Adapter(ABC):
    """Converts data of one form to float32 arrays, as it did with the training data.

    Attributes
    ----------
    form : str
        Name of the form of data in saved models.
    layout : ArrayLayout
        Axes of the converted samples.
    estimator_name : str
        Name of the estimator for messages.
    shape : tuple of int
        Shape of a converted sample.
    """

    form: ClassVar[str]
    layout: ArrayLayout
    estimator_name: str
    shape: tuple[int, ...]

    @property
    def modality(self) -> str:
        """Name of the kind of data."""
        return self.layout.name

    @property
    def column_blocks(self) -> list[slice]:
        """Where the features of every column of a table are; empty if every feature is one."""
        return []

    @property
    def array_modality(self) -> str:
        """Name of the kind of data that an array of converted samples is."""
        return self.modality

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns or channels of the data as they were given."""

    @property
    @abstractmethod
    def columns_(self) -> list[ColumnRecord]:
        """What is done with every column; empty for data without columns."""

    @property
    def missing_share(self) -> float:
        """Share of the values of the training data that are missing."""
        columns = self.columns_
        return sum(column.missing for column in columns) / max(1, len(columns))

    def facts(self) -> dict[str, str]:
        """Return what else there is to say about the training data, for `aleator.describe`."""
        return {}

    @abstractmethod
    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn from the training data how to convert data, and check their values.

        Parameters
        ----------
        data : RawData
            Training data.
        preprocessing : {"auto", None}, default="auto"
            "auto" standardizes what the data become; None leaves it as it is.

        Returns
        -------
        Adapter
            This one.
        """

    @abstractmethod
    def adapt(self, data: RawData) -> AdapterSource:
        """Return a source of converted samples; nothing is converted yet.

        Parameters
        ----------
        data : RawData
            Samples like those of the training data.

        Returns
        -------
        AdapterSource
        """

    @abstractmethod
    def read(self, X: Any) -> AdapterSource:
        """Read new data and return a source of converted samples.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset or Source
            Samples like those of the training data.

        Returns
        -------
        AdapterSource
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything but `arrays`, as JSON values."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays of numbers that a saved model must hold."""

    @classmethod
    @abstractmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned; ValueError if it cannot be.

        Parameters
        ----------
        layout : ArrayLayout
            Axes of the converted samples.
        estimator_name : str
            Name of the estimator for messages.
        stored : mapping of str to object
            What `to_dict` returned.
        arrays : mapping of str to ndarray
            What `arrays` returned.

        Returns
        -------
        Adapter
        """

    def transform(self, X: Any) -> np.ndarray:
        """Convert new data as a whole.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset or Source
            Samples like those of the training data.

        Returns
        -------
        ndarray of shape (n_samples, *shape), float32
        """
        return self.read(X).materialize()


def check_preprocessing(preprocessing: str | None) -> None:
    """Raise ValueError if the parameter `preprocessing` is not known.

    Examples
    --------
    >>> check_preprocessing("auto")
    """
    if preprocessing not in PREPROCESSING:
        raise ValueError(f"preprocessing must be 'auto' or None, got {preprocessing!r}")
