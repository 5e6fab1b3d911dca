"""What the estimators that compare two views have in common: a head, and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from torch import nn

from aleator.estimators.base import CPU, Draft, Material, estimator, width_of
from aleator.estimators.trained import TrainedLearner
from aleator.inputs import Door
from aleator.networks.heads import HEADS, NORMS, projection_head
from aleator.networks.registry import build_predictor, predictor_choice
from aleator.parameters import require_int, require_one_of
from aleator.training.devices import seeded


@estimator
class SiameseLearner(TrainedLearner):
    """Compares two views of a batch, after a projector and, in most methods, a predictor."""

    # Where heads normalise of which the LFR paper does not say that they do, those of tables.
    norm_if_unsaid: ClassVar[str] = "none"

    projector_layers: int | None = None
    projector_hidden: int | None = None
    projector_norm: str = "auto"

    networks: ClassVar[Mapping[str, Sequence[str]]] = {"encoder": ("encoder",), "projector": ()}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("projector_layers", "projector_hidden"):
            if getattr(self, name) is not None:
                require_int(name, getattr(self, name), least=1)
        require_one_of("projector_norm", self.projector_norm, ("auto", *NORMS))

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        if name == "encoder":
            return super()._build(name, door, facts)
        shape = HEADS[door.modality.name]
        if self.projector_norm != "auto":
            shape = replace(shape, norm=self.projector_norm)
        elif shape.norm == "none":
            shape = replace(shape, norm=self.norm_if_unsaid)
        if self.projector_layers is not None:
            shape = replace(shape, layers=self.projector_layers)
        if self.projector_hidden is not None:
            shape = replace(shape, hidden=self.projector_hidden)
        return projection_head(facts["embedding_dim_"], shape).float()

    def _drawn(self, material: Material) -> dict[str, nn.Module]:
        """All networks before training."""
        encoder, width = self._drawn_encoder(material)
        facts = {"embedding_dim_": width}
        with seeded(material.seeds.heads, CPU):
            heads = {
                name: self._build(name, material.door, facts)
                for name in self.networks
                if name != "encoder"
            }
        return {"encoder": encoder, **heads}

    def _drafted(self, material: Material, networks: dict[str, nn.Module], method: Any) -> Draft:
        width = width_of(networks["encoder"], material.door.shape, "encoder")
        kept = {f"{name}_": module for name, module in networks.items()}
        return Draft(method, lambda: {**kept, "embedding_dim_": width})


@estimator
class PredictingLearner(SiameseLearner):
    """A siamese learner with a predictor after the projector."""

    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256

    networks: ClassVar[Mapping[str, Sequence[str]]] = {
        "encoder": ("encoder",),
        "projector": (),
        "predictor": ("predictor",),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("predictor_layers", "predictor_hidden"):
            require_int(name, getattr(self, name), least=1)

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        if name != "predictor":
            return super()._build(name, door, facts)
        modality = door.modality.name
        width = self.projector_hidden or HEADS[modality].hidden
        kind = predictor_choice(self.predictor, modality, self._encoder_kind(modality))
        layers, hidden = self.predictor_layers, self.predictor_hidden
        return build_predictor(kind, width, width, layers, hidden).float()
