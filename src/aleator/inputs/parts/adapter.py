"""The input adapter of several kinds of data at once: one adapter per part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from aleator.inputs.adapter import InputAdapter
from aleator.inputs.adapter_base import (
    Adapter,
    AdapterSource,
    ColumnRecord,
    check_preprocessing,
)
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.parts.adapted import AdaptedParts
from aleator.inputs.parts.source import PartsSource, is_parts, naming_part
from aleator.inputs.reading import RawData, with_columns


class PartsAdapter(Adapter):
    """Converts every part by an adapter of its own; a row is all of them, flattened.

    Parts are found by their names, which new data may have in any order.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the converted samples, and of those of every part.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.

    Attributes
    ----------
    parts : dict of str to Adapter
        The adapter of every part, in the order of the training data.
    names : dict of str to list of str or None
        Names of the columns of every part that has them.

    Examples
    --------
    >>> from aleator.inputs.reading import read
    >>> table = ArrayLayout("table", "tables", ("columns",), "column")
    >>> series = ArrayLayout("series", "series", ("channels", "time"), "channel")
    >>> layout = ArrayLayout.of_parts({"age": table, "pulse": series})
    >>> X = {"age": [[20.0], [40.0]], "pulse": np.ones((2, 1, 3))}
    >>> adapter = PartsAdapter(layout).fit(read(X))
    >>> adapter.transform(X).tolist()
    [[-1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    """

    form: ClassVar[str] = "parts"

    def __init__(self, layout: ArrayLayout, estimator_name: str = "the estimator") -> None:
        self.layout = layout
        self.estimator_name = estimator_name
        self.parts: dict[str, Adapter] = {}
        self.names: dict[str, list[str] | None] = {}

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of values of all parts."""
        return (sum(int(np.prod(part.shape)) for part in self.parts.values()),)

    @property
    def n_features(self) -> int:
        """Number of columns and channels of all parts."""
        return sum(part.n_features for part in self.parts.values())

    @property
    def columns_(self) -> list[ColumnRecord]:
        """Parts have columns of their own."""
        return []

    @property
    def array_modality(self) -> str:
        """Name of the kind of data that converted samples are by themselves."""
        return "table"

    def __repr__(self) -> str:
        return "\n".join(
            f"part {name!r}\n{part!r}".replace("\n", "\n  ") for name, part in self.parts.items()
        )

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Fit an adapter per part."""
        # Parts may be of any form, so that all adapters must be known first.
        from aleator.inputs.adapters import fit_adapter

        check_preprocessing(preprocessing)
        self.parts, self.names = {}, {}
        for name, part in _parts_of(data).items():
            layout = self.layout.parts[name]
            with naming_part(name):
                self.parts[name] = fit_adapter(layout, part, self.estimator_name, preprocessing)
            self.names[name] = part.feature_names
        # Of other parts, if series have gaps.
        self.layout = ArrayLayout.of_parts({name: a.layout for name, a in self.parts.items()})
        return self

    def adapt(self, data: RawData) -> AdaptedParts:
        """Return a source of converted rows; nothing is converted yet."""
        converted = {}
        for name, part in _parts_of(data).items():
            with naming_part(name):
                converted[name] = self._checked(name, self.parts[name].adapt(part))
        source = data.source
        assert isinstance(source, PartsSource)
        return AdaptedParts(source, converted)

    def read(self, X: Any) -> AdaptedParts:
        """Read new data and return a source of converted rows."""
        if not is_parts(X):
            raise ValueError(
                f"{self.estimator_name} is expecting a dict with {_listed(list(self.parts))} as "
                f"input, but X is {type(X).__name__}"
            )
        if missing := [name for name in self.parts if name not in X]:
            raise ValueError(
                f"X lacks {_listed(missing)}; {self.estimator_name} is expecting "
                f"{_listed(list(self.parts))}"
            )
        if unknown := [name for name in X if name not in self.parts]:
            raise ValueError(
                f"X has {_listed(unknown)}, which {self.estimator_name} was not fitted on: leave "
                "it out, or fit again"
            )
        converted, raw = {}, {}
        for name, part in self.parts.items():
            with naming_part(name):
                source = part.read(with_columns(X[name], self.names[name]))
                converted[name] = self._checked(name, source)
                raw[name] = RawData(source.raw, source.feature_names)
        return AdaptedParts(PartsSource(raw), converted)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {
            "form": self.form,
            "modality": self.modality,
            "parts": [
                {"name": name, "columns": self.names[name], "adapter": part.to_dict()}
                for name, part in self.parts.items()
            ],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of every part, under its position."""
        return {
            f"{position}/{name}": array
            for position, part in enumerate(self.parts.values())
            for name, array in part.arrays().items()
        }

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned."""
        from aleator.inputs.adapters import restore_adapter

        made = cls(layout, estimator_name)
        groups: dict[str, dict[str, np.ndarray]] = {}
        for key, array in arrays.items():
            group, _, rest = key.partition("/")
            groups.setdefault(group, {})[rest] = array
        for position, part in enumerate(stored["parts"]):
            name, columns, about = part["name"], part["columns"], part["adapter"]
            if not isinstance(name, str) or name in made.parts or about["modality"] == "parts":
                raise ValueError("a part has no name, or the name of another")
            if columns is not None and not all(isinstance(column, str) for column in columns):
                raise ValueError("the names of the columns of a part are missing")
            found = groups.get(str(position), {})
            adapter = restore_adapter(layout.parts[name], estimator_name, about, found)
            if isinstance(adapter, InputAdapter):
                adapter.names = columns
            made.parts[name], made.names[name] = adapter, columns
        if not made.parts:
            raise ValueError("there are no parts")
        return made

    def _checked(self, name: str, source: AdapterSource) -> AdapterSource:
        """Return a source of converted samples, if a row has a place for them."""
        expected, found = self.parts[name].shape, source.schema.shape
        if found == expected:
            return source
        if (filled := source.filled_up(expected)) is not None:
            return filled
        raise ValueError(
            f"samples have the shape {found}, but those of the training data had {expected}; a "
            "part has room for no more: cut its samples first, or fit again"
        )


def _parts_of(data: RawData) -> dict[str, RawData]:
    if not isinstance(data.source, PartsSource):
        raise ValueError(f"X must be a dict of parts, but it has the shape {data.shape}")
    return data.source.parts


def _listed(names: list[Any]) -> str:
    words = [repr(name) for name in names]
    if len(words) == 1:
        return f"the part {words[0]}"
    return f"the parts {', '.join(words[:-1])} and {words[-1]}"
