"""Optimizers in the form that suits the device: fused, and capturable in a CUDA graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

OPTIMIZERS = ("adam", "adamw", "sgd")


@dataclass(frozen=True)
class OptimizerSettings:
    """What a user says about optimization; rates are by role."""

    name: str
    learning_rates: dict[str, float]
    betas: tuple[float, float]
    momentum: float
    weight_decay: float


def make_optimizer(
    settings: OptimizerSettings, trains: dict[str, nn.Module], device: torch.device
) -> torch.optim.Optimizer:
    """An optimizer with one parameter group a role (`group["role"]`).

    >>> settings = OptimizerSettings("adam", {"encoder": 0.1}, (0.9, 0.999), 0.9, 0.0)
    >>> optimizer = make_optimizer(settings, {"encoder": nn.Linear(2, 2)}, torch.device("cpu"))
    >>> optimizer.param_groups[0]["lr"]
    0.1
    """
    graphs = device.type == "cuda"
    groups: list[dict[str, Any]] = []
    for role, module in trains.items():
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not parameters:
            raise ValueError(
                f"the {role} has no parameter that may be trained: all have requires_grad=False"
            )
        rate = settings.learning_rates[role]
        # A rate that a graph reads must live on the device, where it can be changed in place.
        lr = torch.tensor(rate, device=device) if graphs else rate
        groups.append({"params": parameters, "lr": lr, "role": role})
    options: dict[str, Any] = {"weight_decay": settings.weight_decay}
    options["fused"] = device.type in ("cuda", "cpu")
    if settings.name == "sgd":
        return torch.optim.SGD(groups, momentum=settings.momentum, **options)
    kind = torch.optim.Adam if settings.name == "adam" else torch.optim.AdamW
    return kind(groups, betas=settings.betas, capturable=graphs, **options)


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Change a group's learning rate, in place where a graph reads it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def state_tensors(optimizer: torch.optim.Optimizer) -> Iterable[Tensor]:
    """Every tensor of the optimizer's memory."""
    for memory in optimizer.state.values():
        for value in memory.values():
            if isinstance(value, Tensor):
                yield value
