"""Algorithm 1 of the LFR paper as a plain PyTorch loop, to compare the trainer with.

A `DataLoader`, a loop over the K projectors and predictors in every step, projectors evaluated for
every batch, `loss.backward()` through the whole model in both phases, and a standard PyTorch
optimizer each for the encoder and the predictors. Only the networks and the selection of projectors
are shared with the estimator. It exists for comparison and is slow.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import (
    ConstantLR,
    CosineAnnealingLR,
    LinearLR,
    LRScheduler,
    SequentialLR,
)
from torch.utils.data import DataLoader, Sampler, TensorDataset

from aleator.diversity import default_n_candidates
from aleator.inputs import InputAdapter, read
from aleator.methods import LFR
from aleator.modalities import Modality, infer_modality
from aleator.modalities.choices import build_encoder, build_predictor, build_projector
from aleator.networks.shapes import output_width
from aleator.projectors import Candidates, select

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ReferenceRun:
    """Result of the reference program.

    Parameters
    ----------
    encoder : torch.nn.Module
        The trained encoder.
    encoder_losses, predictor_losses : list of float
        Mean loss of every pass over the data.
    seconds : list of float
        Seconds per epoch.
    """

    encoder: nn.Module
    encoder_losses: list[float]
    predictor_losses: list[float]
    seconds: list[float]


def train_literally(
    settings: LFR, X: np.ndarray, device: torch.device, sample_order: np.ndarray | None = None
) -> ReferenceRun:
    """Run Algorithm 1 with the settings of an estimator.

    Training is alternating, with the BBT loss, whatever the settings of the estimator.

    Parameters
    ----------
    settings : LFR
        The estimator whose parameters are used; it is not fitted. Its networks are not drawn from
        data, and the number of epochs is given, as in `LFR.paper`.
    X : ndarray of shape (n_samples, ...)
        Training data.
    device : torch.device
        Device for training.
    sample_order : ndarray of shape (n_passes, n_samples) or None, default=None
        The order of samples in every pass over the data, as for ``LFR.fit``; None shuffles.

    Returns
    -------
    run : ReferenceRun
        The trained encoder, losses and seconds.

    Raises
    ------
    ValueError
        If the estimator has no number of epochs.
    """
    if settings.epochs is None:
        raise ValueError("Algorithm 1 needs a number of epochs: use LFR.paper, or give epochs")
    n_epochs = settings.epochs
    data = read(X)
    modality = infer_modality(settings.modality, data.shape)
    adapter = InputAdapter(modality.layout).fit(data, settings.preprocessing)
    rows, shape = adapter.adapt(data).materialize(), adapter.shape
    torch.manual_seed(settings.random_state)
    order = None if sample_order is None else _FixedOrder(sample_order)
    loader = DataLoader(
        TensorDataset(torch.from_numpy(rows)),
        batch_size=settings.batch_size,
        shuffle=order is None,
        sampler=order,
    )
    encoder = build_encoder(modality, settings.encoder, shape, settings.embedding_dim)
    projectors = _projectors(settings, encoder, modality, shape, loader)
    predictors = _predictors(settings, encoder, modality, shape, len(projectors))
    if order is not None:
        order.passes = 0  # the selection of projectors may have read a batch
    encoder.to(device)
    predictors.to(device)
    for projector in projectors:
        projector.to(device)
    given_rate = settings.learning_rate
    learning_rate = modality.learning_rate if given_rate is None else given_rate
    encoder_optimizer = _optimizer(settings, encoder, learning_rate)
    predictor_optimizer = _optimizer(
        settings, predictors, settings.predictor_learning_rate or learning_rate
    )
    encoder_schedule = _schedule(settings, encoder_optimizer, n_epochs, len(loader))

    def one_pass(update: torch.optim.Optimizer, schedule: LRScheduler | None = None) -> float:
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
            if schedule is not None:
                schedule.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    given_epochs = settings.predictor_epochs
    predictor_epochs = modality.predictor_epochs if given_epochs is None else given_epochs
    run = ReferenceRun(encoder, [], [], [])
    for _ in range(n_epochs):
        start = time.perf_counter()
        encoder.train()
        predictors.train()
        run.encoder_losses.append(one_pass(encoder_optimizer, encoder_schedule))
        encoder.eval()
        for _ in range(predictor_epochs):
            run.predictor_losses.append(one_pass(predictor_optimizer))
        run.seconds.append(time.perf_counter() - start)
    encoder.eval()
    return run


class _FixedOrder(Sampler[int]):
    """Follow one given row of indices per pass over the data."""

    def __init__(self, orders: np.ndarray) -> None:
        self._orders = orders
        self.passes = 0

    def __len__(self) -> int:
        return self._orders.shape[1]

    def __iter__(self) -> Iterator[int]:
        self.passes += 1
        return iter(self._orders[self.passes - 1].tolist())


def _projectors(
    settings: LFR, encoder: nn.Module, modality: Modality, shape: Shape, loader: DataLoader
) -> list[nn.Module]:
    """Copy the given projectors, or draw candidates and select among them on the first batch."""
    if settings.projectors is not None:
        return [copy.deepcopy(projector).eval() for projector in settings.projectors]
    width = output_width(encoder, shape)
    encoder_name = modality.encoder_name(settings.encoder, shape)
    candidates = Candidates.drawn(
        lambda position: build_projector(
            modality, settings.projector, shape, width, encoder=encoder_name
        ),
        settings.random_state,
        settings.n_candidates or default_n_candidates(settings.n_projectors),
        init=settings.projector_init,
        weight_dropout=settings.weight_dropout,
    )
    (first_batch,) = next(iter(loader))
    return select(candidates, first_batch, settings.n_projectors).projectors


def _predictors(
    settings: LFR, encoder: nn.Module, modality: Modality, shape: Shape, count: int
) -> nn.ModuleList:
    """Copy the given predictors, or build them."""
    if settings.predictors is not None:
        return nn.ModuleList(copy.deepcopy(predictor) for predictor in settings.predictors)
    width = output_width(encoder, shape)
    return nn.ModuleList(
        build_predictor(
            modality,
            settings.predictor,
            (width, width),
            modality.encoder_name(settings.encoder, shape),
            layers=settings.predictor_layers,
            hidden=settings.predictor_hidden,
        )
        for _ in range(count)
    )


def _optimizer(settings: LFR, module: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    if settings.optimizer == "sgd":
        return torch.optim.SGD(
            module.parameters(), learning_rate, momentum=settings.momentum,
            weight_decay=settings.weight_decay,
        )  # fmt: skip
    optimizer = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.optimizer]
    return optimizer(
        module.parameters(), learning_rate, betas=settings.betas,
        weight_decay=settings.weight_decay,
    )  # fmt: skip


def _schedule(
    settings: LFR, optimizer: torch.optim.Optimizer, n_epochs: int, steps_per_epoch: int
) -> LRScheduler:
    """Warm up linearly, then stay constant or follow a cosine; predictors have no schedule."""
    warmup = settings.warmup_epochs * steps_per_epoch
    rest = max(1, n_epochs * steps_per_epoch - warmup)
    after: LRScheduler = (
        CosineAnnealingLR(optimizer, rest)
        if settings.schedule == "cosine"
        else ConstantLR(optimizer, factor=1.0)
    )
    if not warmup:
        return after
    before = LinearLR(optimizer, start_factor=0.01, total_iters=warmup)
    return SequentialLR(optimizer, [before, after], milestones=[warmup])


def _bbt(prediction: Tensor, target: Tensor, weight: float) -> Tensor:
    """Equation 5 of the paper, term by term."""
    cosine = F.normalize(target, dim=1) @ F.normalize(prediction, dim=1).T
    diagonal = torch.diagonal(cosine)
    off_diagonal = cosine - torch.diag(diagonal)
    return ((1 - diagonal) ** 2).sum() + weight * (off_diagonal**2).sum()
