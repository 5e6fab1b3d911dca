"""DIET (Balestriero 2023): tell every sample from all others, by its index."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from aleator.networks.shapes import as_rows
from aleator.training.method import INPUT, Layer, Method, Phase, jointly

INDEX = "index"


def diet(
    encoder: nn.Module, index_layer: nn.Linear, view: nn.Module, *, label_smoothing: float
) -> Method:
    """Trains encoder and a linear layer with one class a sample; smoothed cross-entropy.

    The layer is as large as the embedding of all the data, which is why the plan is told of it.
    """

    def loss(rows: Tensor, index: Tensor) -> Tensor:
        scores = index_layer(as_rows(encoder(view(rows))))
        return F.cross_entropy(scores, index, label_smoothing=label_smoothing)

    networks = (encoder, index_layer)
    phase = Phase("index", {"encoder": jointly(*networks)}, networks, (INPUT, INDEX), loss)
    modules = {"encoder": encoder, "index layer": index_layer, "view": view}
    size = index_layer.weight.numel()
    return Method(modules, [phase], layers=[Layer("index layer", size, index_layer.out_features)])
