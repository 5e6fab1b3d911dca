"""Adam, AdamW and SGD over torch's fused kernels.

These are the kernels behind `torch.optim` with `fused=True`. The classes there are not used because
making the first one imports torch's compiler, which takes two seconds: longer than many a fit. Here
an optimizer's memory is plain to see, too: lists of tensors that exist from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from aleator.networks.factors import (
    accept_factors,
    factors_of,
    forget_factors,
    offers_factors,
)

OPTIMIZERS = ("adam", "adamw", "sgd")

_EPSILON = 1e-8

# torch's kernel for many tensors gives 65536 numbers to one block of threads and takes 36 tensors a
# launch. A small network cut into that many pieces keeps the whole GPU busy instead of a corner.
_PIECES_A_LAUNCH = 36
_SMALLEST_PIECE = 1024
_LARGEST_PIECE = 65536

# From this size on a weight is worth a kernel of its own.
_WIDE = 1 << 21


@dataclass(frozen=True)
class OptimizerSettings:
    """What a user says about optimization; rates are by role."""

    name: str
    learning_rates: dict[str, float]
    betas: tuple[float, float]
    momentum: float
    weight_decay: float


@dataclass
class Group:
    """Parameters that share a learning rate, and what the optimizer remembers of them."""

    role: str
    rate: Tensor | float
    parameters: list[nn.Parameter]
    steps: Tensor
    powers: Tensor
    first: list[Tensor] = field(default_factory=list)
    second: list[Tensor] = field(default_factory=list)
    piece: int | None = None

    def cut(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The tensors as the kernel should get them: as they are, or in pieces."""
        if self.piece is None:
            return list(tensors)
        return [part for tensor in tensors for part in _flat(tensor).split(self.piece)]

    def set_rate(self, rate: float) -> None:
        """Change the learning rate, in place where a graph reads it."""
        if isinstance(self.rate, Tensor):
            self.rate.fill_(rate)
        else:
            self.rate = rate

    def memory(self) -> Iterator[Tensor]:
        """Every tensor that a step changes besides the parameters."""
        yield from (self.steps, self.powers, *self.first, *self.second)


