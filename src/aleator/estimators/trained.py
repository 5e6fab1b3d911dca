"""What all methods that train have in common: an optimizer, a schedule, a length, an engine."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from aleator.estimators.base import Draft, EncoderLearner, Material, Training, estimator
from aleator.parameters import require_int, require_number, require_one_of
from aleator.training.devices import resolve_precision
from aleator.training.engine import Engine
from aleator.training.method import INPUT
from aleator.training.optimizers import OPTIMIZERS, OptimizerSettings
from aleator.training.plan import Rounds, make_plan
from aleator.training.progress import Progress
from aleator.training.schedules import SCHEDULES
from aleator.training.watch import EmbeddingWatch

# What learning_rate=None stands for: the paper's settings for this kind of data (appendix C), or,
# for the rate of Adam on images, which the paper trains with SGD, that of its series.
LEARNING_RATES = {"table": 1e-3, "series": 3e-4, "image": 3e-4}


@estimator
class TrainedLearner(EncoderLearner):
    """A representation learner whose draft is trained by the engine."""

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
    progress: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_int("batch_size", self.batch_size, least=1)
        for name, least in (("epochs", 0), ("warmup_epochs", 0), ("steps", 1), ("memory_limit", 0)):
            if getattr(self, name) is not None or name in ("epochs", "warmup_epochs"):
                require_int(name, getattr(self, name), least)
        if self.learning_rate is not None:
            require_number("learning_rate", self.learning_rate, 0, low_allowed=False)
        require_number("momentum", self.momentum, 0, 1)
        require_number("weight_decay", self.weight_decay, 0)
        if not isinstance(self.betas, Sequence) or len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, not {self.betas!r}")
        for beta in self.betas:
            require_number("betas", beta, 0, 1)
        require_one_of("optimizer", self.optimizer, OPTIMIZERS)
        require_one_of("schedule", self.schedule, SCHEDULES)

    def _train(self, draft: Draft, material: Material, device: torch.device) -> Training:
        leaves = {INPUT: material.data, **draft.columns}
        rounds = self._rounds()
        settings = self._optimizer_settings(material.modality)
        plan = make_plan(
            draft.method,
            leaves,
            rounds,
            rows_a_pass=material.sampler.length,
            batch_size=self.batch_size,
            device=device,
            precision=resolve_precision(self.precision, device),
            memory_limit=self.memory_limit,
            optimizer=self.optimizer,
        )
        draft.furnish()
        watch = EmbeddingWatch(draft.method.modules["encoder"], material.data)
        engine = Engine(
            draft.method,
            leaves,
            plan=plan,
            sampler=material.sampler,
            rounds=rounds,
            optimizer=settings,
            schedule=self.schedule,
            warmup_rounds=self.warmup_epochs,
            noise_seed=material.seeds.noise,
            watch=watch,
        )
        name = type(self).__name__
        with Progress(name, engine.total_steps, shown=bool(self.progress)) as progress:
            engine.train(progress)
        warning = watch.verdict(engine.history)
        if engine.interrupted:
            warning = (
                f"training was interrupted after {len(engine.history)} passes over the data; "
                "what was learnt so far is kept and can be used"
            )
        return Training(engine.history, engine.plan, warning, engine.interrupted)

    def _rounds(self) -> Rounds:
        if self.steps is not None:
            return Rounds(int(self.steps), by_steps=True)
        return Rounds(int(self.epochs))

    def _rate(self, modality: str) -> float:
        return LEARNING_RATES[modality] if self.learning_rate is None else self.learning_rate

    def _optimizer_settings(self, modality: str) -> OptimizerSettings:
        rate = self._rate(modality)
        apart = getattr(self, "predictor_learning_rate", None)
        return OptimizerSettings(
            self.optimizer,
            {"encoder": float(rate), "predictor": float(rate if apart is None else apart)},
            (float(self.betas[0]), float(self.betas[1])),
            float(self.momentum),
            float(self.weight_decay),
        )
