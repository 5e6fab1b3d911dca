"""The scikit-learn face that every method shares: fit, transform, save."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, _get_feature_names, check_is_fitted
from torch import Tensor, nn

from aleator.estimators.documentation import filled_in
from aleator.inputs import MODALITIES, Door
from aleator.interruption import InterruptedTrainingWarning
from aleator.networks.registry import build_encoder, encoder_name
from aleator.networks.shapes import flat_width
from aleator.parameters import refuse_not_stored, require_int
from aleator.training.devices import resolve_device, resolve_precision, seeded
from aleator.training.embedding import embed
from aleator.training.method import Method
from aleator.training.sampler import Sampler

CPU = torch.device("cpu")
_Class = TypeVar("_Class", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: _Class) -> _Class:
    """Make a class an estimator: its fields and those it inherits become keyword arguments.

    `__init__` stores them untouched, as scikit-learn asks, and the docstring gets the paragraphs on
    the parameters that all estimators share.
    """
    cls.__doc__ = filled_in(cls.__doc__ or "")
    return dataclass(kw_only=True, eq=False, repr=False)(cls)  # type: ignore[return-value]


@dataclass(frozen=True)
class Seeds:
    """Independent seeds, so that changing one part of a run leaves the others' draws alone."""

    encoder: int
    projectors: int
    heads: int
    order: int
    noise: int

    @classmethod
    def drawn_from(cls, random_state: Any) -> Seeds:
        """Seeds from what scikit-learn accepts as `random_state`."""
        root = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return cls(*(int(seed) for seed in np.random.SeedSequence(root).generate_state(5)))


@dataclass(frozen=True)
class Material:
    """What a fit starts from: the data as columns, the labels if any, and where chance comes in."""

    door: Door
    data: Tensor
    labels: Any
    sampler: Sampler
    seeds: Seeds

    @property
    def modality(self) -> str:
        """The kind of data."""
        return self.door.modality.name


@dataclass(frozen=True)
class Draft:
    """A method made ready to train, and how to read off what it has learnt.

    `columns` are per-sample tensors besides the input. `furnish` makes what is too large to be made
    before the plan has found room for it.
    """

    method: Method
    learnt: Callable[[], dict[str, Any]]
    columns: dict[str, Tensor] = field(default_factory=dict)
    furnish: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Training:
    """How a fit went."""

    history: list[dict[str, Any]] = field(default_factory=list)
    plan: Any = None
    warning: str | None = None
    interrupted: bool = False


@estimator
class RepresentationLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all estimators have in common; a subclass drafts its method.

    Nothing is stored on the estimator before training has succeeded.
    """

    modality: str = "auto"
    preprocessing: str | None = "auto"
    device: str = "auto"
    precision: str = "auto"
    random_state: Any = None

    # The kinds of data that a method can work on.
    modalities: ClassVar[Sequence[str]] = tuple(MODALITIES)
    # The networks that a fitted estimator keeps (`encoder_` …), each with the parameters that chose
    # it, and the other facts that a model file must hold.
    networks: ClassVar[Mapping[str, Sequence[str]]] = {"encoder": ("encoder",)}
    facts: ClassVar[Sequence[str]] = ("embedding_dim_",)

    def _check_parameters(self) -> None:
        """Refuse what makes no sense whatever the data are."""

    def _draft(self, material: Material) -> Draft:
        raise NotImplementedError

    def _train(self, draft: Draft, material: Material, device: torch.device) -> Training:
        raise NotImplementedError

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        """An untrained network as the parameters describe it: to be trained, or filled on loading.

        `facts` holds what the door does not know, under the names that fitted estimators use.
        """
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
        resolve_precision(self.precision, device)
        name = type(self).__name__
        _get_feature_names(X)  # refuses names of mixed types now rather than after training
        door, columns = Door.opened_by(X, self.modality, self.preprocessing, asker=name)
        if door.modality.name not in self.modalities:
            raise ValueError(
                f"{name} works on {_spoken(self.modalities)}, but X is read as "
                f"{_spoken([door.modality.name])}, {door.modality.layout}"
            )
        data = torch.from_numpy(columns)
        seeds = Seeds.drawn_from(self.random_state)
        sampler = Sampler(len(data), seeds.order, _checked_order(sample_order, len(data)))
        material = Material(door, data, y, sampler, seeds)
        draft = self._draft(material)
        training = self._train(draft, material, device)
        for module in draft.method.modules.values():
            module.to("cpu").to(memory_format=torch.contiguous_format).eval()  # type: ignore[call-overload]
        _check_feature_names(self, X, reset=True)
        self.door_ = door
        self.n_features_in_ = door.n_features
        self.history_ = training.history
        self.plan_ = training.plan
        for attribute, value in draft.learnt().items():
            setattr(self, attribute, value)
        if training.warning is not None:
            kind = InterruptedTrainingWarning if training.interrupted else UserWarning
            warnings.warn(f"{name}: {training.warning}", kind, stacklevel=2)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Embed `X`: one row of float32 a sample."""
        check_is_fitted(self)
        return self._embedded(self.encoder_, X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into the folder `path`: weights and a description.

        Read it back with `aleator.load`. An older model in the folder is replaced in one stroke.
        """
        from aleator.modelfiles import save

        save(self, path)

    def _embedded(self, network: nn.Module, X: Any) -> np.ndarray:
        _check_feature_names(self, X, reset=False)
        rows = self.door_.admit(X)
        device = resolve_device(self.device)
        return embed(network, rows, device, resolve_precision(self.precision, device))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.embedding_dim_


@estimator
class EncoderLearner(RepresentationLearner):
    """A representation learner whose encoder is the user's choice."""

    embedding_dim: int | None = None
    encoder: Any = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.embedding_dim is not None:
            require_int("embedding_dim", self.embedding_dim, least=1)

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        assert name == "encoder"
        return build_encoder(
            self.encoder, door.modality.name, door.shape, self.embedding_dim
        ).float()

    def _drawn_encoder(self, material: Material) -> tuple[nn.Module, int]:
        """The encoder before training, and the width of its embedding."""
        with seeded(material.seeds.encoder, CPU):
            encoder = self._build("encoder", material.door, {})
        return encoder, width_of(encoder, material.door.shape, "encoder")

    def _encoder_kind(self, modality: str) -> str | None:
        """The registered name of the encoder, or None for one of the user's own."""
        return encoder_name(self.encoder, modality) if isinstance(self.encoder, str) else None


def width_of(module: nn.Module, shape: Sequence[int], role: str) -> int:
    """The numbers a row that a network puts out, or an error that says what it cannot take.

    >>> width_of(nn.Linear(3, 5), (3,), "head")
    5
    """
    try:
        return flat_width(module, shape)
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(f"the {role} cannot take rows of shape {tuple(shape)}: {error}") from error


def _spoken(modalities: Sequence[str]) -> str:
    plural = {"table": "tables", "series": "series", "image": "images"}
    return " and ".join(plural[name] for name in modalities)


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
