"""Autoencoder (Rumelhart et al. 1986): an embedding from which the sample can be rebuilt."""

from __future__ import annotations

from torch import Tensor, nn

from aleator.losses import mean_squared_error
from aleator.networks.shapes import as_rows
from aleator.training.method import INPUT, Method, Phase, jointly


def autoencoder(encoder: nn.Module, decoder: nn.Module) -> Method:
    """Trains encoder and decoder on the mean squared error of the reconstruction."""

    def loss(rows: Tensor) -> Tensor:
        rebuilt = decoder(as_rows(encoder(rows)))
        return mean_squared_error(rebuilt.flatten(1), rows.flatten(1))

    networks = (encoder, decoder)
    phase = Phase("rebuild", {"encoder": jointly(*networks)}, networks, (INPUT,), loss)
    return Method({"encoder": encoder, "decoder": decoder}, [phase])
