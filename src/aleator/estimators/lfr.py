"""LFR, the estimator."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import nn

from aleator.estimators.base import CPU, Draft, Material, estimator, width_of
from aleator.estimators.trained import TrainedLearner
from aleator.inputs import Door
from aleator.methods import lfr
from aleator.networks.bank import HeadBank
from aleator.networks.registry import build_predictor, build_projector, predictor_choice
from aleator.parameters import require_int, require_number, require_one_of
from aleator.projectors import INITIALISATIONS, draw, select
from aleator.training.devices import seeded

# What predictor_epochs=None stands for (appendix C; images as in the paper's Kvasir recipe).
PREDICTOR_EPOCHS = {"table": 1, "series": 5, "image": 5}


@estimator
class LFR(TrainedLearner):
    """Learning from randomness: representations without labels and without augmentations.

    Random networks (projectors) look at the data; a diverse few are kept; an encoder is trained so
    that simple heads (predictors) can tell from its output what the projectors say. Sui et al.,
    Self-supervised Representation Learning from Random Data Projectors, ICLR 2024.

    Parameters
    ----------
    n_projectors : int
        Projectors kept (the paper's K). They put out as many numbers as the embedding has.
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
        together. Where `steps` counts, each encoder step is followed by `predictor_epochs`
        predictor steps.
    predictor_epochs : int or None
        None, as in the paper: 1 for tables, 5 for series and images.
    predictor_learning_rate : float or None
        None: as `learning_rate`.
    projector : str, torch.nn.Module or callable
        As `encoder` (images: "cnn", "cnn6"); a module is copied and drawn anew for every candidate.
    projectors, predictors : sequence of torch.nn.Module or None
        Ready modules, copied as they are. All projectors given are used, unless `n_candidates` is
        their number: then `n_projectors` of them are selected.
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    projectors_, predictors_ : random networks and their heads, on the CPU.
    selected_projectors_ : indices of the projectors kept among the candidates, in order of choice.
    projector_kernel_ : similarity of all candidates (N × N).
    {attributes}

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

    n_projectors: int = 6
    n_candidates: int | None = None
    selection_size: int | None = None
    projector_init: str = "default"
    weight_dropout: float = 0.0
    loss: Any = "bbt"
    off_diagonal_weight: float = 0.01
    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256
    training: str = "alternating"
    predictor_epochs: int | None = None
    predictor_learning_rate: float | None = None
    projector: Any = "auto"
    projectors: Sequence[nn.Module] | None = None
    predictors: Sequence[nn.Module] | None = None

    networks: ClassVar[Mapping[str, Sequence[str]]] = {
        "encoder": ("encoder",),
        "projectors": ("projector", "projectors"),
        "predictors": ("predictor", "predictors"),
    }
    facts: ClassVar[Sequence[str]] = (
        "embedding_dim_", "target_dim_", "selected_projectors_", "projector_kernel_",
    )  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_projectors", "predictor_layers", "predictor_hidden"):
            require_int(name, getattr(self, name), least=1)
        for name, least in (("n_candidates", 1), ("selection_size", 2), ("predictor_epochs", 0)):
            if getattr(self, name) is not None:
                require_int(name, getattr(self, name), least)
        if self.predictor_learning_rate is not None:
            require_number("predictor_learning_rate", self.predictor_learning_rate, 0,
                           low_allowed=False)  # fmt: skip
        require_number("weight_dropout", self.weight_dropout, 0, 1)
        require_number("off_diagonal_weight", self.off_diagonal_weight, 0)
        require_one_of("projector_init", self.projector_init, INITIALISATIONS)
        require_one_of("training", self.training, lfr.TRAININGS)
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

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        if name == "encoder":
            return super()._build(name, door, facts)
        modality = door.modality.name
        own_kind = self._encoder_kind(modality)
        width, target = facts["embedding_dim_"], facts["target_dim_"]
        if name == "projectors":
            return [
                build_projector(self.projector, modality, door.shape, target, own_kind).float()
                for _ in range(facts["counts"]["projectors"])
            ]
        kind = predictor_choice(self.predictor, modality, own_kind)
        layers, hidden = self.predictor_layers, self.predictor_hidden
        return [
            build_predictor(kind, width, target, layers, hidden).float()
            for _ in range(facts["counts"]["predictors"])
        ]

    def _draft(self, material: Material) -> Draft:
        kept, drawn = self._counts()
        encoder, embedding_dim = self._drawn_encoder(material)
        candidates = self._candidates(material, drawn, embedding_dim)
        target_dim = width_of(candidates[0], material.door.shape, "projector")
        looked_at = material.sampler.peek()[: self.selection_size or max(2, self.batch_size)]
        selection = select(
            candidates, material.data[looked_at], kept, given=self.projectors is not None
        )
        facts = {
            "embedding_dim_": embedding_dim,
            "target_dim_": target_dim,
            "selected_projectors_": selection.chosen,
            "projector_kernel_": selection.kernel,
        }
        with seeded(material.seeds.heads, CPU):
            bank = HeadBank(self._heads(material.door, {**facts, "counts": {"predictors": kept}}))
        method = lfr.lfr(
            encoder,
            selection.projectors,
            bank,
            embedding_dim=embedding_dim,
            target_dim=target_dim,
            loss=self.loss,
            off_diagonal_weight=self.off_diagonal_weight,
            training=self.training,
            predictor_epochs=self._predictor_passes(material.modality),
        )

        def learnt() -> dict[str, Any]:
            return {
                "encoder_": encoder,
                "projectors_": selection.projectors,
                "predictors_": [head.eval() for head in bank.separate()],
                **facts,
            }

        return Draft(method, learnt)

    def _predictor_passes(self, modality: str) -> int:
        given = self.predictor_epochs
        return PREDICTOR_EPOCHS[modality] if given is None else given

    def _candidates(self, material: Material, drawn: int, embedding_dim: int) -> list[nn.Module]:
        with seeded(material.seeds.projectors, CPU):
            if self.projectors is not None:
                return [copy.deepcopy(module).float() for module in self.projectors]
            modality, shape = material.modality, material.door.shape
            own_kind = self._encoder_kind(modality)
            return draw(
                lambda: build_projector(
                    self.projector, modality, shape, embedding_dim, own_kind
                ).float(),
                drawn,
                self.projector_init,
                self.weight_dropout,
            )

    def _heads(self, door: Door, facts: Mapping[str, Any]) -> list[nn.Module]:
        if self.predictors is None:
            return self._build("predictors", door, facts)
        heads = [copy.deepcopy(module).float() for module in self.predictors]
        for at, head in enumerate(heads):
            width = width_of(head, (facts["embedding_dim_"],), f"predictor {at}")
            if width != facts["target_dim_"]:
                raise ValueError(
                    f"predictor {at} puts out {width} numbers a row, "
                    f"its projector {facts['target_dim_']}"
                )
        return heads


def _require_modules(name: str, modules: Any) -> None:
    if modules is None:
        return
    if isinstance(modules, nn.Module) and not isinstance(modules, nn.ModuleList):
        raise ValueError(f"{name} must be a list of modules; {name}=[module] holds one")
    if len(modules) == 0 or not all(isinstance(module, nn.Module) for module in modules):
        raise ValueError(f"{name} must be a list of torch.nn.Modules, and not empty")
