"""What was seen in data, and what estimators will make of them: `aleator.describe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from aleator.inputs import (
    Adapter,
    ColumnRecord,
    PartsAdapter,
    PartsSource,
    RawData,
    fit_adapter,
    read,
)
from aleator.inputs.tables.printing import format_columns
from aleator.methods.lfr_plan import PlannedRows, default_plan
from aleator.modalities import infer_layout, modality_of
from aleator.training.devices import resolve_device
from aleator.training.plan import Placement, Plan, format_bytes, place_input


@dataclass(frozen=True, repr=False)
class Description:
    """What was seen in data; print it to read it.

    Attributes
    ----------
    modality : str
        Kind of data.
    n_samples : int
        Number of samples.
    given_shape : tuple of int
        Shape of a sample as it was given: columns, or channels and so on.
    input_shape : tuple of int
        Shape of a sample that encoders get.
    columns : list of ColumnRecord
        What is done with every column of a table; empty for other data.
    missing : float
        Share of missing values.
    facts : dict of str to str
        What else there is to say about data of this form.
    source : {"memory", "files"}
        Where the data are now: in memory, or in files (also mapped into memory) or a dataset.
    placement : Placement
        Where the converted samples will be while a method is trained on them.
    device : str
        Device of the training.
    plan : Plan or None
        What ``LFR()`` would keep where, its features and targets too. None for kinds of data
        without random features, for which sizes depend on networks, and for one sample.
    parts : dict of str to Description
        Every part by itself, if there are several; else empty.

    Examples
    --------
    >>> import numpy as np
    >>> describe(np.zeros((10, 2, 50)), device="cpu").modality
    'series'
    """

    modality: str
    n_samples: int
    given_shape: tuple[int, ...]
    input_shape: tuple[int, ...]
    columns: list[ColumnRecord] = field(default_factory=list)
    missing: float = 0.0
    facts: dict[str, str] = field(default_factory=dict)
    source: str = "memory"
    placement: Placement = field(default_factory=lambda: Placement("input", "host", 0))
    device: str = "cpu"
    plan: Plan | None = None
    parts: dict[str, Description] = field(default_factory=dict)

    def __repr__(self) -> str:
        lines = self.seen()[: 1 if self.parts else None] + self._places() + self.column_lines()
        for name, part in self.parts.items():
            lines += ["", f"part {name!r}"]
            lines += [f"  {line}".rstrip() for line in part.seen() + part.column_lines()]
        return "\n".join(lines)

    def seen(self) -> list[str]:
        """Return what the data are, as lines.

        Returns
        -------
        list of str
        """
        given, made = (" × ".join(map(str, s)) for s in (self.given_shape, self.input_shape))
        line = f"{self.modality}: {self.n_samples} {'rows' if self.columns else 'samples'}"
        if self.parts:
            *first, last = (repr(name) for name in self.parts)
            line += f" of {', '.join(first)} and {last}" if first else f" of {last}"
        elif self.given_shape:
            line += f" of {given} {'columns' if self.columns else 'values'}"
        if self.columns or given != made:
            line += f", which become {made} features"
        share = f"{self.missing:.1%} of the values".replace("%", " %") if self.missing else "none"
        facts = {"missing": share, **self.facts}
        return [line, *(f"{name}: {fact}" for name, fact in facts.items())]

    def _places(self) -> list[str]:
        """Return where the data will be."""
        lines = [
            f"now in {self.source}; for training on {self.device}: {self.placement.description}, "
            f"{format_bytes(self.placement.bytes)} in single precision"
        ]
        if self.plan is not None:
            derived = (
                f"{place.name} {place.description}, {format_bytes(place.bytes)}"
                for place in self.plan.placements
                if place.name != self.placement.name
            )
            lines.append(f"LFR() also has {'; '.join(derived)}")
        return lines

    def column_lines(self) -> list[str]:
        """Return what becomes of columns, as lines.

        Returns
        -------
        list of str
        """
        return ["", *format_columns(self.columns).splitlines()] if self.columns else []


def describe(
    X: Any, *, modality: str | Mapping[str, str] = "auto", device: str = "auto"
) -> Description:
    """Say what X is taken for, and what estimators will make of it.

    The data are read as in `fit`, but nothing is trained. Errors are those of `fit`.

    Parameters
    ----------
    X : array-like, tensor, data frame, path, torch Dataset, object of pyarrow, or dict of them
        The data.
    modality : str or dict of str to str, default="auto"
        As in the estimators.
    device : str, default="auto"
        As in the estimators.

    Returns
    -------
    Description
        Print it to read it.

    Examples
    --------
    >>> import aleator
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [36, None, 41], "born": pd.to_datetime(["1988-02-01"] * 3)})
    >>> aleator.describe(people, device="cpu")
    table: 3 rows of 2 columns, which become 2 features
    missing: 16.7 % of the values
    now in memory; for training on cpu: kept on the device, 24 B in single precision
    LFR() also has targets kept on the device, 48.0 KiB; features kept on the device, 6.0 KiB
    <BLANKLINE>
    column  kind    missing  features  treatment
    age     number  33.3 %          2  number; gaps have the median, and a feature of their own
    born    date                    0  left out, since it is constant
    """
    data = read(X, min_samples=1, modality=modality)
    adapter = fit_adapter(infer_layout(modality, data), data, "the estimator", "auto")
    return _described(data, adapter, resolve_device(device))


def _described(data: RawData, adapter: Adapter, device: torch.device) -> Description:
    source = adapter.adapt(data)
    placement = place_input(
        len(source), adapter.shape, device, in_memory=source.in_memory,
        needs_no_conversion=source.can_be_shared,
    )  # fmt: skip
    origin = ("device" if source.can_be_shared else "host") if source.in_memory else "streamed"
    parts = {}
    if isinstance(adapter, PartsAdapter) and isinstance(data.source, PartsSource):
        parts = {
            name: _described(part, adapter.parts[name], device)
            for name, part in data.source.parts.items()
        }
    return Description(
        modality=adapter.modality,
        n_samples=len(source),
        given_shape=() if parts else tuple(data.shape[1:]),
        input_shape=adapter.shape,
        columns=adapter.columns_,
        missing=adapter.missing_share,
        facts=adapter.facts(),
        source="memory" if data.source.in_memory else "files",
        placement=placement,
        device=str(device),
        plan=default_plan(
            modality_of(adapter), PlannedRows(len(source), adapter.shape, origin), device
        ),
        parts=parts,
    )
