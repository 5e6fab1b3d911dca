"""The estimators: what a user imports."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from aleator.base import Draft, RepresentationLearner, Seeds
from aleator.inputs import Door
from aleator.methods import lfr
from aleator.networks.bank import HeadBank
from aleator.networks.registry import (
    build_encoder,
    build_predictor,
    build_projector,
    encoder_name,
    predictor_choice,
)
from aleator.networks.shapes import flat_width
from aleator.parameters import require_int, require_number, require_one_of
from aleator.projectors import INITIALISATIONS, draw, select
from aleator.training.devices import seeded
from aleator.training.optimizers import OPTIMIZERS
from aleator.training.sampler import Sampler
from aleator.training.schedules import SCHEDULES

_CPU = torch.device("cpu")


class LFR(RepresentationLearner):
    """Learning from randomness: representations without labels and without augmentations.

    Random networks (projectors) look at the data; a diverse few are kept; an encoder is trained so
    that simple heads (predictors) can tell from its output what the projectors say. Sui et al.,
    Self-supervised Representation Learning from Random Data Projectors, ICLR 2024.

    Parameters
    ----------
    embedding_dim : int or None
        Width of the embedding and of the projectors' outputs. None: 256 for tables, the flattened
        width of the CNN for series, 64 for a TCN, 2048 for images.
    n_projectors : int
        Projectors kept (the paper's K).
    n_candidates : int or None
        Projectors drawn (N); None: 10 · K. N = K switches selection off.
    selection_size : int or None
        Rows that selection looks at; None: the batch size.
    projector_init : {"default", "beta"}
        "beta" draws convolution weights from Beta(0.5, 0.5) scaled to [-1, 1].
    weight_dropout : float
        Share of every projector layer's weights frozen at zero (the paper's image recipes: 0.4).
    loss : {"bbt", "infonce", "cosine", "mse"} or callable
        A function gets predictions and targets, both K × m × d, and returns a scalar.
    off_diagonal_weight : float
        Lambda of the batch-wise Barlow Twins loss "bbt".
    predictor : {"auto", "linear", "mlp"} or callable
        "auto" is the paper's: linear, but "mlp" for images and TCNs. "mlp" has `predictor_layers`
        layers of width `predictor_hidden`. A factory gets (embedding_dim, target_dim).
    training : {"alternating", "joint"}
        Encoder and predictors in turns (one encoder pass, `predictor_epochs` predictor passes), or
        together.
    predictor_epochs : int or None
        None, as in the paper: 1 for tables, 5 for series and images.
    epochs : int
        Encoder passes over the data.
    steps : int or None
        Count in steps instead: stop after so many encoder steps, each followed by
        `predictor_epochs` predictor steps, with `warmup_epochs` steps of warm-up.
    optimizer : {"adam", "adamw", "sgd"}
        With `learning_rate` (None: 1e-3 for tables, 3e-4 for series and images), `betas` (Adam),
        `momentum` (SGD) and `weight_decay`.
    predictor_learning_rate : float or None
        None: as `learning_rate`.
    schedule : {"constant", "cosine"}
        Of the encoder's learning rate, after `warmup_epochs` of linear warm-up.
    encoder, projector : str, torch.nn.Module or callable
        A name ("auto", "mlp"; series: "cnn", "tcn"; images: "resnet18", projectors "cnn", "cnn6"),
        a module (an encoder is copied and keeps its own width; a projector is copied and drawn
        anew for every candidate),
        or a factory that gets (input_shape, dimension).
    projectors, predictors : sequence of torch.nn.Module or None
        Ready modules, copied as they are. All projectors given are used, unless `n_candidates` is
        their number: then `n_projectors` of them are selected.
    modality : {"auto", "table", "series", "image"}
        "auto" reads the shape of X: (n, columns), (n, channels, time) or
        (n, channels, height, width).
    preprocessing : {"auto", None}
        "auto" centres every column or channel and scales it to unit deviation; None leaves values
        untouched.
    device : str
        "auto", "cpu", "cuda", "cuda:1" …
    precision : {"auto", "32", "tf32", "bf16"}
        "auto" is tf32 on a GPU. "bf16" trains the networks in half precision.
    memory_limit : int or None
        Bytes that data, targets and cached embeddings may take on the device; None: 70 % of what
        is free. What does not fit stays on the host or is computed again for every batch.
    progress : bool
        Show a progress bar if there is a terminal.
    random_state : int, RandomState or None
        Fixes everything: same seed, same machine, same numbers.

    Attributes
    ----------
    encoder_, projectors_, predictors_ : trained and random networks, on the CPU.
    selected_projectors_ : indices of the projectors kept among the candidates, in order of choice.
    projector_kernel_ : similarity of all candidates (N × N).
    history_ : a dict for every pass over the data: epoch, phase, loss, seconds, steps, rates.
    plan_ : what was kept where; print it.
    embedding_dim_, n_features_in_, feature_names_in_ : as their names say.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> lfr = LFR(epochs=1, n_projectors=2, embedding_dim=16, random_state=0)
    >>> lfr.fit_transform(X).shape
    (50, 16)
    >>> len(lfr.projectors_), lfr.history_[0]["phase"]
    (2, 'encoder')
    """

    def __init__(
        self,
        *,
        embedding_dim: int | None = None,
        n_projectors: int = 6,
        n_candidates: int | None = None,
        selection_size: int | None = None,
        projector_init: str = "default",
        weight_dropout: float = 0.0,
        loss: Any = "bbt",
        off_diagonal_weight: float = 0.01,
        predictor: Any = "auto",
        predictor_layers: int = 2,
        predictor_hidden: int = 256,
        training: str = "alternating",
        predictor_epochs: int | None = None,
        epochs: int = 100,
        steps: int | None = None,
        batch_size: int = 128,
        optimizer: str = "adam",
        learning_rate: float | None = None,
        predictor_learning_rate: float | None = None,
        betas: tuple[float, float] = (0.9, 0.999),
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        schedule: str = "constant",
        warmup_epochs: int = 0,
        encoder: Any = "auto",
        projector: Any = "auto",
        projectors: Sequence[nn.Module] | None = None,
        predictors: Sequence[nn.Module] | None = None,
        modality: str = "auto",
        preprocessing: str | None = "auto",
        device: str = "auto",
        precision: str = "auto",
        memory_limit: int | None = None,
        progress: bool = True,
        random_state: Any = None,
    ) -> None:
        self.embedding_dim = embedding_dim
        self.n_projectors = n_projectors
        self.n_candidates = n_candidates
        self.selection_size = selection_size
        self.projector_init = projector_init
        self.weight_dropout = weight_dropout
        self.loss = loss
        self.off_diagonal_weight = off_diagonal_weight
        self.predictor = predictor
        self.predictor_layers = predictor_layers
        self.predictor_hidden = predictor_hidden
        self.training = training
        self.predictor_epochs = predictor_epochs
        self.epochs = epochs
        self.steps = steps
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.predictor_learning_rate = predictor_learning_rate
        self.betas = betas
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.warmup_epochs = warmup_epochs
        self.encoder = encoder
        self.projector = projector
        self.projectors = projectors
        self.predictors = predictors
        self.modality = modality
        self.preprocessing = preprocessing
        self.device = device
        self.precision = precision
        self.memory_limit = memory_limit
        self.progress = progress
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name in ("n_projectors", "batch_size", "predictor_layers", "predictor_hidden"):
            require_int(name, getattr(self, name), least=1)
        for name in ("embedding_dim", "n_candidates", "selection_size", "steps", "memory_limit"):
            if getattr(self, name) is not None:
                least = 0 if name == "memory_limit" else 2 if name == "selection_size" else 1
                require_int(name, getattr(self, name), least)
        for name in ("epochs", "predictor_epochs", "warmup_epochs"):
            if getattr(self, name) is not None or name != "predictor_epochs":
                require_int(name, getattr(self, name), least=0)
        for name in ("learning_rate", "predictor_learning_rate"):
            if getattr(self, name) is not None:
                require_number(name, getattr(self, name), 0, low_allowed=False)
        require_number("weight_dropout", self.weight_dropout, 0, 1)
        require_number("momentum", self.momentum, 0, 1)
        for name in ("off_diagonal_weight", "weight_decay"):
            require_number(name, getattr(self, name), 0)
        if not isinstance(self.betas, Sequence) or len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, not {self.betas!r}")
        for beta in self.betas:
            require_number("betas", beta, 0, 1)
        require_one_of("projector_init", self.projector_init, INITIALISATIONS)
        require_one_of("training", self.training, lfr.TRAININGS)
        require_one_of("optimizer", self.optimizer, OPTIMIZERS)
        require_one_of("schedule", self.schedule, SCHEDULES)
        if not callable(self.loss):
            require_one_of("loss", self.loss, lfr.LOSSES, also=" or a function")
        _require_modules("projectors", self.projectors)
        _require_modules("predictors", self.predictors)

    def _counts(self) -> tuple[int, int]:
        """K projectors kept and N drawn."""
        kept, drawn = self.n_projectors, self.n_candidates
        if self.projectors is not None:
            given = len(self.projectors)
            if drawn is None:
                kept = drawn = given
            elif drawn != given:
                raise ValueError(
                    f"n_candidates={drawn}, but {given} projectors are given: to select among "
                    f"them set n_candidates={given}, to use them all leave it None"
                )
        if drawn is None:
            drawn = 10 * kept
        if kept > drawn:
            raise ValueError(
                f"n_projectors={kept} is larger than n_candidates={drawn}: "
                "no more projectors can be kept than are drawn"
            )
        if self.predictors is not None and len(self.predictors) != kept:
            raise ValueError(
                f"{len(self.predictors)} predictors are given for {kept} projectors: "
                "there must be one for each"
            )
        return kept, drawn

    def _draft(self, door: Door, data: Tensor, sampler: Sampler, seeds: Seeds) -> Draft:
        kept, drawn = self._counts()
        modality, shape = door.modality.name, door.shape
        with seeded(seeds.encoder, _CPU):
            encoder = build_encoder(self.encoder, modality, shape, self.embedding_dim).float()
        embedding_dim = _width_of(encoder, shape, "encoder")
        own_kind = encoder_name(self.encoder, modality) if isinstance(self.encoder, str) else None
        with seeded(seeds.projectors, _CPU):
            if self.projectors is not None:
                candidates = [copy.deepcopy(module).float() for module in self.projectors]
            else:
                candidates = draw(
                    lambda: build_projector(
                        self.projector, modality, shape, embedding_dim, own_kind
                    ).float(),
                    drawn,
                    self.projector_init,
                    self.weight_dropout,
                )
        target_dim = _width_of(candidates[0], shape, "projector")
        looked_at = sampler.peek()[: self.selection_size or max(2, self.batch_size)]
        selection = select(candidates, data[looked_at], kept, given=self.projectors is not None)
        with seeded(seeds.predictors, _CPU):
            predictor = predictor_choice(self.predictor, modality, own_kind)
            heads = self._heads(predictor, kept, embedding_dim, target_dim)
        bank = HeadBank(heads)
        method = lfr.lfr(
            encoder,
            selection.projectors,
            bank,
            embedding_dim=embedding_dim,
            target_dim=target_dim,
            loss=self.loss,
            off_diagonal_weight=self.off_diagonal_weight,
            training=self.training,
            predictor_epochs=self._resolved("predictor_epochs", modality),
        )

        def learnt() -> dict[str, Any]:
            return {
                "encoder_": encoder,
                "projectors_": selection.projectors,
                "predictors_": [head.eval() for head in bank.separate()],
                "selected_projectors_": selection.chosen,
                "projector_kernel_": selection.kernel,
                "embedding_dim_": embedding_dim,
                "target_dim_": target_dim,
            }

        return Draft(method, learnt)

    def _heads(
        self, predictor: Any, count: int, embedding_dim: int, target_dim: int
    ) -> list[nn.Module]:
        if self.predictors is None:
            return [
                build_predictor(
                    predictor,
                    embedding_dim,
                    target_dim,
                    self.predictor_layers,
                    self.predictor_hidden,
                ).float()
                for _ in range(count)
            ]
        heads = [copy.deepcopy(module).float() for module in self.predictors]
        for at, head in enumerate(heads):
            width = _width_of(head, (embedding_dim,), f"predictor {at}")
            if width != target_dim:
                raise ValueError(
                    f"predictor {at} puts out {width} numbers a row, its projector {target_dim}"
                )
        return heads


def _width_of(module: nn.Module, shape: Sequence[int], role: str) -> int:
    try:
        return flat_width(module, shape)
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(f"the {role} cannot take rows of shape {tuple(shape)}: {error}") from error


def _require_modules(name: str, modules: Any) -> None:
    if modules is None:
        return
    if isinstance(modules, nn.Module) and not isinstance(modules, nn.ModuleList):
        raise ValueError(f"{name} must be a list of modules; {name}=[module] holds one")
    if len(modules) == 0 or not all(isinstance(module, nn.Module) for module in modules):
        raise ValueError(f"{name} must be a list of torch.nn.Modules, and not empty")
