"""What was seen in data, and what estimators will make of them: `aleator.describe`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aleator.inputs import ColumnRecord, fit_adapter, read
from aleator.inputs.tables.printing import format_columns
from aleator.modalities import infer_modality
from aleator.training.devices import resolve_device
from aleator.training.plan import Placement, format_bytes, place_input


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

    def __repr__(self) -> str:
        shapes = [" × ".join(map(str, shape)) for shape in (self.given_shape, self.input_shape)]
        lines = [f"{self.modality}: {self.n_samples} samples of {shapes[0]} values"]
        if self.columns:
            lines = [f"{self.modality}: {self.n_samples} rows of {shapes[0]} columns"]
        elif not self.given_shape:
            lines = [f"{self.modality}: {self.n_samples} samples"]
        if self.columns or shapes[0] != shapes[1]:
            lines[0] += f", which become {shapes[1]} features"
        if self.missing:
            lines.append(f"missing: {self.missing:.1%} of the values".replace("%", " %"))
        lines += [f"{name}: {fact}" for name, fact in self.facts.items()]
        size = format_bytes(self.placement.bytes)
        lines.append(
            f"now in {self.source}; for training on {self.device}: {self.placement.description}, "
            f"{size} in single precision"
        )
        if self.columns:
            lines += ["", format_columns(self.columns)]
        return "\n".join(lines)


def describe(X: Any, *, modality: str = "auto", device: str = "auto") -> Description:
    """Say what X is taken for, and what estimators will make of it.

    The data are read as in `fit`, but nothing is trained. Errors are those of `fit`.

    Parameters
    ----------
    X : array-like, tensor, data frame, path, torch Dataset or object of pyarrow
        The data.
    modality : str, default="auto"
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
    <BLANKLINE>
    column  kind    missing  features  treatment
    age     number  33.3 %          2  number; gaps have the median, and a feature of their own
    born    date                    0  left out, since it is constant
    """
    data = read(X, min_samples=1, modality=modality)
    found = infer_modality(modality, data.shape, data.source.modality)
    adapter = fit_adapter(found.layout, data, "the estimator", "auto")
    source = adapter.adapt(data)
    columns = adapter.columns_
    where = resolve_device(device)
    return Description(
        modality=adapter.modality,
        n_samples=len(source),
        given_shape=tuple(data.shape[1:]),
        input_shape=adapter.shape,
        columns=columns,
        missing=adapter.missing_share,
        facts=adapter.facts(),
        source="memory" if data.source.in_memory else "files",
        placement=place_input(
            len(source), adapter.shape, where, in_memory=source.in_memory,
            needs_no_conversion=source.can_be_shared,
        ),
        device=str(where),
    )  # fmt: skip
