"""The loop that trains every method."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from aleator.exceptions import GraphCaptureWarning
from aleator.training.columns import ColumnStore
from aleator.training.devices import (
    autocast,
    current_device,
    math_mode,
    rng_state,
    seeded,
    set_rng_state,
)
from aleator.training.head_bank import uses_batch_norm
from aleator.training.host_rows import HostRows
from aleator.training.method import Method, ParameterGroup, Phase
from aleator.training.monitor import CollapseMonitor
from aleator.training.optimizers import OptimizerSettings
from aleator.training.phase_state import PhaseState
from aleator.training.plan import Duration, Plan
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler, batch_sizes
from aleator.training.schedules import Schedule
from aleator.training.steps import GraphedStep, Step


class Trainer:
    """Trains the modules of a method in place.

    It owns the order of samples, optimizers, learning rates, precision, graphs, random numbers and
    the history; all of it is state that can be saved and restored.

    Parameters
    ----------
    method : Method
        What to train.
    given : mapping of str to HostRows
        Columns that are not derived from others.
    plan : Plan
        What is kept where.
    sampler : Sampler
        Order of the samples.
    duration : Duration
        Number of rounds through the phases.
    optimizer : OptimizerSettings
        Optimizer, learning rate and schedule.
    warmup : int, default=0
        Rounds of warm-up.
    seed : int, default=0
        Seed of dropout and augmentation.
    drop_last : bool, default=False
        Whether the last, smaller batch of a pass is dropped.
    monitor : CollapseMonitor, default=None
        Watches an encoder for collapse.
    on_step : callable, default=None
        Called with the trainer after every step, for example to save its state.
    """

    def __init__(
        self,
        method: Method,
        given: Mapping[str, HostRows],
        *,
        plan: Plan,
        sampler: Sampler,
        duration: Duration,
        optimizer: OptimizerSettings,
        warmup: int = 0,
        seed: int = 0,
        drop_last: bool = False,
        monitor: CollapseMonitor | None = None,
        on_step: Callable[[Trainer], None] | None = None,
    ) -> None:
        self.plan = plan
        self.history: list[dict[str, Any]] = []
        self.interrupted = False
        self._method = method
        self._given = given
        self._sampler = sampler
        self._duration = duration
        self._optimizer = optimizer
        self._warmup = warmup
        self._seed = seed
        self._monitor = monitor
        self._on_step = on_step
        self._device = torch.device(plan.device)
        self._sizes = self._batch_sizes(drop_last)
        self._round = self._turn = 0
        self._phases: list[PhaseState] = []
        self._saved_state: dict[str, Any] | None = None
        self._trainable = {
            parameter: parameter.requires_grad
            for module in method.modules.values()
            for parameter in module.parameters()
        }

    @property
    def total_steps(self) -> int:
        """Optimizer steps of a whole run."""
        return self._duration.count * sum(map(self._steps_per_turn, self._method.phases))

    @property
    def steps(self) -> int:
        """Optimizer steps made so far."""
        return sum(state.steps for state in self._phases)

    def fit(self, progress: Progress) -> None:
        """Train to the end, from the start or from a restored state.

        Ctrl-C ends training early and leaves the modules usable.
        """
        with (
            current_device(self._device),
            math_mode(self.plan.precision),
            seeded(self._seed, self._device),
        ):
            try:
                self._setup()
                self._run(progress)
            finally:
                if self._monitor is not None:
                    self._monitor.close()
        for parameter, trainable in self._trainable.items():
            parameter.requires_grad_(trainable)

    def _run(self, progress: Progress) -> None:
        """Go through the phases, round after round, from the present position."""
        progress.advance(self.steps)
        try:
            while self._round < self._duration.count:
                state = self._phases[self._turn]
                total = self._steps_per_turn(state.phase)
                if state.steps_in_turn < total:
                    self._begin_turn(state, progress)
                while state.steps_in_turn < total:
                    self._train_step(state, progress)
                state.steps_in_turn = 0
                self._turn = (self._turn + 1) % len(self._phases)
                self._round += self._turn == 0
        except KeyboardInterrupt:
            self.interrupted = True
        for state in self._phases:
            if state.steps_in_pass:
                self._end_pass(state, progress)

    def _begin_turn(self, state: PhaseState, progress: Progress) -> None:
        """Refresh what the phase reads from networks that have changed, and set its modes."""
        self._began = time.perf_counter()  # a pass includes the columns refreshed for it
        self._set_modes(state.phase, training=False)
        self._columns.refresh(state.phase.columns, fixed=False)
        self._set_modes(state.phase, training=True)
        progress.begin(state.phase.name)

    def _train_step(self, state: PhaseState, progress: Progress) -> None:
        if state.steps_in_pass == 0:
            state.begin_pass(self._sampler.next_pass(), self._round, self._began)
            state.prepare_reading(self._rows_left(state))
        state.train_batch(self._sizes, self._stepper_for)
        progress.advance()
        if state.steps_in_pass == len(self._sizes):
            self._end_pass(state, progress)
            self._began = time.perf_counter()
        if self._on_step is not None:
            self._on_step(self)

    def _end_pass(self, state: PhaseState, progress: Progress) -> None:
        loss, seconds, steps = state.end_pass()
        phase = state.phase
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss of phase {phase.name!r} is {loss} in pass {len(self.history)}: try a "
                "smaller learning_rate, or precision='32'"
            )
        record = {
            "epoch": state.round,
            "phase": phase.name,
            "loss": loss,
            "seconds": seconds,
            "steps": steps,
            "learning_rates": {g.name: float(g.lr) for g in state.optimizer.groups},
        }
        self.history.append(record)
        if self._monitor is not None and phase.trains(self._monitor.encoder):
            self._set_modes(phase, training=False)
            with self._autocast():
                self._monitor.update(record)
            self._set_modes(phase, training=True)
        progress.report(record)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the rest of the run depends on.

        Weights, optimizers with their position in the schedules, every generator, the position in
        the pass and the history. Call it from `on_step`.
        """
        if self._monitor is not None:
            self._monitor.flush()
        return {
            "modules": {
                name: {key: value.cpu().clone() for key, value in module.state_dict().items()}
                for name, module in self._method.modules.items()
            },
            "phases": [state.state_dict() for state in self._phases],
            "position": {"round": self._round, "turn": self._turn},
            "sampler": self._sampler.state_dict(),
            "rng": rng_state(self._device),
            "monitor": None if self._monitor is None else self._monitor.state_dict(),
            "history": copy.deepcopy(self.history),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`; `fit` then continues from there."""
        self._saved_state = state

    def _setup(self) -> None:
        """Move everything to its place, restore a saved state, compute what never changes."""
        for module in self._method.modules.values():
            # Two-dimensional convolutions are fastest with channels last, on CPUs too.
            module.to(self._device).to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
        self._columns = ColumnStore(
            self._given, self._method.derived, self.plan, self._device, self._autocast
        )
        if self._monitor is not None:
            self._monitor.setup(self._device)
        self._phases = [
            PhaseState(
                phase,
                self._columns,
                self._optimizer,
                self._schedule_for,
                self._device,
                self._autocast,
            )
            for phase in self._method.phases
        ]
        state = self._saved_state
        if state is not None:
            for name, module in self._method.modules.items():
                module.load_state_dict(state["modules"][name])
            for phase, saved in zip(self._phases, state["phases"], strict=True):
                phase.load_state_dict(saved)
                phase.prepare_reading(self._rows_left(phase))
            self._round, self._turn = state["position"]["round"], state["position"]["turn"]
            self._sampler.load_state_dict(state["sampler"])
            self.history = copy.deepcopy(state["history"])
            if self._monitor is not None:
                self._monitor.load_state_dict(state["monitor"])
        self._columns.refresh([column.name for column in self._method.derived], fixed=True)
        if state is not None:  # last, in case a column draws random numbers
            set_rng_state(state["rng"], self._device)

    def _batch_sizes(self, drop_last: bool) -> list[int]:
        several_rows = any(
            uses_batch_norm(module) for phase in self._method.phases for module in phase.train_mode
        )
        sizes = batch_sizes(
            self._sampler.length,
            self.plan.batch_size,
            avoid_single_row=several_rows,
            drop_last=drop_last,
        )
        if several_rows and 1 in sizes:
            raise ValueError(
                "batch normalization cannot train on batches of one row: increase batch_size"
            )
        return sizes

    def _steps_per_turn(self, phase: Phase) -> int:
        return phase.repeats * (1 if self._duration.by_steps else len(self._sizes))

    def _rows_left(self, state: PhaseState) -> int:
        """Return how many samples a phase still reads in the present pass."""
        steps = self._duration.count * self._steps_per_turn(state.phase) - state.steps
        return sum(self._sizes[state.steps_in_pass : state.steps_in_pass + steps])

    def _schedule_for(self, group: ParameterGroup) -> Schedule:
        steps_per_round = 1 if self._duration.by_steps else len(self._sizes)
        total = self._duration.count * steps_per_round
        if group.schedule is not None:
            return Schedule(group.schedule, total)
        return Schedule(self._optimizer.schedule, total, self._warmup * steps_per_round)

    def _set_modes(self, phase: Phase, *, training: bool) -> None:
        """Only what a phase trains gets gradients; only its `train_mode` is in training mode."""
        for module in self._method.modules.values():
            module.eval()
        for parameter in self._trainable:
            parameter.requires_grad_(False)
        if training:
            for module in phase.train_mode:
                module.train()
            for group in phase.groups:
                for parameter in group.parameters():
                    parameter.requires_grad_(self._trainable[parameter])

    def _stepper_for(self, state: PhaseState, index: Tensor) -> Step | GraphedStep:
        if not self.plan.graphs:
            return state.step
        if len(index) not in state.graphs:
            try:
                state.graphs[len(index)] = GraphedStep(state.step, index)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                # For example a network of the user that waits for the device; it can still train.
                reason = str(error).splitlines()[0]
                warnings.warn(
                    f"a step cannot be captured as a CUDA graph, so steps run eagerly ({reason})",
                    GraphCaptureWarning,
                    stacklevel=2,
                )
                self.plan = replace(self.plan, graphs=False)
                return state.step
        return state.graphs[len(index)]

    def _autocast(self) -> AbstractContextManager[None]:
        return autocast(self.plan.precision, self._device)
