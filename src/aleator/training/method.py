"""How a method describes its training to the trainer.

A method is a list of phases over named columns. It knows nothing about devices, optimizers or kinds
of data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn

INPUT = "input"


@dataclass(frozen=True)
class DerivedColumn:
    """A column computed from another, sample by sample, by networks in evaluation mode.

    Parameters
    ----------
    name : str
        Name of the column.
    source : str
        Name of the column it is computed from: a given one, or one that is derived before it.
    compute : callable
        Function of a batch of the source.
    sample_shape : tuple of int
        Shape of one sample of the result.
    fixed : bool
        Whether the column never changes (random targets). Any other is computed anew whenever a
        phase that reads it begins (embeddings of an encoder in training).
    """

    name: str
    source: str
    compute: Callable[[Tensor], Tensor]
    sample_shape: tuple[int, ...]
    fixed: bool


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that are trained with one learning rate.

    Parameters
    ----------
    name : str
        Name of the group in `history_`.
    modules : sequence of torch.nn.Module
        Modules whose parameters are updated.
    lr : float, default=None
        Learning rate; None is that of the estimator.
    schedule : str, default=None
        Schedule of the learning rate; None is that of the estimator, with its warm-up. "constant"
        is a learning rate that never changes.
    """

    name: str
    modules: Sequence[nn.Module]
    lr: float | None = None
    schedule: str | None = None

    def parameters(self) -> list[nn.Parameter]:
        """All parameters of the group, each once."""
        found = {id(p): p for module in self.modules for p in module.parameters()}
        return list(found.values())


@dataclass(frozen=True)
class Phase:
    """One kind of pass over the data.

    Parameters
    ----------
    name : str
        Name of the phase in `history_`.
    groups : sequence of ParameterGroup
        What is trained.
    train_mode : sequence of torch.nn.Module
        Modules in training mode; all others are in evaluation mode.
    columns : tuple of str
        Columns whose batches are passed to `outputs`, in order.
    outputs : callable
        Function of the batches that runs the networks, and returns tensors with one row per sample.
    criterion : callable
        Function of the outputs that returns a scalar.
    couples_rows : bool, default=False
        Whether the criterion compares the rows of a batch with each other, so that it needs all of
        them at once. Otherwise it is the mean of a function of every row.
    repeats : int, default=1
        Passes per epoch.
    after_step : callable, default=None
        Function without arguments that is called after every update, for example to move the
        average of weights. It may change modules in `train_mode` only, and must not wait for the
        device.
    row_wise : sequence of torch.nn.Module, default=()
        Modules that `outputs` calls with one tensor, and that treat every row of it by itself,
        unless they normalize batches. If memory does not suffice they run on a few rows at a time.
    """

    name: str
    groups: Sequence[ParameterGroup]
    train_mode: Sequence[nn.Module]
    columns: tuple[str, ...]
    outputs: Callable[..., Sequence[Tensor]]
    criterion: Callable[..., Tensor]
    couples_rows: bool = False
    repeats: int = 1
    after_step: Callable[[], None] | None = None
    row_wise: Sequence[nn.Module] = ()

    def loss(self, *columns: Tensor) -> Tensor:
        """Return the loss of a batch of every column."""
        return self.criterion(*self.outputs(*columns))

    def trains(self, module: nn.Module) -> bool:
        """Whether the phase updates a parameter of a module."""
        trained = {id(p) for group in self.groups for p in group.parameters()}
        return any(id(p) in trained for p in module.parameters())


@dataclass(frozen=True)
class LargeLayer:
    """A layer whose size grows with the data, so that the plan must reserve memory for it.

    Parameters
    ----------
    name : str
        Name in the plan.
    n_parameters : int
        Number of parameters.
    n_outputs : int
        Width of its output.
    """

    name: str
    n_parameters: int
    n_outputs: int


@dataclass(frozen=True)
class Method:
    """Everything the trainer needs.

    Parameters
    ----------
    modules : mapping of str to torch.nn.Module
        All modules that take part, trained or not.
    phases : sequence of Phase
        What happens in an epoch.
    derived : sequence of DerivedColumn, default=()
        Columns computed from others.
    large_layers : sequence of LargeLayer, default=()
        Layers that grow with the data.
    views : sequence of torch.nn.Module, default=()
        Those of the modules that change a batch at random or mix its rows. They get all rows of a
        batch, on however many processes it is divided.
    """

    modules: Mapping[str, nn.Module]
    phases: Sequence[Phase]
    derived: Sequence[DerivedColumn] = field(default_factory=tuple)
    large_layers: Sequence[LargeLayer] = field(default_factory=tuple)
    views: Sequence[nn.Module] = ()
