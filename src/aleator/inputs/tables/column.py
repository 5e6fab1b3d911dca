"""One column of a table: its encoder, what fills its gaps, and which features are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aleator.inputs.adapter_base import ColumnRecord
from aleator.inputs.frames import Frame, Kind
from aleator.inputs.tables.encoders import (
    Categories,
    ColumnEncoder,
    Dates,
    LeftOut,
    Numbers,
    TimesOfDay,
)
from aleator.inputs.tables.ngrams import NGrams
from aleator.inputs.tables.values import Place, texts_of

_ENCODERS: dict[str, type[ColumnEncoder]] = {
    encoder.treatment: encoder
    for encoder in (LeftOut, Numbers, TimesOfDay, Dates, Categories, NGrams)
}


@dataclass(frozen=True)
class TableColumn:
    """How a column is converted.

    Parameters
    ----------
    name : str
        Its name.
    kind : Kind
        What its values were in training.
    encoder : ColumnEncoder
        Makes features of it.
    fill : ndarray of shape (n_outputs,)
        What takes the place of features of a missing value: medians.
    gaps : bool
        Whether there is a feature that is 1 where the value is missing.
    kept : ndarray of int
        Positions of the features that are not constant in training, the last for gaps included.
    missing : float
        Share of missing values in training.
    constant : bool
        Whether all values were equal in training.
    """

    name: str
    kind: Kind
    encoder: ColumnEncoder
    fill: np.ndarray = field(repr=False)
    gaps: bool
    kept: np.ndarray = field(repr=False)
    missing: float
    constant: bool

    @classmethod
    def learn(cls, frame: Frame, column: int, encoder: ColumnEncoder, place: Place) -> TableColumn:
        """Learn what fills gaps, and which features tell rows apart, from rows of training data."""
        features = encoder.encode(frame, column, place)
        gap = _missing(frame, column, encoder, features)
        # A category of its own says more than an indicator beside it.
        gaps = bool(gap.any()) and encoder.n_outputs > 0 and not isinstance(encoder, Categories)
        if gap.all():
            encoder, features, gaps = LeftOut(), np.empty((len(frame), 0)), False
        fill = np.nanmedian(features, axis=0) if encoder.n_outputs else np.empty(0)
        complete = _complete(features, fill, gaps=gaps)
        kept = np.flatnonzero((complete != complete[:1]).any(axis=0))
        return cls(
            name=frame.names[column],
            kind=frame.kind(column),
            encoder=encoder,
            fill=fill,
            gaps=gaps,
            kept=kept,
            missing=float(gap.mean()),
            constant=not gap.any() and len(kept) == 0,
        )

    @property
    def n_outputs(self) -> int:
        """Number of features."""
        return len(self.kept)

    @property
    def record(self) -> ColumnRecord:
        """What is done with the column."""
        words = self.encoder.description
        if self.constant:
            words = "left out, since it is constant"
        elif self.missing == 1:
            words = "left out, since all values are missing"
        elif self.n_outputs == 0:
            words = "left out, since its features are constant"
        elif self.gaps:
            words += "; gaps have the median, and a feature of their own"
        return ColumnRecord(
            self.name, self.kind.value, words, self.n_outputs, self.missing, self.constant
        )

    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return the features that are kept, without gaps, as float64."""
        features = self.encoder.encode(frame, column, place)
        return _complete(features, self.fill, gaps=self.gaps)[:, self.kept]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "treatment": self.encoder.treatment,
            **self.encoder.to_dict(),
            "gaps": self.gaps,
            "share_missing": self.missing,
            "constant": self.constant,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays of what was learned."""
        return {"fill": self.fill, "kept": self.kept, **self.encoder.arrays()}

    @classmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TableColumn:
        """Make a column of what `to_dict` and `arrays` returned; ValueError if it cannot be."""
        if not isinstance(stored, dict) or not isinstance(stored["name"], str):
            raise ValueError("a column of the table has no name")
        encoder = _ENCODERS[stored["treatment"]].from_saved(stored, arrays)
        fill, kept = arrays.get("fill", np.empty(0)), arrays.get("kept", np.empty(0, np.int64))
        gaps, constant, missing = stored["gaps"], stored["constant"], stored["share_missing"]
        if not isinstance(gaps, bool) or not isinstance(constant, bool):
            raise ValueError(f"gaps of column {stored['name']!r:.60} must be true or false")
        if not isinstance(missing, (int, float)) or not 0 <= missing <= 1:
            raise ValueError(f"column {stored['name']!r:.60} has no share of missing values")
        if fill.shape != (encoder.n_outputs,) or fill.dtype != np.float64:
            raise ValueError(f"column {stored['name']!r:.60} has other features than stored")
        if not np.isfinite(fill).all():
            raise ValueError(f"the gaps of column {stored['name']!r:.60} have no value")
        if kept.ndim != 1 or kept.dtype != np.int64 or (np.diff(kept) <= 0).any():
            raise ValueError(f"the features of column {stored['name']!r:.60} have no order")
        if len(kept) and not 0 <= kept[0] <= kept[-1] < encoder.n_outputs + gaps:
            raise ValueError(f"column {stored['name']!r:.60} has no such features")
        return cls(
            stored["name"], Kind(stored["kind"]), encoder, fill, gaps, kept, float(missing),
            constant,
        )  # fmt: skip


def _complete(features: np.ndarray, fill: np.ndarray, *, gaps: bool) -> np.ndarray:
    """Fill gaps, and add a feature that tells where they were."""
    missing = np.isnan(features)
    if missing.any():
        features = np.where(missing, fill, features)
    return np.concatenate([features, missing[:, :1]], axis=1) if gaps else features


def _missing(frame: Frame, column: int, encoder: ColumnEncoder, features: np.ndarray) -> np.ndarray:
    """Which rows have no value."""
    if isinstance(encoder, Categories):
        return np.array([text is None for text in texts_of(frame, column)], bool)
    if encoder.n_outputs == 0:
        return np.ones(len(frame), bool)
    return np.isnan(features[:, 0])
