"""The scikit-learn face that every method shares: fit, transform, save."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, _get_feature_names, check_is_fitted
from torch import Tensor

from aleator.inputs import Door
from aleator.parameters import refuse_not_stored
from aleator.training.devices import resolve_device, resolve_precision
from aleator.training.embedding import embed
from aleator.training.engine import Engine
from aleator.training.method import INPUT, Method
from aleator.training.optimizers import OptimizerSettings
from aleator.training.plan import Rounds, make_plan
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler

# What None stands for: the paper's settings for this kind of data (appendix C), or, for the rate of
# Adam on images, which the paper trains with SGD, that of its series.
PAPER_DEFAULTS: dict[str, dict[str, Any]] = {
    "table": {"learning_rate": 1e-3, "predictor_epochs": 1},
    "series": {"learning_rate": 3e-4, "predictor_epochs": 5},
    "image": {"learning_rate": 3e-4, "predictor_epochs": 5},
}


@dataclass(frozen=True)
class Seeds:
    """Independent seeds, so that changing one part of a run leaves the others' draws alone."""

    encoder: int
    projectors: int
    predictors: int
    order: int
    noise: int

    @classmethod
    def drawn_from(cls, random_state: Any) -> Seeds:
        """Seeds from what scikit-learn accepts as `random_state`."""
        root = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return cls(*(int(seed) for seed in np.random.SeedSequence(root).generate_state(5)))


@dataclass(frozen=True)
class Draft:
    """A method made ready to train, and how to read off what it has learnt."""

    method: Method
    learnt: Callable[[], dict[str, Any]]


class RepresentationLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What LFR and its rivals have in common; a subclass drafts its method.

    Nothing is stored on the estimator before training has succeeded.
    """

    modality: Any
    preprocessing: Any
    epochs: Any
    steps: Any
    batch_size: Any
    optimizer: Any
    learning_rate: Any
    predictor_learning_rate: Any
    betas: Any
    momentum: Any
    weight_decay: Any
    schedule: Any
    warmup_epochs: Any
    device: Any
    precision: Any
    memory_limit: Any
    progress: Any
    random_state: Any

    def _resolved(self, name: str, modality: str) -> Any:
        """A parameter's value, or what None stands for with this kind of data."""
        value = getattr(self, name)
        return PAPER_DEFAULTS[modality][name] if value is None else value

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _draft(self, door: Door, data: Tensor, sampler: Sampler, seeds: Seeds) -> Draft:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_order: Any = None) -> Self:
        """Learn a representation of `X` (labels are ignored).

        `sample_order`: one row of sample indices for every pass over the data, in the order of
        the passes (for LFR: an encoder pass, then its predictor passes, and again). It takes the
        place of shuffling and makes a run checkable from outside.
        """
        refuse_not_stored(self.get_params(deep=False))
        self._check_parameters()
        device = resolve_device(self.device)
        precision = resolve_precision(self.precision, device)
        name = type(self).__name__
        _get_feature_names(X)  # refuses names of mixed types now rather than after training
        door, columns = Door.opened_by(X, self.modality, self.preprocessing, asker=name)
        data = torch.from_numpy(columns)
        seeds = Seeds.drawn_from(self.random_state)
        sampler = Sampler(len(data), seeds.order, _checked_order(sample_order, len(data)))
        draft = self._draft(door, data, sampler, seeds)
        leaves = {INPUT: data}
        plan = make_plan(
            draft.method,
            leaves,
            self._rounds(),
            rows_a_pass=sampler.length,
            batch_size=self.batch_size,
            device=device,
            precision=precision,
            memory_limit=self.memory_limit,
        )
        engine = Engine(
            draft.method,
            leaves,
            plan=plan,
            sampler=sampler,
            rounds=self._rounds(),
            optimizer=self._optimizer_settings(door.modality.name),
            schedule=self.schedule,
            warmup_rounds=self.warmup_epochs,
            noise_seed=seeds.noise,
        )
        with Progress(name, engine.total_steps, shown=bool(self.progress)) as progress:
            engine.train(progress)
        for module in draft.method.modules.values():
            module.to("cpu").to(memory_format=torch.contiguous_format).eval()  # type: ignore[call-overload]
        learnt = {**draft.learnt(), "history_": engine.history, "plan_": engine.plan}
        self._keep(X, door, learnt)
        if engine.interrupted:
            warnings.warn(
                f"training was interrupted after {len(engine.history)} passes over the data; "
                f"{name} keeps what it has learnt so far and can be used",
                stacklevel=2,
            )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Embed `X`: one row of float32 a sample."""
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        rows = self.door_.admit(X)
        device = resolve_device(self.device)
        return embed(self.encoder_, rows, device, resolve_precision(self.precision, device))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into the folder `path`: weights and a description.

        Read it back with `aleator.load`. An older model in the folder is replaced in one stroke.
        """
        from aleator.modelfiles import save

        save(self, path)

    def _keep(self, X: Any, door: Door, learnt: dict[str, Any]) -> None:
        _check_feature_names(self, X, reset=True)
        self.door_ = door
        self.n_features_in_ = door.shape[0]  # columns of a table, else channels
        for name, value in learnt.items():
            setattr(self, name, value)

    def _rounds(self) -> Rounds:
        if self.steps is not None:
            return Rounds(int(self.steps), by_steps=True)
        return Rounds(int(self.epochs))

    def _optimizer_settings(self, modality: str) -> OptimizerSettings:
        rate = self._resolved("learning_rate", modality)
        heads_rate = rate if self.predictor_learning_rate is None else self.predictor_learning_rate
        return OptimizerSettings(
            self.optimizer,
            {"encoder": float(rate), "predictor": float(heads_rate)},
            (float(self.betas[0]), float(self.betas[1])),
            float(self.momentum),
            float(self.weight_decay),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.embedding_dim_


def _checked_order(sample_order: Any, rows: int) -> Tensor | None:
    if sample_order is None:
        return None
    order = np.asarray(sample_order)
    if order.ndim != 2 or order.size == 0 or order.dtype.kind not in "iu":
        raise ValueError(
            "sample_order must be a table of whole numbers, one row of sample indices for every "
            f"pass over the data; got an array of shape {order.shape} and type {order.dtype}"
        )
    if order.min() < 0 or order.max() >= rows:
        raise ValueError(
            f"sample_order names samples from {order.min()} to {order.max()}, "
            f"but X has rows 0 to {rows - 1}"
        )
    return torch.from_numpy(np.array(order, dtype=np.int64))
