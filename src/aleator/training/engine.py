"""The loop that trains every method."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from aleator.networks.bank import normalises_batches
from aleator.training.columns import ColumnStore
from aleator.training.devices import arithmetic, autocast, current, seeded
from aleator.training.method import Method, Phase
from aleator.training.optimizers import Optimizer, OptimizerSettings
from aleator.training.plan import Plan, Rounds
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler, batch_sizes
from aleator.training.schedules import Schedule
from aleator.training.steps import GraphedStep, Step
from aleator.training.watch import EmbeddingWatch


class Engine:
    """Trains a method's modules in place.

    It owns the order of samples, optimizers, learning rates, precision, graphs and noise.
    """

    def __init__(
        self,
        method: Method,
        leaves: Mapping[str, Tensor],
        *,
        plan: Plan,
        sampler: Sampler,
        rounds: Rounds,
        optimizer: OptimizerSettings,
        schedule: str = "constant",
        warmup_rounds: int = 0,
        noise_seed: int = 0,
        drop_last: bool = False,
        watch: EmbeddingWatch | None = None,
    ) -> None:
        self.plan = plan
        self.history: list[dict[str, Any]] = []
        self.interrupted = False
        self._method = method
        self._leaves = leaves
        self._sampler = sampler
        self._rounds = rounds
        self._optimizer = optimizer
        self._noise_seed = noise_seed
        self._watch = watch
        self._device = torch.device(plan.device)
        several_rows = any(
            normalises_batches(module) for phase in method.phases for module in phase.running
        )
        self._sizes = batch_sizes(
            sampler.length, plan.batch_size, avoid_single_row=several_rows, drop_last=drop_last
        )
        if several_rows and 1 in self._sizes:
            raise ValueError(
                "batch normalisation cannot train on batches of one row: raise batch_size"
            )
        steps_a_round = 1 if rounds.by_steps else len(self._sizes)
        self._schedule = Schedule(
            schedule, total=rounds.count * steps_a_round, warmup=warmup_rounds * steps_a_round
        )
        self._trainable = {
            parameter: parameter.requires_grad
            for module in method.modules.values()
            for parameter in module.parameters()
        }

    @property
    def total_steps(self) -> int:
        """Optimizer steps that a whole run makes."""
        repeats = sum(phase.repeats for phase in self._method.phases)
        return self._rounds.count * repeats * (1 if self._rounds.by_steps else len(self._sizes))

    def train(self, progress: Progress) -> None:
        """Run all rounds; Ctrl-C ends training early and leaves the modules usable."""
        with (
            current(self._device),
            arithmetic(self.plan.precision),
            seeded(self._noise_seed, self._device),
        ):
            try:
                self._run_rounds(progress)
            finally:
                if self._watch is not None:
                    self._watch.close()
        for parameter, trainable in self._trainable.items():
            parameter.requires_grad_(trainable)

    def _run_rounds(self, progress: Progress) -> None:
        self._settle()
        try:
            for round_ in range(self._rounds.count):
                for pupil in self._pupils:
                    self._take_turn(pupil, round_, progress)
        except KeyboardInterrupt:
            self.interrupted = True
        for pupil in self._pupils:
            if pupil.steps_in_pass:
                self._close_pass(pupil, progress)

    def _settle(self) -> None:
        """Move everything to its place and compute what never changes."""
        for module in self._method.modules.values():
            # Two-dimensional convolutions are fastest with channels last, on CPUs too.
            module.to(self._device).to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
        self._columns = ColumnStore(
            self._leaves, self._method.derived, self.plan, self._device, self._networks_run
        )
        self._columns.refresh([column.name for column in self._method.derived], fixed=True)
        if self._watch is not None:
            self._watch.settle(self._device)
        self._pupils = [
            _Pupil(phase, self._columns, self._optimizer, self._device, self._networks_run)
            for phase in self._method.phases
        ]

    def _take_turn(self, pupil: _Pupil, round_: int, progress: Progress) -> None:
        """One phase's turn in a round."""
        phase = pupil.phase
        if phase.repeats == 0:
            return
        began = time.perf_counter()  # a pass is charged with the columns refreshed for it
        self._set_modes(phase, training=False)
        self._columns.refresh(phase.columns, fixed=False)
        self._set_modes(phase, training=True)
        progress.begin(phase.name)
        steps = phase.repeats * (1 if self._rounds.by_steps else len(self._sizes))
        for _ in range(steps):
            if pupil.steps_in_pass == 0:
                pupil.begin_pass(self._sampler.next_pass(), self._device, round_, began)
            self._set_rates(pupil)
            pupil.step_on_batch(self._sizes, self._stepper_for)
            progress.advance()
            if pupil.steps_in_pass == len(self._sizes):
                self._close_pass(pupil, progress)
                began = time.perf_counter()

    def _close_pass(self, pupil: _Pupil, progress: Progress) -> None:
        loss, seconds, steps = pupil.end_pass()
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss of the {pupil.phase.name} phase became {loss} in pass "
                f"{len(self.history)}: try a smaller learning_rate, or precision='32'"
            )
        record = {
            "epoch": pupil.begun_in,
            "phase": pupil.phase.name,
            "loss": loss,
            "seconds": seconds,
            "steps": steps,
            "learning_rates": {g.role: float(g.rate) for g in pupil.optimizer.groups},
        }
        self.history.append(record)
        if self._watch is not None and "encoder" in pupil.phase.trains:
            self._set_modes(pupil.phase, training=False)
            with self._networks_run():
                self._watch.look(record)
            self._set_modes(pupil.phase, training=True)
        progress.note(loss)

    def _set_modes(self, phase: Phase, *, training: bool) -> None:
        """Only what a phase trains is differentiated; only what it runs is in training mode."""
        for module in self._method.modules.values():
            module.eval()
        for parameter in self._trainable:
            parameter.requires_grad_(False)
        if training:
            for module in phase.running:
                module.train()
            for module in phase.trains.values():
                for parameter in module.parameters():
                    parameter.requires_grad_(self._trainable[parameter])

    def _set_rates(self, pupil: _Pupil) -> None:
        """Move the encoder's learning rate; predictors keep theirs (the paper's recipes)."""
        if not self._schedule.moves or "encoder" not in pupil.phase.trains:
            return
        rate = self._optimizer.learning_rates["encoder"] * self._schedule.share(pupil.steps)
        for group in pupil.optimizer.groups:
            if group.role == "encoder":
                group.set_rate(rate)

    def _stepper_for(self, pupil: _Pupil, index: Tensor) -> Step | GraphedStep:
        if not self.plan.graphs:
            return pupil.step
        if len(index) not in pupil.graphs:
            try:
                pupil.graphs[len(index)] = GraphedStep(pupil.step, index)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                # A network of the user's that waits for the device, say; it can still train.
                reason = str(error).splitlines()[0]
                warnings.warn(
                    f"a step cannot be captured as a CUDA graph, so steps run eagerly ({reason})",
                    stacklevel=2,
                )
                self.plan = replace(self.plan, graphs=False)
                return pupil.step
        return pupil.graphs[len(index)]

    def _networks_run(self) -> AbstractContextManager[None]:
        return autocast(self.plan.precision, self._device)


