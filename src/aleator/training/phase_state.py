"""A phase in training: its optimizer, its steps and its position in a pass over the data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from aleator.training.columns import ColumnStore
from aleator.training.distribution import OneProcess
from aleator.training.method import ParameterGroup, Phase
from aleator.training.optimizers import Optimizer, OptimizerSettings
from aleator.training.schedules import Schedule
from aleator.training.steps import GraphedStep, Step


class PhaseState:
    """The state of one phase.

    Attributes
    ----------
    steps : int
        Steps made in all.
    steps_in_turn : int
        Steps made in the present turn of the phase.
    steps_in_pass : int
        Steps made in the present pass over the data; zero between passes.
    round : int
        Round in which the present pass began.
    """

    def __init__(
        self,
        phase: Phase,
        columns: ColumnStore,
        settings: OptimizerSettings,
        schedule_for: Callable[[ParameterGroup], Schedule],
        device: torch.device,
        autocast: Callable[[], AbstractContextManager[None]],
        micro_batch: int | None = None,
        processes: OneProcess | None = None,
    ) -> None:
        self.phase = phase
        self._processes = OneProcess() if processes is None else processes
        self.optimizer = Optimizer(
            settings, phase.groups, device, schedule_for, factors=self._processes.alone
        )
        self.step = Step(
            phase, columns, self.optimizer, device, autocast, micro_batch, self._processes
        )
        self.graphs: dict[int, GraphedStep] = {}
        self.steps = self.steps_in_turn = self.steps_in_pass = self.round = 0
        self._device = device
        self._order = torch.empty(0, dtype=torch.int64)
        self._order_on_device = self._order
        self._seen = 0
        self._began = 0.0

    def begin_pass(self, order: Tensor, round_: int, began: float) -> None:
        """Start a pass over the data in the given order."""
        self.round = round_
        self._set_order(order)
        self._seen = 0
        self._began = began
        self.step.loss_sum.zero_()
        self.step.finite_steps.zero_()

    def prepare_reading(self, n_rows: int) -> None:
        """Tell the columns which samples the rest of the pass reads: the next `n_rows`."""
        rows = self._order[self._seen : self._seen + n_rows]
        self.step.begin_pass(self._processes.own_order(rows))

    def train_batch(
        self, sizes: Sequence[int], stepper_for: Callable[[PhaseState, Tensor], Any]
    ) -> None:
        """Make one step, on the next batch of the pass."""
        begin, end = self._seen, self._seen + sizes[self.steps_in_pass]
        if self._processes.alone:
            on_host, index = self._order[begin:end], self._order_on_device[begin:end]
        else:
            on_host = self._processes.share(self._order[begin:end])
            index = on_host.to(self._device)
        self.optimizer.set_lr(self.steps)
        self.step.stage(on_host)
        stepper_for(self, index)(index)
        self._seen = end
        self.steps += 1
        self.steps_in_turn += 1
        self.steps_in_pass += 1

    def check_loss(self) -> None:
        """Raise FloatingPointError if a loss of this pass was not finite; waits for the device."""
        finite = int(self.step.finite_steps)
        if finite < self.steps_in_pass:
            first_bad = self.steps - self.steps_in_pass + finite + 1
            raise self._divergence("the loss is not finite", first_bad)

    def check_weights(self) -> None:
        """Raise FloatingPointError if a weight or a moment is not finite; waits for the device."""
        if not self.optimizer.is_finite():
            raise self._divergence("the weights are not finite", self.steps)

    def check(self) -> None:
        """Raise FloatingPointError if the phase has diverged; waits for the device."""
        self.check_loss()
        self.check_weights()

    def _divergence(self, what: str, step: int) -> FloatingPointError:
        """Say where training diverged, and what to try.

        Steps are counted from one, over the whole training of the phase.
        """
        self.optimizer.set_lr(max(step - 1, 0))  # the rates of that step, not those of today
        rates = ", ".join(f"{float(group.lr):.3g}" for group in self.optimizer.groups)
        return FloatingPointError(
            f"{what} at step {step} of phase {self.phase.name!r}, in epoch {self.round + 1}: try a "
            f"smaller learning_rate (it was {rates}), warmup_epochs, or precision='32'"
        )

    def end_pass(self) -> tuple[float, float, int]:
        """Return the mean loss of the batches, seconds and steps; waits for the device."""
        steps, self.steps_in_pass = self.steps_in_pass, 0
        loss = float(self.step.loss_sum) / steps
        return loss, time.perf_counter() - self._began, steps

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state and the position in the pass."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "loss_sum": self.step.loss_sum.cpu().clone(),
            "order": self._order.clone(),
            "seen": self._seen,
            "seconds": time.perf_counter() - self._began,
            **{name: getattr(self, name) for name in _COUNTERS},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.step.loss_sum.copy_(state["loss_sum"])
        self._set_order(state["order"])
        self._seen = state["seen"]
        self._began = time.perf_counter() - state["seconds"]
        for name in _COUNTERS:
            setattr(self, name, state[name])
        self.step.finite_steps.fill_(self.steps_in_pass)

    def _set_order(self, order: Tensor) -> None:
        self._order = order
        if self._processes.alone:  # others take their share of every batch, on the host
            self._order_on_device = order.to(self._device)


_COUNTERS = ("steps", "steps_in_turn", "steps_in_pass", "round")
