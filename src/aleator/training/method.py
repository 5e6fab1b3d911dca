"""How a method tells the engine what to do, without knowing how it is done.

A method is a list of phases over named columns. It never sees a device, an optimizer or a modality.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn

INPUT = "input"


@dataclass(frozen=True)
class Derived:
    """A column computed from another, row by row, by networks in evaluation mode.

    A `fixed` one never changes (random targets); any other is computed anew whenever a phase that
    reads it begins (embeddings of an encoder in training).
    """

    name: str
    source: str
    compute: Callable[[Tensor], Tensor]
    row_shape: tuple[int, ...]
    fixed: bool


@dataclass(frozen=True)
class Phase:
    """One kind of pass over the data.

    `trains` maps a role to the module whose parameters are updated; the role decides the learning
    rate (`"encoder"` follows the schedule, `"predictor"` has a rate of its own). Modules in
    `running` are in training mode, all others in evaluation mode. `loss` takes the batch of every
    column, in order, and returns a scalar.
    """

    name: str
    trains: dict[str, nn.Module]
    running: Sequence[nn.Module]
    columns: tuple[str, ...]
    loss: Callable[..., Tensor]
    repeats: int = 1


@dataclass(frozen=True)
class Layer:
    """A layer whose size grows with the data, so that the plan must make room for it.

    It has `weights` parameters and puts out `outputs` numbers a row.
    """

    name: str
    weights: int
    outputs: int


@dataclass(frozen=True)
class Method:
    """Everything the engine needs to train."""

    modules: dict[str, nn.Module]
    phases: Sequence[Phase]
    derived: Sequence[Derived] = field(default_factory=tuple)
    layers: Sequence[Layer] = field(default_factory=tuple)


def jointly(*modules: nn.Module) -> nn.Module:
    """Modules that a phase trains at one rate, as one.

    >>> len(list(jointly(nn.Linear(1, 1), nn.Linear(1, 1)).parameters()))
    4
    """
    return nn.ModuleList(modules)