class Optimizer:
    """Updates the modules of a phase, one group of parameters a role.

    >>> layer = nn.Linear(1, 1, bias=False)
    >>> settings = OptimizerSettings("sgd", {"encoder": 0.5}, (0.9, 0.999), 0.0, 0.0)
    >>> optimizer = Optimizer(settings, {"encoder": layer}, torch.device("cpu"))
    >>> before = layer.weight.item()
    >>> layer(torch.ones(1, 1)).sum().backward()
    >>> optimizer.step()
    >>> round(before - layer.weight.item(), 4)
    0.5
    """

    def __init__(
        self, settings: OptimizerSettings, trains: dict[str, nn.Module], device: torch.device
    ) -> None:
        self._settings = settings
        self._betas = torch.tensor(settings.betas, dtype=torch.float64, device=device)
        self._factored: Callable[..., None]
        self.groups = [self._group(role, module, device) for role, module in trains.items()]
        for group in self.groups:
            self._accept_factors(group, device)

    def _group(self, role: str, module: nn.Module, device: torch.device) -> Group:
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not parameters:
            raise ValueError(
                f"the {role} has no parameter that may be trained: all have requires_grad=False"
            )
        rate = self._settings.learning_rates[role]
        group = Group(
            role,
            # A rate that a graph reads must live on the device, where it can be changed in place.
            torch.tensor(rate, device=device) if device.type == "cuda" else rate,
            parameters,
            steps=torch.zeros((), device=device),
            powers=torch.ones(2, dtype=torch.float64, device=device),
        )
        if device.type == "cuda" and all(_dense(parameter) for parameter in parameters):
            group.piece = _piece_size(sum(parameter.numel() for parameter in parameters))
        if self._settings.name != "sgd" or self._settings.momentum:
            group.first = [torch.zeros_like(parameter) for parameter in parameters]
        if self._settings.name != "sgd":
            group.second = [torch.zeros_like(parameter) for parameter in parameters]
        return group

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for group in self.groups:
            dense = [i for i, p in enumerate(group.parameters) if p.grad is not None]
            factored = [i for i, p in enumerate(group.parameters) if factors_of(p) is not None]
            if dense or factored:
                group.steps += 1
            if dense:
                self._update_dense(group, dense)
            if factored:
                group.powers.mul_(self._betas)
                self._update_factored(group, factored)

    def forget_gradients(self) -> None:
        """Drop all gradients."""
        for group in self.groups:
            for parameter in group.parameters:
                parameter.grad = None
                forget_factors(parameter)

    def memory(self) -> Iterator[Tensor]:
        """Every tensor that a step changes besides the parameters."""
        for group in self.groups:
            yield from group.memory()

    def _update_dense(self, group: Group, at: Sequence[int]) -> None:
        """torch's fused kernels, over the tensors as they are or cut into pieces."""
        settings = self._settings
        parameters = group.cut([group.parameters[i] for i in at])
        gradients = group.cut([_gradient(group.parameters[i]) for i in at])
        first = group.cut([group.first[i] for i in at]) if group.first else []
        if settings.name == "sgd":
            torch._fused_sgd_(
                parameters,
                gradients,
                first,
                weight_decay=settings.weight_decay,
                momentum=settings.momentum,
                lr=group.rate,
                dampening=0.0,
                nesterov=False,
                maximize=False,
                # A step from buffers of zeros is the first step that torch.optim takes.
                is_first_step=False,
            )
            return
        update = torch._fused_adam_ if settings.name == "adam" else torch._fused_adamw_
        update(
            parameters,
            gradients,
            first,
            group.cut([group.second[i] for i in at]),
            [],
            [group.steps] * len(parameters),
            lr=group.rate,
            beta1=settings.betas[0],
            beta2=settings.betas[1],
            weight_decay=settings.weight_decay,
            eps=_EPSILON,
            amsgrad=False,
            maximize=False,
        )

    def _update_factored(self, group: Group, at: Sequence[int]) -> None:
        for i in at:
            self._factored(
                group.parameters[i],
                factors_of(group.parameters[i]),
                group.first[i],
                group.second[i],
                rate=group.rate,
                powers=group.powers,
                betas=self._settings.betas,
                weight_decay=self._settings.weight_decay,
                epsilon=_EPSILON,
                decoupled=self._settings.name == "adamw",
            )

    def _accept_factors(self, group: Group, device: torch.device) -> None:
        """Let wide weights hand over the factors of their gradient, where a kernel can use them."""
        wide = [p for p in group.parameters if offers_factors(p) and p.numel() >= _WIDE]
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
    if total > _PIECES_A_LAUNCH * _LARGEST_PIECE:
        return None
    # Three quarters of what a launch takes, since uneven tensors leave remainders.
    piece = -(-int(total / (0.75 * _PIECES_A_LAUNCH)) // 1024) * 1024
    return max(_SMALLEST_PIECE, piece)


def _dense(tensor: Tensor) -> bool:
    return tensor.is_contiguous() or (
        tensor.ndim == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    )


def _flat(tensor: Tensor) -> Tensor:
    """All numbers of a dense tensor, in the order in which they lie in memory."""
    return (tensor if tensor.is_contiguous() else tensor.permute(0, 2, 3, 1)).view(-1)


def _gradient(parameter: nn.Parameter) -> Tensor:
    """A parameter's gradient, laid out in memory as the parameter is."""
    gradient = parameter.grad
    assert gradient is not None
    layouts = zip(parameter.shape, parameter.stride(), gradient.stride(), strict=True)
    if all(size == 1 or own == other for size, own, other in layouts):
        return gradient
    return torch.empty_like(parameter).copy_(gradient)
