"""Estimators that are trained: optimizer, schedule, length, trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from aleator.estimators.base import RepresentationLearner
from aleator.estimators.declaration import estimator
from aleator.estimators.fit_context import FitContext, TrainingResult, TrainingSpec
from aleator.training.continuation import (
    fitting_state,
    is_finished,
    plan_of_state,
    plan_with_room,
    warn_of_other_conditions,
)
from aleator.training.devices import CPU, free_memory, resolve_precision
from aleator.training.distribution import OneProcess
from aleator.training.host_rows import TensorRows, rows_of
from aleator.training.launch import ProcessChoice
from aleator.training.method import INPUT
from aleator.training.monitor import CollapseMonitor
from aleator.training.optimizers import OPTIMIZERS, OptimizerSettings
from aleator.training.piece_sampler import sampler_for
from aleator.training.plan import Duration, make_plan
from aleator.training.progress import Progress
from aleator.training.schedules import SCHEDULES
from aleator.training.trainer import Trainer
from aleator.validation import (
    check_choice,
    check_int,
    check_number,
    check_optional_int,
    check_optional_number,
)


@estimator
class TrainedLearner(RepresentationLearner):
    """Base class of the estimators that train an encoder.

    Parameters
    ----------
    {encoder}
    {training}
    {data}
    """

    embedding_dim: int | None = None
    encoder: Any = "auto"
    epochs: int = 100
    steps: int | None = None
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: str = "constant"
    warmup_epochs: int = 0
    memory_limit: int | None = None
    devices: int = 1
    num_nodes: int = 1
    strategy: str = "ddp"
    progress: bool = True
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_epochs()
        check_optional_int("steps", self.steps, minimum=1)
        check_int("batch_size", self.batch_size, minimum=1)
        check_int("warmup_epochs", self.warmup_epochs, minimum=0)
        check_optional_int("memory_limit", self.memory_limit, minimum=0)
        check_int("verbose", int(self.verbose), minimum=0)
        check_optional_number("learning_rate", self.learning_rate, 0, include_low=False)
        check_number("momentum", self.momentum, 0, 1)
        check_number("weight_decay", self.weight_decay, 0)
        if not isinstance(self.betas, Sequence) or len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, got {self.betas!r}")
        for beta in self.betas:
            check_number("betas", beta, 0, 1)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("schedule", self.schedule, SCHEDULES)
        self._process_choice().check()

    def _process_choice(self) -> ProcessChoice:
        return ProcessChoice(self.devices, self.num_nodes, self.strategy, self.device)

    def _join_processes(self, *arguments: Any, **named: Any) -> OneProcess | None:
        choice = self._process_choice()
        if not choice.runs_function:
            return choice.join()
        for name, value in choice.run(_fit_and_return, self, arguments, named).items():
            setattr(self, name, value)
        return None

    def _train(
        self, spec: TrainingSpec, context: FitContext, device: torch.device
    ) -> TrainingResult:
        trainer, monitor = self._make_trainer(spec, context, device)
        name = type(self).__name__
        shown = context.processes.is_first
        with Progress(
            name,
            trainer.total_steps,
            bar=bool(self.progress) and shown,
            verbose=int(self.verbose) if shown else 0,
        ) as progress:
            trainer.fit(progress)
        return TrainingResult(
            trainer.history, trainer.plan, monitor.check(trainer.history), trainer.interrupted
        )

    def _make_trainer(
        self, spec: TrainingSpec, context: FitContext, device: torch.device
    ) -> tuple[Trainer, CollapseMonitor]:
        given = {INPUT: rows_of(context.source)}
        given |= {name: TensorRows(column) for name, column in spec.columns.items()}
        processes = context.processes
        duration = self._duration(context)
        batch_size = self.batch_size * processes.size
        repeats = max(phase.repeats for phase in spec.method.phases)
        sampler = sampler_for(
            context.source.in_pieces, context.sampler, duration, repeats, batch_size
        )
        sampler = processes.divided(sampler)
        given = {name: processes.own(rows) for name, rows in given.items()}
        plan = make_plan(
            spec.method,
            given,
            duration,
            pass_length=sampler.length,
            batch_size=batch_size,
            device=device,
            precision=resolve_precision(self.precision, device),
            memory_limit=self.memory_limit,
            optimizer=self.optimizer,
            processes=processes.size,
            per_machine=processes.per_machine,
        )
        state = None
        if context.checkpoints is not None and (last := context.checkpoints.latest()) is not None:
            state = last.state
            with fitting_state(context.checkpoints.path):
                warn_of_other_conditions(state, device, processes.size)
                limit = context.checkpoints.record["parameters"].get("memory_limit")
                # What is free on the device now may be another part of its memory than it was then.
                if limit == self.memory_limit:
                    present, plan = plan, plan_of_state(state, plan)
                    if not is_finished(state, duration.count):
                        room = free_memory(CPU) // processes.per_machine
                        plan = plan_with_room(plan, present, given, room)
        plan, state = processes.agree_on_start(plan, state)
        with self._explained_memory(device):
            spec.materialize()
        monitor = CollapseMonitor(spec.method.modules["encoder"], context.source)
        trainer = Trainer(
            spec.method,
            given,
            plan=plan,
            sampler=sampler,
            duration=duration,
            optimizer=self._optimizer_settings(context),
            warmup=self.warmup_epochs,
            seed=context.seeds.noise,
            monitor=monitor,
            checkpoints=context.checkpoints,
            processes=processes,
        )
        if state is not None:
            trainer.load_state_dict(state)
        return trainer, monitor

    def _check_epochs(self) -> None:
        check_int("epochs", self.epochs, minimum=0)

    def _duration(self, context: FitContext) -> Duration:
        if self.steps is not None:
            return Duration(int(self.steps), by_steps=True)
        return Duration(int(self.epochs))

    def _default_learning_rate(self, context: FitContext) -> float:
        return context.modality.learning_rate

    def _optimizer_settings(self, context: FitContext) -> OptimizerSettings:
        lr = self.learning_rate
        if lr is None:
            lr = self._default_learning_rate(context)
        return OptimizerSettings(
            self.optimizer,
            float(lr),
            (float(self.betas[0]), float(self.betas[1])),
            float(self.momentum),
            float(self.weight_decay),
            self.schedule,
        )


def _fit_and_return(
    estimator: TrainedLearner, arguments: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Fit in a process that was started for it, and return the fitted attributes."""
    estimator.fit(*arguments, **named)
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}
