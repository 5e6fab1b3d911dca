"""TSTCC, the estimator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from aleator.estimators.base import CPU, Draft, Material, estimator
from aleator.estimators.trained import TrainedLearner
from aleator.methods.tstcc import Foresight, tstcc
from aleator.networks.shapes import feature_maps
from aleator.parameters import require_int, require_number
from aleator.training.devices import seeded
from aleator.views.choice import weak_and_strong


@estimator
class TSTCC(TrainedLearner):
    """TS-TCC, for time series: contrast along time and between contexts.

    Eldele et al., Time-series representation learning via temporal and contextual contrasting,
    2021. It trains what the encoder makes of a series before time is flattened; layers after that
    (an `embedding_dim` other than the CNN's own width, a TCN's last layers) stay random.

    Parameters
    ----------
    future_steps : int or None
        Steps (of the encoder's output) that a past predicts; None: a third of them.
    context_dim : int
        Width of the transformer that sums up the past, a multiple of four.
    temporal_weight, contextual_weight : float
        Of the two contrasts.
    temperature : float
        Of the contextual contrast.
    weak_scale, weak_mean : float
        Deviation and mean of the factors by which the weak view scales each time step.
    segments : int
        Most pieces that the strong view cuts a series into.
    strong_noise : float
        Deviation of the noise that the strong view adds.
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> TSTCC(epochs=1, random_state=0).fit_transform(X).shape
    (50, 640)
    """

    modality: str = "series"
    future_steps: int | None = None
    context_dim: int = 100
    temporal_weight: float = 1.0
    contextual_weight: float = 0.7
    temperature: float = 0.2
    weak_scale: float = 0.1
    weak_mean: float = 1.0
    segments: int = 4
    strong_noise: float = 0.05

    modalities: ClassVar[Sequence[str]] = ("series",)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("temporal_weight", "contextual_weight", "weak_scale", "strong_noise"):
            require_number(name, getattr(self, name), 0)
        require_number("weak_mean", self.weak_mean, -math.inf)
        require_number("temperature", self.temperature, 0, low_allowed=False)
        require_int("segments", self.segments, least=1)
        require_int("context_dim", self.context_dim, least=4)
        if self.context_dim % 4:
            raise ValueError(f"context_dim must be a multiple of four, not {self.context_dim}")
        if self.future_steps is not None:
            require_int("future_steps", self.future_steps, least=1)

    def _draft(self, material: Material) -> Draft:
        encoder, width = self._drawn_encoder(material)
        channels, time = _map_shape(encoder, material.data[:2])
        future = max(1, time // 3) if self.future_steps is None else self.future_steps
        if future >= time:
            raise ValueError(
                f"future_steps={future} must be less than the {time} steps that the encoder puts "
                "out, or there is no past to predict them from"
            )
        with seeded(material.seeds.heads, CPU):
            foresight = Foresight(channels, future, self.context_dim)
        method = tstcc(
            encoder,
            foresight,
            *weak_and_strong(self.weak_scale, self.weak_mean, self.segments, self.strong_noise),
            temporal_weight=self.temporal_weight,
            contextual_weight=self.contextual_weight,
            temperature=self.temperature,
        )
        return Draft(method, lambda: {"encoder_": encoder, "embedding_dim_": width})


def _map_shape(encoder: nn.Module, rows: torch.Tensor) -> tuple[int, int]:
    """Channels and time steps of what the encoder makes of a series before flattening it."""
    encoder.eval()
    with torch.no_grad():
        maps = feature_maps(encoder, rows)
    flat_from_the_start = maps is rows
    if maps.ndim != 3 or maps.shape[2] < 2 or flat_from_the_start:
        raise ValueError(
            "TSTCC must see the encoder's output along time: take encoder='cnn' or 'tcn', or a "
            "module that puts out (n, channels, time) with at least two steps"
        )
    return maps.shape[1], maps.shape[2]
