"""Supervised training: the encoder and a linear layer on top, with labels."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from aleator.networks.shapes import as_rows
from aleator.training.method import INPUT, Method, Phase, jointly

LABELS = "labels"


def supervised(encoder: nn.Module, classifier: nn.Module, view: nn.Module) -> Method:
    """Trains encoder and classifier on the cross-entropy of the labels."""

    def loss(rows: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(classifier(as_rows(encoder(view(rows)))), labels)

    networks = (encoder, classifier)
    phase = Phase("labels", {"encoder": jointly(*networks)}, networks, (INPUT, LABELS), loss)
    return Method({"encoder": encoder, "classifier": classifier, "view": view}, [phase])
