"""SimSiam (Chen and He 2021): one view predicts the other; no negatives, a stopped gradient."""

from __future__ import annotations

from torch import Tensor, nn

from aleator.methods.siamese import OfBoth, predicts_the_other, with_fixed_rate_predictor
from aleator.networks.shapes import as_rows
from aleator.training.method import Method


def simsiam(
    encoder: nn.Module,
    projector: nn.Module,
    predictor: nn.Module,
    first_view: nn.Module,
    second_view: nn.Module,
) -> Method:
    """Trains encoder and projector, and a predictor at a learning rate that stays fixed."""

    def represent(rows: Tensor) -> Tensor:
        return projector(as_rows(encoder(rows)))

    of_both, predict = OfBoth(represent, encoder, projector), OfBoth(predictor, predictor)

    def loss(rows: Tensor) -> Tensor:
        return predicts_the_other(predict, *of_both(first_view(rows), second_view(rows)))

    phase = with_fixed_rate_predictor(encoder, projector, predictor, loss)
    networks = {"encoder": encoder, "projector": projector, "predictor": predictor}
    return Method({**networks, "view 1": first_view, "view 2": second_view}, [phase])
