"""The loop that trains every method."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from aleator.exceptions import GraphCaptureWarning
from aleator.training.checkpoint import CheckpointFolder
from aleator.training.columns import ColumnStore
from aleator.training.continuation import fitting_state, history_of_state, is_finished
from aleator.training.devices import (
    autocast,
    current_device,
    rng_state,
    rounding_conditions,
    seeded,
    set_rng_state,
)
from aleator.training.distribution import OneProcess
from aleator.training.fallback import out_of_memory, plan_for_less, undo_step
from aleator.training.host_rows import HostRows
from aleator.training.interrupts import DeferredInterrupt
from aleator.training.math_mode import math_mode
from aleator.training.memory_errors import is_out_of_memory
from aleator.training.method import Method, Phase
from aleator.training.modes import Modes
from aleator.training.monitor import CollapseMonitor
from aleator.training.optimizers import OptimizerSettings
from aleator.training.passes import Passes
from aleator.training.phase_state import PhaseState
from aleator.training.plan import Duration, Plan
from aleator.training.progress import Progress
from aleator.training.restored_state import restore_phases
from aleator.training.sampler import Sampler
from aleator.training.steps import GraphedStep, Step

# How often it is checked within a pass that losses are finite. A check waits for the device.
_STEPS_PER_CHECK = 100


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
    checkpoints : CheckpointFolder, default=None
        Where the state is written, at the start, whenever it is due, at the end and at Ctrl-C.
    on_step : callable, default=None
        Called with the trainer after every step, for example to save its state.
    processes : OneProcess, default=None
        The processes that train together; None is this one alone.
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
        checkpoints: CheckpointFolder | None = None,
        on_step: Callable[[Trainer], None] | None = None,
        processes: OneProcess | None = None,
    ) -> None:
        self.plan = plan
        self.history: list[dict[str, Any]] = []
        self.interrupted = False
        self._method = method
        self._given = given
        self._sampler = sampler
        self._optimizer = optimizer
        self._seed = seed
        self._monitor = monitor
        self._checkpoints = checkpoints
        self._on_step = on_step
        self._processes = OneProcess() if processes is None else processes
        self._device = torch.device(plan.device)
        # Not a method: columns and steps that refer to the trainer would keep it, with all its
        # tensors, until the garbage collector finds the cycle.
        self._autocast = partial(autocast, plan.precision, self._device)
        self._passes = Passes(
            method,
            sampler.length,
            plan.batch_size,
            duration,
            schedule=optimizer.schedule,
            warmup=warmup,
            drop_last=drop_last,
        )
        self._round = self._turn = 0
        self._phases: list[PhaseState] = []
        # Phases and batch sizes of which a step has been made, so that memory sufficed.
        self._tried: set[tuple[str, int]] = set()
        self._in_step = False
        self._saved_state: dict[str, Any] | None = None
        self._fitting_state = partial(fitting_state, checkpoints.path if checkpoints else None)
        self._modes = Modes(method.modules.values())

    @property
    def total_steps(self) -> int:
        """Optimizer steps of a whole run."""
        return self._passes.total_steps

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
            # Processes that train together stop together, between two steps.
            DeferredInterrupt(
                active=self._checkpoints is not None or not self._processes.alone
            ) as interrupt,
            self._processes.connected(self._method),
        ):
            try:
                state = self._saved_state
                with self._fitting_state():
                    finished = state is not None and is_finished(state, self._passes.rounds)
                if state is not None and finished:
                    self._restore_networks(state)
                else:
                    self._set_up_what_fits()
                    self._run(progress, interrupt)
            finally:
                if self._monitor is not None:
                    self._monitor.close()
            self._processes.make_equal(self._method.modules)
        if self.plan.dtype == torch.float64:
            for module in self._method.modules.values():
                module.float()  # as models are saved and used
        self.history = self._processes.agree_on_history(self.history)
        self._modes.restore()

    def _run(self, progress: Progress, interrupt: DeferredInterrupt) -> None:
        """Go through the phases, round after round, from the present position."""
        progress.advance(self.steps)
        if self._checkpoints is not None:
            self._checkpoints.check_writable()
            if self._saved_state is None:
                self._write_checkpoint()
        try:
            while self._round < self._passes.rounds:
                failure = None
                try:
                    self._run_turn(progress, interrupt)
                except (RuntimeError, MemoryError) as error:
                    if not is_out_of_memory(error):
                        raise
                    # The traceback holds tensors: only its text may outlive this block.
                    failure = str(error)
                if failure is not None:
                    self._continue_with_less(failure)
        except KeyboardInterrupt:
            self.interrupted = True
            if self._checkpoints is not None and not self._in_step:
                self._write_checkpoint()
        for state in self._phases:
            if state.steps_in_pass:
                self._end_pass(state, progress)
        if self._checkpoints is not None and not self.interrupted:
            self._write_checkpoint()

    def _run_turn(self, progress: Progress, interrupt: DeferredInterrupt) -> None:
        """Let the phase whose turn it is make the steps that are left of its turn."""
        state = self._phases[self._turn]
        total = self._passes.steps_per_turn(state.phase)
        if state.steps_in_turn < total:
            self._begin_turn(state, progress)
        while state.steps_in_turn < total:
            self._train_step(state, progress)
            if self._checkpoints is not None and self._checkpoints.due(self.steps):
                self._write_checkpoint()
            self._processes.check_interrupt(interrupt, self.steps)
        state.steps_in_turn = 0
        self._turn = (self._turn + 1) % len(self._phases)
        self._round += self._turn == 0

    def _begin_turn(self, state: PhaseState, progress: Progress) -> None:
        """Refresh what the phase reads from networks that have changed, and set its modes."""
        self._began = time.perf_counter()  # a pass includes the columns refreshed for it
        self._modes.evaluate()
        self._columns.refresh(state.phase.columns, fixed=False)
        self._modes.train(state.phase)
        progress.begin(state.phase.name)

    def _train_step(self, state: PhaseState, progress: Progress) -> None:
        kind = state.phase.name, self._passes.sizes[state.steps_in_pass]
        undo = undo_step(state, self._sampler, self._device) if kind not in self._tried else None
        self._in_step = True
        try:
            if state.steps_in_pass == 0:
                state.begin_pass(self._sampler.next_pass(), self._round, self._began)
                state.prepare_reading(self._passes.rows_left(state))
            state.train_batch(self._passes.sizes, self._stepper_for)
        except (RuntimeError, MemoryError) as error:
            if undo is not None and is_out_of_memory(error) and not state.step.updating:
                undo()
                self._in_step = False
            raise
        self._tried.add(kind)
        progress.advance()
        if state.steps_in_pass == len(self._passes.sizes):
            self._end_pass(state, progress)
            self._began = time.perf_counter()
        elif state.steps_in_pass % _STEPS_PER_CHECK == 0:
            state.check_loss()
        self._in_step = False
        if self._on_step is not None:
            self._on_step(self)

    def _end_pass(self, state: PhaseState, progress: Progress) -> None:
        state.check()
        loss, seconds, steps = state.end_pass()
        phase = state.phase
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
            self._modes.evaluate()
            with self._autocast():
                self._monitor.update(record)
            self._modes.train(phase)
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
            "plan": self.plan.to_dict(),
            "conditions": rounding_conditions(self._device),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`; `fit` then continues from there."""
        self._saved_state = state

    def _setup(self) -> None:
        """Move everything to its place, restore a saved state, compute what never changes."""
        for module in self._method.modules.values():
            if self.plan.dtype == torch.float64:
                module.double()
            # Two-dimensional convolutions are fastest with channels last, on CPUs too.
            module.to(self._device).to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
        self._columns: ColumnStore = ColumnStore(
            self._given, self._method.derived, self.plan, self._device, self._autocast,
            ragged=not self._processes.alone,
        )  # fmt: skip
        if self._monitor is not None:
            self._monitor.setup(self._device, self.plan.dtype)
        self._phases = [
            PhaseState(
                phase,
                self._columns,
                self._optimizer,
                self._passes.schedule_for,
                self._device,
                self._autocast,
                self.plan.micro_batch,
                self._processes,
            )
            for phase in self._method.phases
        ]
        state = self._saved_state
        if state is not None:
            self._restore_networks(state)
            with self._fitting_state():
                self._round, self._turn = restore_phases(
                    state, self._phases, self._passes, self._sampler
                )
        self._processes.make_equal(self._method.modules)
        self._columns.refresh([column.name for column in self._method.derived], fixed=True)
        if state is not None:  # last, in case a column draws random numbers
            with self._fitting_state():
                set_rng_state(state["rng"], self._device)

    def _restore_networks(self, state: dict[str, Any]) -> None:
        """Restore the weights and what is known of the embedding; all there is after training."""
        with self._fitting_state():
            for name, module in self._method.modules.items():
                module.load_state_dict(state["modules"][name])
            self.history = history_of_state(state)
            if self._monitor is not None:
                self._monitor.load_state_dict(state["monitor"])

    def _set_up_what_fits(self) -> None:
        """Set up, and keep less in memory as long as it does not suffice."""
        while True:
            failure = None
            try:
                self._setup()
                return
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                failure = str(error)
            self._keep_less(failure)

    def _continue_with_less(self, failure: str) -> None:
        """Continue with less in memory, from before the step for which it did not suffice."""
        phase = self._phases[self._turn].phase
        if not self._in_step:
            self._saved_state = self.state_dict()
        elif self._checkpoints is not None and (last := self._checkpoints.latest()) is not None:
            self._saved_state = last.state
        else:
            raise out_of_memory(self.plan, failure)
        self._keep_less(failure, phase)
        self._set_up_what_fits()

    def _keep_less(self, failure: str, phase: Phase | None = None) -> None:
        """Change the plan, and free what was kept as the old one said."""
        if not self._processes.alone:
            # The others have not run out of memory, and would not know of a change.
            raise out_of_memory(self.plan, failure, phase)
        self.plan = plan_for_less(self.plan, self._method, self._given, phase, failure)
        self._phases = []
        vars(self).pop("_columns", None)  # there are none yet if they did not fit
        self._modes.restore()
        self._tried.clear()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _write_checkpoint(self) -> None:
        """Write the state, unless the run has diverged: a bad state never replaces a good one."""
        assert self._checkpoints is not None
        for state in self._phases:
            state.check()
        self._checkpoints.write(self.state_dict(), self.steps)

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
