"""STab (Hajiramezanali et al. 2022): the two views are one row under two thinnings of the encoder.

No augmentation: what differs between the passes is which weights are missing (DropConnect).
"""

from __future__ import annotations

from torch import Tensor, nn

from aleator.methods.siamese import OfBoth, predicts_the_other, with_fixed_rate_predictor
from aleator.networks.dropconnect import DropConnect
from aleator.networks.shapes import as_rows
from aleator.training.method import Method


def stab(
    encoder: nn.Module, projector: nn.Module, predictor: nn.Module, *, drop_rate: float
) -> Method:
    """Trains as SimSiam does; each of the two passes draws its own mask."""
    thinned = DropConnect(encoder, drop_rate)

    project, predict = OfBoth(projector, projector), OfBoth(predictor, predictor)

    def loss(rows: Tensor) -> Tensor:
        views = project(as_rows(thinned(rows)), as_rows(thinned(rows)))
        return predicts_the_other(predict, *views)

    phase = with_fixed_rate_predictor(encoder, projector, predictor, loss)
    networks = {"encoder": encoder, "projector": projector, "predictor": predictor}
    return Method(networks, [phase])
