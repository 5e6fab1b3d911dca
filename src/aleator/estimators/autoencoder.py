"""Autoencoder, the estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from aleator.estimators.base import CPU, Draft, Material, estimator, width_of
from aleator.estimators.trained import TrainedLearner
from aleator.inputs import Door
from aleator.methods.autoencoder import autoencoder
from aleator.networks.registry import build_decoder
from aleator.training.devices import seeded


@estimator
class Autoencoder(TrainedLearner):
    """Autoencoder: an embedding from which a decoder can rebuild the sample.

    Trained on the mean squared error. Rumelhart et al., Learning internal representations by error
    propagation, 1986.

    Parameters
    ----------
    decoder : str, torch.nn.Module or callable
        "auto" mirrors the encoder; the names are the encoders'. A module is copied; a factory gets
        (embedding_dim, sample_shape).
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    decoder_ : the trained decoder, on the CPU.
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = Autoencoder(epochs=2, embedding_dim=3, random_state=0).fit(X)
    >>> model.transform(X).shape
    (50, 3)
    """

    decoder: Any = "auto"

    networks: ClassVar[Mapping[str, Sequence[str]]] = {
        "encoder": ("encoder",),
        "decoder": ("decoder",),
    }

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        if name == "encoder":
            return super()._build(name, door, facts)
        modality, width = door.modality.name, facts["embedding_dim_"]
        kind = self._encoder_kind(modality)
        return build_decoder(self.decoder, modality, width, door.shape, kind).float()

    def _draft(self, material: Material) -> Draft:
        encoder, width = self._drawn_encoder(material)
        facts = {"embedding_dim_": width}
        with seeded(material.seeds.heads, CPU):
            decoder = self._build("decoder", material.door, facts)
        rebuilt, numbers = width_of(decoder, (width,), "decoder"), material.data[0].numel()
        if rebuilt != numbers:
            raise ValueError(
                f"the decoder puts out {rebuilt} numbers a row, but a sample has {numbers}"
            )
        return Draft(
            autoencoder(encoder, decoder),
            lambda: {"encoder_": encoder, "decoder_": decoder, **facts},
        )
