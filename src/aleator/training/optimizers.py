"""Adam, AdamW and SGD through the functional interface of `torch.optim`.

The classes of `torch.optim` are not used because creating the first one imports torch's compiler,
which takes two seconds: longer than many fits. The functions behind them do not, and here the state
of an optimizer is plain lists of tensors that exist from the start, as CUDA graphs need it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from aleator.training.factored_gradient import (
    accept_factors,
    drop_factors,
    factors_of,
    offers_factors,
)
from aleator.training.method import ParameterGroup
from aleator.training.schedules import Schedule

OPTIMIZERS = ("adam", "adamw", "sgd")

_EPSILON = 1e-8

# torch's kernel for many tensors gives 65536 values to one block of threads and takes 36 tensors
# per launch. A small network cut into that many pieces keeps the whole GPU busy.
_PIECES_PER_LAUNCH = 36
_SMALLEST_PIECE = 1024
_LARGEST_PIECE = 65536

# From this size on, a weight is worth a kernel of its own.
_WIDE = 1 << 21


@dataclass(frozen=True)
class OptimizerSettings:
    """Settings that all parameter groups share.

    Parameters
    ----------
    name : {"adam", "adamw", "sgd"}
        The optimizer.
    lr : float
        Learning rate of the groups that do not have their own.
    betas : tuple of float, default=(0.9, 0.999)
        Decay of the moments of Adam.
    momentum : float, default=0.0
        Momentum of SGD.
    weight_decay : float, default=0.0
        Weight decay.
    schedule : {"constant", "cosine"}, default="constant"
        Schedule of the groups that do not have their own.
    """

    name: str
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: str = "constant"


@dataclass
class GroupState:
    """A parameter group in training: its learning rate and the state of the optimizer."""

    name: str
    base_lr: float
    lr: Tensor | float
    schedule: Schedule
    parameters: list[nn.Parameter]
    powers: Tensor
    first: list[Tensor] = field(default_factory=list)
    second: list[Tensor] = field(default_factory=list)
    steps: list[Tensor] = field(default_factory=list)
    piece: int | None = None

    def split(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors as the kernel should get them: whole, or in pieces."""
        if self.piece is None:
            return list(tensors)
        return [part for tensor in tensors for part in _flat(tensor).split(self.piece)]

    def set_lr(self, step: int) -> None:
        """Move the learning rate along its schedule, in place where a graph reads it."""
        if self.schedule.is_constant:
            return
        lr = self.base_lr * self.schedule.factor(step)
        if isinstance(self.lr, Tensor):
            self.lr.fill_(lr)
        else:
            self.lr = lr

    def state(self) -> Iterator[Tensor]:
        """Every tensor that a step changes besides the parameters."""
        yield from (self.powers, *self.steps, *self.first, *self.second)

    def state_dict(self) -> dict[str, Any]:
        """Return the state on the CPU, in a form that does not depend on the device."""
        return {
            "lr": float(self.lr),
            "powers": self.powers.cpu().clone(),
            # Pieces of one parameter make their steps together.
            "steps": [self.steps[i].cpu().clone() for i in self.first_pieces()],
            "first": [tensor.detach().cpu().clone() for tensor in self.first],
            "second": [tensor.detach().cpu().clone() for tensor in self.second],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        lr = state["lr"]
        if isinstance(lr, bool) or not isinstance(lr, (int, float)) or not 0 <= lr < math.inf:
            raise ValueError(f"the learning rate is {str(lr)[:40]}")
        bounds = pairwise([*self.first_pieces(), len(self.steps)])
        steps = [
            step
            for step, (begin, end) in zip(state["steps"], bounds, strict=True)
            for _ in range(begin, end)
        ]
        saved = [state["powers"], *steps, *state["first"], *state["second"]]
        with torch.no_grad():
            for tensor, value in zip(self.state(), saved, strict=True):
                if tensor.shape != value.shape:  # copy_ would repeat a smaller one
                    raise ValueError(f"expected the shape {tensor.shape}, got {value.shape}")
                tensor.copy_(value)
        if isinstance(self.lr, Tensor):
            self.lr.fill_(lr)
        else:
            self.lr = lr

    def first_pieces(self) -> list[int]:
        """Return the position of the first piece of every parameter in `steps`."""
        if not self.steps:
            return []
        counts = [len(self.split([parameter])) for parameter in self.parameters]
        return [sum(counts[:i]) for i in range(len(counts))]


class Optimizer:
    """Updates the parameter groups of a phase.

    Parameters
    ----------
    settings : OptimizerSettings
        What all groups share.
    groups : sequence of ParameterGroup
        What is trained.
    device : torch.device
        Where the parameters are.
    schedule_for : callable, default=None
        Function that returns the `Schedule` of a kind; None: all learning rates are constant.
    factors : bool, default=True
        Whether gradients may be kept as factors, which cannot be summed over processes.

    Examples
    --------
    >>> layer = nn.Linear(1, 1, bias=False)
    >>> settings = OptimizerSettings("sgd", lr=0.5)
    >>> optimizer = Optimizer(settings, [ParameterGroup("layer", [layer])], torch.device("cpu"))
    >>> before = layer.weight.item()
    >>> layer(torch.ones(1, 1)).sum().backward()
    >>> optimizer.step()
    >>> round(before - layer.weight.item(), 4)
    0.5
    """

    def __init__(
        self,
        settings: OptimizerSettings,
        groups: Sequence[ParameterGroup],
        device: torch.device,
        schedule_for: Callable[[ParameterGroup], Schedule] | None = None,
        *,
        factors: bool = True,
    ) -> None:
        self._settings = settings
        self._betas = torch.tensor(settings.betas, dtype=torch.float64, device=device)
        self._factored: Callable[..., None]
        constant = Schedule("constant", total=0)
        self.groups = [
            self._make_group(
                group, device, constant if schedule_for is None else schedule_for(group)
            )
            for group in groups
        ]
        for state in self.groups if factors else ():
            self._accept_factors(state, device)

    def _make_group(
        self, group: ParameterGroup, device: torch.device, schedule: Schedule
    ) -> GroupState:
        parameters = [p for p in group.parameters() if p.requires_grad]
        if not parameters:
            raise ValueError(
                f"the {group.name} has no parameter to train: all have requires_grad=False"
            )
        lr = self._settings.lr if group.lr is None else group.lr
        double = parameters[0].dtype == torch.float64
        state = GroupState(
            group.name,
            lr,
            # A learning rate that a graph reads must be on the device, to be changed in place.
            # torch reads it there in single precision, and double precision has no graphs.
            torch.tensor(lr, device=device) if device.type == "cuda" and not double else lr,
            schedule,
            parameters,
            powers=torch.ones(2, dtype=torch.float64, device=device),
        )
        if device.type == "cuda" and all(_is_dense(p) for p in parameters):
            state.piece = _piece_size(sum(p.numel() for p in parameters))
        if self._settings.name != "sgd" or self._settings.momentum:
            state.first = [torch.zeros_like(p) for p in parameters]
        if self._settings.name != "sgd":
            state.second = [torch.zeros_like(p) for p in parameters]
            # torch counts the steps of every tensor (here: of every piece) separately.
            state.steps = [torch.zeros((), device=device) for _ in state.split(parameters)]
        return state

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for group in self.groups:
            dense = [i for i, p in enumerate(group.parameters) if p.grad is not None]
            factored = [i for i, p in enumerate(group.parameters) if factors_of(p) is not None]
            if dense:
                self._update_dense(group, dense)
            if factored:
                group.powers.mul_(self._betas)
                self._update_factored(group, factored)

    def parameters(self) -> Iterator[nn.Parameter]:
        """Every parameter that a step may change."""
        for group in self.groups:
            yield from group.parameters

    def set_lr(self, step: int) -> None:
        """Move all learning rates along their schedules."""
        for group in self.groups:
            group.set_lr(step)

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for parameter in self.parameters():
            parameter.grad = None
            drop_factors(parameter)

    def state(self) -> Iterator[Tensor]:
        """Every tensor that a step changes besides the parameters."""
        for group in self.groups:
            yield from group.state()

    def is_finite(self) -> bool:
        """Whether parameters and moments are all finite; waits for the device."""
        tensors = [*self.state(), *self.parameters()]
        with torch.no_grad():
            return bool(torch.stack([tensor.isfinite().all() for tensor in tensors]).all())

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all groups; the parameters are not part of it."""
        return {"groups": [group.state_dict() for group in self.groups]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        for group, saved in zip(self.groups, state["groups"], strict=True):
            group.load_state_dict(saved)

    def _update_dense(self, group: GroupState, indices: Sequence[int]) -> None:
        """Call torch's fused kernels, over whole tensors or pieces of them."""
        settings = self._settings
        parameters = group.split([group.parameters[i] for i in indices])
        gradients = group.split([_gradient(group.parameters[i]) for i in indices])
        first = group.split([group.first[i] for i in indices]) if group.first else []
        if settings.name == "sgd":
            sgd(
                parameters,
                gradients,
                # Momentum buffers of zeros give the first step that torch.optim.SGD makes.
                list(first) if first else [None] * len(parameters),
                fused=True,
                weight_decay=settings.weight_decay,
                momentum=settings.momentum,
                lr=group.lr,  # type: ignore[arg-type]
                dampening=0.0,
                nesterov=False,
                maximize=False,
            )
            return
        update = adam if settings.name == "adam" else adamw
        update(
            parameters,
            gradients,
            first,
            group.split([group.second[i] for i in indices]),
            [],
            self._steps_of(group, indices),
            fused=True,
            amsgrad=False,
            beta1=settings.betas[0],
            beta2=settings.betas[1],
            lr=group.lr,
            weight_decay=settings.weight_decay,
            eps=_EPSILON,
            maximize=False,
        )

    def _steps_of(self, group: GroupState, indices: Sequence[int]) -> list[Tensor]:
        if len(indices) == len(group.parameters):
            return group.steps
        bounds = [*group.first_pieces(), len(group.steps)]
        return [step for i in indices for step in group.steps[bounds[i] : bounds[i + 1]]]

    def _update_factored(self, group: GroupState, indices: Sequence[int]) -> None:
        for i in indices:
            self._factored(
                group.parameters[i],
                factors_of(group.parameters[i]),
                group.first[i],
                group.second[i],
                lr=group.lr,
                powers=group.powers,
                betas=self._settings.betas,
                weight_decay=self._settings.weight_decay,
                epsilon=_EPSILON,
                decoupled=self._settings.name == "adamw",
            )

    def _accept_factors(self, group: GroupState, device: torch.device) -> None:
        """Let wide weights carry the factors of their gradient, where a kernel can use them."""
        wide = [
            p
            for p in group.parameters
            if offers_factors(p) and p.numel() >= _WIDE and p.dtype == torch.float32
        ]
        if device.type != "cuda" or self._settings.name == "sgd" or not wide:
            return
        try:
            from aleator.training import factored_adam
        except ImportError:
            return
        if factored_adam.why_unavailable(device) is None:
            self._factored = factored_adam.factored_adam_
            for parameter in wide:
                accept_factors(parameter)


def _piece_size(total: int) -> int | None:
    if total > _PIECES_PER_LAUNCH * _LARGEST_PIECE:
        return None
    # Three quarters of what a launch takes, since uneven tensors leave remainders.
    piece = -(-int(total / (0.75 * _PIECES_PER_LAUNCH)) // 1024) * 1024
    return max(_SMALLEST_PIECE, piece)


def _is_dense(tensor: Tensor) -> bool:
    return tensor.is_contiguous() or (
        tensor.ndim == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    )


def _flat(tensor: Tensor) -> Tensor:
    """All values of a dense tensor, in the order of memory."""
    return (tensor if tensor.is_contiguous() else tensor.permute(0, 2, 3, 1)).view(-1)


def _gradient(parameter: nn.Parameter) -> Tensor:
    """Gradient of a parameter, in the memory layout of the parameter."""
    gradient = parameter.grad
    assert gradient is not None
    strides = zip(parameter.shape, parameter.stride(), gradient.stride(), strict=True)
    if all(size == 1 or own == other for size, own, other in strides):
        return gradient
    return torch.empty_like(parameter).copy_(gradient)
