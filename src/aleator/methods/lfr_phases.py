"""Phases and loss of LFR (Sui et al., ICLR 2024, Algorithm 1)."""

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
from aleator.networks.frozen_front import FrozenFront
from aleator.networks.shapes import flatten_output
from aleator.training.head_bank import HeadBank
from aleator.training.method import INPUT, DerivedColumn, Method, ParameterGroup, Phase

TRAININGS = ("alternating", "joint")
# Losses that depend on directions only: for these the targets are scaled to unit length, once.
_OF_DIRECTIONS = ("bbt", "infonce", "cosine")
LOSSES = (*_OF_DIRECTIONS, "mse")
# Others compare the rows of a batch, or are functions of the user, which may do so.
_MEANS_OF_ROWS = ("cosine", "mse")


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
    predictor_lr: float | None = None,
    target_scaling: nn.Module | None = None,
    n_features: int | None = None,
) -> Method:
    """Phases of LFR over the columns input, features, targets and embedding.

    The column of features, the output of the frozen part of an encoder, takes the place of the
    input.
    """
    pair_loss = _pair_loss(loss, off_diagonal_weight)
    couples_rows = loss not in _MEANS_OF_ROWS
    scaling = nn.Identity() if target_scaling is None else target_scaling
    frozen = isinstance(encoder, FrozenFront)
    front = encoder.front if isinstance(encoder, FrozenFront) else nn.Identity()
    trained = encoder.trunk if isinstance(encoder, FrozenFront) else encoder

    def compute_targets(x: Tensor) -> Tensor:
        # Targets are fixed for the whole run, so they are never computed in half precision.
        with torch.autocast(x.device.type, enabled=False):
            outputs = torch.stack([flatten_output(project(x)) for project in projectors], dim=1)
            outputs = scaling(outputs)
        return unit_rows(outputs) if loss in _OF_DIRECTIONS else outputs

    def compute_features(x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return flatten_output(front(x))

    def embed(x: Tensor) -> Tensor:
        return flatten_output(trained(x))

    def predict_from_embedding(embedding: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return predictors(embedding), target

    def predict_from_input(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return predictors(embed(x)), target

    def criterion(prediction: Tensor, target: Tensor) -> Tensor:
        return pair_loss(prediction.transpose(0, 1), target.transpose(0, 1))

    joint = training == "joint"
    source = "features" if frozen else INPUT
    encoder_group = ParameterGroup("encoder", (trained,))
    # As in the paper's recipes, the schedule moves the learning rate of the encoder only.
    predictor_group = ParameterGroup("predictor", (predictors,), predictor_lr, schedule="constant")
    encoder_phase = Phase(
        name="joint" if joint else "encoder",
        groups=[encoder_group, predictor_group] if joint else [encoder_group],
        train_mode=(trained, predictors),
        columns=(source, "targets"),
        outputs=predict_from_input,
        criterion=criterion,
        couples_rows=couples_rows,
        row_wise=(trained,),
    )
    predictor_phase = Phase(
        name="predictors",
        groups=[predictor_group],
        train_mode=(predictors,),
        columns=("embedding", "targets"),
        outputs=predict_from_embedding,
        criterion=criterion,
        couples_rows=couples_rows,
        repeats=predictor_epochs,
    )
    modules = {"encoder": encoder, "predictors": predictors}
    modules |= {f"projector {k}": projector for k, projector in enumerate(projectors)}
    modules |= {"target scaling": scaling}
    shape = (len(projectors), target_dim)
    derived = [DerivedColumn("targets", INPUT, compute_targets, shape, fixed=True)]
    if n_features is not None:
        derived.append(
            DerivedColumn("features", INPUT, compute_features, (n_features,), fixed=True)
        )
    if joint:
        return Method(modules, phases=[encoder_phase], derived=derived)
    derived.append(DerivedColumn("embedding", source, embed, (embedding_dim,), fixed=False))
    return Method(modules, phases=[encoder_phase, predictor_phase], derived=derived)


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
