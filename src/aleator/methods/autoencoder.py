"""Autoencoder (Rumelhart et al. 1986): an embedding from which the sample can be reconstructed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from aleator.estimators import FitContext, TrainedLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import DecoderSpec, EncoderSpec, NetworkSpec
from aleator.losses import mean_squared_error
from aleator.networks.shapes import checked_output_width, flatten_output
from aleator.training.method import INPUT, Method, ParameterGroup, Phase


def autoencoder(encoder: nn.Module, decoder: nn.Module) -> Method:
    """Train encoder and decoder on the mean squared error of the reconstruction."""

    def outputs(x: Tensor) -> tuple[Tensor, Tensor]:
        return decoder(flatten_output(encoder(x))).flatten(1), x.flatten(1)

    networks = (encoder, decoder)
    group = ParameterGroup("encoder", networks)
    phase = Phase(
        "rebuild", [group], networks, (INPUT,), outputs, mean_squared_error, row_wise=networks
    )
    return Method({"encoder": encoder, "decoder": decoder}, [phase])


@estimator
class Autoencoder(TrainedLearner):
    """Autoencoder: an embedding from which a decoder can reconstruct the sample.

    Trained on the mean squared error. Rumelhart et al., Learning internal representations by error
    propagation, 1986.

    Parameters
    ----------
    decoder : str, torch.nn.Module or callable, default=?
        "auto" reverses the encoder; the names are those of the encoders and, for series,
        "cnn-transposed". A module is copied; a factory is called with (embedding_dim,
        sample_shape).
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    decoder_ : torch.nn.Module
        The trained decoder, on the CPU.
    {trained attributes}

    See Also
    --------
    LFR : Predicts random projections of the sample instead.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import Autoencoder
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = Autoencoder(epochs=2, embedding_dim=3, random_state=0).fit(X)
    >>> model.transform(X).shape
    (50, 3)
    """

    decoder: Any = "auto"

    _reads_numbers: ClassVar[bool] = True
    _takes_gaps: ClassVar[bool] = False
    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        "decoder": DecoderSpec(),
    }

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        width = checked_output_width(
            networks["decoder"], (attributes["embedding_dim_"],), "decoder"
        )
        if width != context.source.schema.size:
            raise ValueError(
                f"the decoder returns {width} features per sample, but a sample has "
                f"{context.source.schema.size}"
            )
        kept = {f"{name}_": network for name, network in networks.items()}
        return TrainingSpec(autoencoder(**networks), lambda: {**kept, **attributes})
