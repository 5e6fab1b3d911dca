"""Learning from randomness (Sui et al., ICLR 2024, section 3 and Algorithm 1).

An encoder is trained so that simple heads can predict, from its output, what random projectors make
of the input. Encoder and heads take turns (expectation and maximisation), or learn together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from aleator.losses import (
    PairLoss,
    bbt_to_unit_target,
    cosine_distance,
    info_nce,
    mean_squared_error,
    unit_rows,
)
from aleator.networks.bank import HeadBank
from aleator.networks.shapes import as_rows
from aleator.training.method import INPUT, Derived, Method, Phase

TRAININGS = ("alternating", "joint")
# Losses that look at directions only: for these the targets are scaled to length one, once.
_OF_DIRECTIONS = ("bbt", "infonce", "cosine")
LOSSES = (*_OF_DIRECTIONS, "mse")


def lfr(
    encoder: nn.Module,
    projectors: Sequence[nn.Module],
    predictors: HeadBank,
    *,
    embedding_dim: int,
    target_dim: int,
    loss: str | PairLoss,
    off_diagonal_weight: float,
    training: str,
    predictor_epochs: int,
) -> Method:
    """The phases of LFR over the columns input, targets and embedding."""
    pair_loss = _pair_loss(loss, off_diagonal_weight)

    def targets(rows: Tensor) -> Tensor:
        # Targets are the truth of the whole run, so they are never computed in half precision.
        with torch.autocast(rows.device.type, enabled=False):
            outputs = torch.stack([as_rows(project(rows)) for project in projectors], dim=1)
        return unit_rows(outputs) if loss in _OF_DIRECTIONS else outputs

    def embedding(rows: Tensor) -> Tensor:
        return as_rows(encoder(rows))

    def loss_from_embedding(rows: Tensor, target: Tensor) -> Tensor:
        return pair_loss(predictors(rows).transpose(0, 1), target.transpose(0, 1))

    def loss_from_input(rows: Tensor, target: Tensor) -> Tensor:
        return loss_from_embedding(embedding(rows), target)

    modules = {"encoder": encoder, "predictors": predictors}
    modules |= {f"projector {k}": projector for k, projector in enumerate(projectors)}
    fixed = Derived("targets", INPUT, targets, (len(projectors), target_dim), fixed=True)
    cached = Derived("embedding", INPUT, embedding, (embedding_dim,), fixed=False)
    together = training == "joint"
    encoder_phase = Phase(
        name="joint" if together else "encoder",
        trains={"encoder": encoder, "predictor": predictors} if together else {"encoder": encoder},
        running=(encoder, predictors),
        columns=(INPUT, "targets"),
        loss=loss_from_input,
    )
    predictor_phase = Phase(
        name="predictors",
        trains={"predictor": predictors},
        running=(predictors,),
        columns=("embedding", "targets"),
        loss=loss_from_embedding,
        repeats=predictor_epochs,
    )
    if together:
        return Method(modules, phases=[encoder_phase], derived=[fixed])
    return Method(modules, phases=[encoder_phase, predictor_phase], derived=[fixed, cached])


def _pair_loss(loss: str | PairLoss, off_diagonal_weight: float) -> Callable[..., Tensor]:
    if not isinstance(loss, str):
        return loss
    named: dict[str, Callable[..., Tensor]] = {
        "bbt": partial(bbt_to_unit_target, off_diagonal_weight=off_diagonal_weight),
        "infonce": info_nce,
        "cosine": cosine_distance,
        "mse": mean_squared_error,
    }
    return named[loss]