class _Pupil:
    """A phase in training: its optimizer, its steps and where it stands in a pass."""

    def __init__(
        self,
        phase: Phase,
        columns: ColumnStore,
        settings: OptimizerSettings,
        device: torch.device,
        networks_run: Any,
    ) -> None:
        self.phase = phase
        self.optimizer = Optimizer(settings, phase.trains, device)
        self.step = Step(phase, columns, self.optimizer, device, networks_run)
        self.graphs: dict[int, GraphedStep] = {}
        self.steps = 0
        self.steps_in_pass = 0

    def begin_pass(self, order: Tensor, device: torch.device, round_: int, began: float) -> None:
        self.begun_in = round_
        self._order = order
        self._order_there = order.to(device)
        self._seen = 0
        self._began = began
        self.step.loss_sum.zero_()

    def step_on_batch(self, sizes: Sequence[int], stepper_for: Any) -> None:
        begin, end = self._seen, self._seen + sizes[self.steps_in_pass]
        index = self._order_there[begin:end]
        self.step.stage(self._order[begin:end])
        stepper_for(self, index)(index)
        self._seen = end
        self.steps += 1
        self.steps_in_pass += 1

    def end_pass(self) -> tuple[float, float, int]:
        """Mean loss of the pass's batches, seconds and steps; waits for the device."""
        steps, self.steps_in_pass = self.steps_in_pass, 0
        loss = float(self.step.loss_sum) / steps
        return loss, time.perf_counter() - self._began, steps
