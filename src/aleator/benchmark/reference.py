"""Algorithm 1 of the LFR paper written out as it stands, to measure the engine against.

A `DataLoader`, a loop over the K projectors and predictors in every step, projectors run anew for
every batch, `loss.backward()` through the whole model in both phases, and one of torch's optimizers
as it comes for the encoder and one for the predictors. Only the networks and the selection are
shared with the engine. Nobody should train with this.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from aleator.estimators import LFR
from aleator.inputs import Door
from aleator.networks.registry import (
    build_encoder,
    build_predictor,
    build_projector,
    predictor_choice,
)
from aleator.networks.shapes import flat_width
from aleator.projectors import draw, select


@dataclass(frozen=True)
class ReferenceRun:
    """What a literal run gave."""

    encoder: nn.Module
    encoder_losses: list[float]
    predictor_losses: list[float]
    seconds: list[float]


def train_literally(settings: LFR, X: np.ndarray, device: torch.device) -> ReferenceRun:
    """Run Algorithm 1 with an estimator's settings (alternating training, BBT, constant rates)."""
    door, columns = Door.opened_by(X, settings.modality, settings.preprocessing)
    torch.manual_seed(settings.random_state)
    loader = DataLoader(
        TensorDataset(torch.from_numpy(columns)), batch_size=settings.batch_size, shuffle=True
    )
    kind, shape = door.modality.name, door.shape
    rate = settings._rate(kind)
    encoder = build_encoder(settings.encoder, kind, shape, settings.embedding_dim)
    dim = flat_width(encoder, shape)
    candidates = draw(
        lambda: build_projector(settings.projector, kind, shape, dim, None),
        settings.n_candidates or 10 * settings.n_projectors,
        settings.projector_init,
        settings.weight_dropout,
    )
    (first_batch,) = next(iter(loader))
    projectors = select(candidates, first_batch, settings.n_projectors, given=False).projectors
    predictors = nn.ModuleList(
        build_predictor(
            predictor_choice(settings.predictor, kind, None),
            dim,
            dim,
            settings.predictor_layers,
            settings.predictor_hidden,
        )
        for _ in projectors
    )
    encoder.to(device)
    predictors.to(device)
    for projector in projectors:
        projector.to(device)

    def optimizer(module: nn.Module) -> torch.optim.Optimizer:
        if settings.optimizer == "sgd":
            return torch.optim.SGD(
                module.parameters(), rate, momentum=settings.momentum,
                weight_decay=settings.weight_decay,
            )  # fmt: skip
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.optimizer]
        return kind(
            module.parameters(), rate, betas=settings.betas,
            weight_decay=settings.weight_decay,
        )  # fmt: skip

    encoder_optimizer, predictor_optimizer = optimizer(encoder), optimizer(predictors)

    def one_pass(update: torch.optim.Optimizer) -> float:
        losses = []
        for (batch,) in loader:
            batch = batch.to(device)
            representation = encoder(batch).flatten(1)
            loss = torch.zeros((), device=device)
            for projector, predictor in zip(projectors, predictors, strict=True):
                with torch.no_grad():
                    target = projector(batch)
                loss = loss + _bbt(predictor(representation), target, settings.off_diagonal_weight)
            loss = loss / len(projectors)
            encoder_optimizer.zero_grad()
            predictor_optimizer.zero_grad()
            loss.backward()
            update.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    run = ReferenceRun(encoder, [], [], [])
    for _ in range(settings.epochs):
        began = time.perf_counter()
        encoder.train()
        predictors.train()
        run.encoder_losses.append(one_pass(encoder_optimizer))
        encoder.eval()
        for _ in range(settings._predictor_passes(kind)):
            run.predictor_losses.append(one_pass(predictor_optimizer))
        run.seconds.append(time.perf_counter() - began)
    encoder.eval()
    return run


def _bbt(prediction: Tensor, target: Tensor, weight: float) -> Tensor:
    """Equation 5, term by term."""
    cosine = F.normalize(target, dim=1) @ F.normalize(prediction, dim=1).T
    own = torch.diagonal(cosine)
    others = cosine - torch.diag(own)
    return ((1 - own) ** 2).sum() + weight * (others**2).sum()
