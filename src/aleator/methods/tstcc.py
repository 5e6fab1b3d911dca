"""TS-TCC (Eldele et al. 2021): contrast along time and between contexts.

Two views of a series are encoded step by step. The past of each view, summarized by a small
transformer, predicts the next steps of the other view (temporal contrasting), and the two summaries
of a series should be closer than those of two series (contextual contrasting). Views are drawn anew
in every pass, and a permutation moves all channels alike: the original program does neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.estimators import FitContext, TrainedLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import EncoderSpec, NetworkSpec
from aleator.inputs import Source
from aleator.losses import nt_xent, temporal_contrast
from aleator.methods.siamese import forward_pair
from aleator.modalities import Modality
from aleator.modalities.series import weak_and_strong_views
from aleator.modalities.spec import ViewPair
from aleator.networks.shapes import feature_maps
from aleator.networks.transformer import ContextTransformer
from aleator.training.devices import seeded
from aleator.training.method import INPUT, Method, ParameterGroup, Phase
from aleator.validation import check_int, check_number, check_optional_int


class TemporalContrast(nn.Module):
    """Context of the past, predictions of the next steps, and the head of contextual contrasting.

    Examples
    --------
    >>> contrast = TemporalContrast(channels=8, future_steps=3, width=12)
    >>> context, predictions = contrast(torch.zeros(4, 9, 8), torch.full((4,), 5))
    >>> context.shape, predictions.shape  # (rows, width); (rows, steps ahead, channels)
    (torch.Size([4, 12]), torch.Size([4, 3, 8]))
    """

    def __init__(self, channels: int, future_steps: int, width: int = 100) -> None:
        super().__init__()
        self.future_steps = future_steps
        self.context = ContextTransformer(channels, width)
        self.predict = nn.Linear(width, future_steps * channels)
        half, quarter = max(1, channels // 2), max(1, channels // 4)
        self.head = nn.Sequential(
            nn.Linear(width, half), nn.BatchNorm1d(half), nn.ReLU(), nn.Linear(half, quarter)
        )

    def forward(self, steps: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """Summarize `steps` (n, time, channels) up to step `last`, and predict the next ones."""
        context = self.context(steps, last)
        return context, self.predict(context).unflatten(1, (self.future_steps, -1))

    def draw_last(self, time: int, rows: int, device: torch.device) -> Tensor:
        """Draw the last step of the past, one for all rows, such that all future steps exist."""
        return torch.randint(time - self.future_steps, (1,), device=device).expand(rows)

    def future(self, steps: Tensor, last: Tensor) -> Tensor:
        """Return the steps that follow `last`, of shape (n, steps ahead, channels)."""
        ahead = last[0] + 1 + torch.arange(self.future_steps, device=steps.device)
        return steps.index_select(1, ahead)


def tstcc(
    encoder: nn.Module,
    contrast: TemporalContrast,
    weak_view: nn.Module,
    strong_view: nn.Module,
    *,
    temporal_weight: float,
    contextual_weight: float,
    temperature: float,
) -> Method:
    """Train encoder, transformer and predictions on the weighted sum of the two contrasts."""

    def encode_steps(x: Tensor) -> Tensor:
        return F.normalize(feature_maps(encoder, x), dim=1).transpose(1, 2)

    encode_pair = forward_pair(encode_steps, encoder)
    head_pair = forward_pair(contrast.head, contrast.head)

    def outputs(x: Tensor) -> tuple[Tensor, ...]:
        weak, strong = encode_pair(weak_view(x), strong_view(x))
        lasts = [contrast.draw_last(weak.shape[1], len(weak), x.device) for _ in range(2)]
        # Products this small gain nothing from half precision, and casting them takes time.
        with torch.autocast(x.device.type, enabled=False):
            contexts, predictions = contrast(
                torch.cat([weak, strong]).to(next(contrast.parameters()).dtype), torch.cat(lasts)
            )
        futures = contrast.future(strong, lasts[0]), contrast.future(weak, lasts[1])
        return *predictions.chunk(2), *futures, *head_pair(*contexts.chunk(2))

    def criterion(
        from_weak: Tensor,
        from_strong: Tensor,
        strong_future: Tensor,
        weak_future: Tensor,
        weak_context: Tensor,
        strong_context: Tensor,
    ) -> Tensor:
        temporal = temporal_contrast(from_weak.transpose(0, 1), strong_future.transpose(0, 1))
        temporal = temporal + temporal_contrast(
            from_strong.transpose(0, 1), weak_future.transpose(0, 1)
        )
        contextual = nt_xent(weak_context, strong_context, temperature=temperature)
        return temporal_weight * temporal + contextual_weight * contextual

    networks = (encoder, contrast)
    phase = Phase(
        "contrast", [ParameterGroup("encoder", networks)], networks, (INPUT,), outputs, criterion,
        couples_rows=True,
    )  # fmt: skip
    modules = {"encoder": encoder, "contrast": contrast}
    modules |= {"weak view": weak_view, "strong view": strong_view}
    return Method(modules, [phase], views=(weak_view, strong_view))


@estimator
class TSTCC(TrainedLearner):
    """TS-TCC, for time series: contrast along time and between contexts.

    Eldele et al., Time-series representation learning via temporal and contextual contrasting,
    2021. It trains the encoder up to the layer that flattens time; layers after that (an
    `embedding_dim` other than the width of the CNN, the last layers of a TCN) stay random.

    Parameters
    ----------
    future_steps : int or None, default=?
        Steps of the encoder's output that a past predicts. None is a third of them.
    context_dim : int, default=?
        Width of the transformer that summarizes the past, a multiple of four.
    temporal_weight : float, default=?
        Weight of temporal contrasting.
    contextual_weight : float, default=?
        Weight of contextual contrasting.
    temperature : float, default=?
        Temperature of contextual contrasting.
    weak_scale : float, default=?
        Standard deviation of the factors by which the weak view scales time steps.
    weak_mean : float, default=?
        Mean of these factors.
    segments : int, default=?
        Largest number of segments that the strong view permutes.
    strong_noise : float, default=?
        Standard deviation of the noise of the strong view.
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    {trained attributes}

    See Also
    --------
    SimCLR : Contrasts whole series.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import TSTCC
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

    _supported_modalities: ClassVar[Sequence[str] | None] = ("series",)
    _takes_gaps: ClassVar[bool] = False
    _networks: ClassVar[Mapping[str, NetworkSpec]] = {"encoder": EncoderSpec()}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("temporal_weight", "contextual_weight", "weak_scale", "strong_noise"):
            check_number(name, getattr(self, name), 0)
        check_number("weak_mean", self.weak_mean, -math.inf)
        check_number("temperature", self.temperature, 0, include_low=False)
        check_int("segments", self.segments, minimum=1)
        check_int("context_dim", self.context_dim, minimum=4)
        if self.context_dim % 4:
            raise ValueError(f"context_dim must be a multiple of four, got {self.context_dim}")
        check_optional_int("future_steps", self.future_steps, minimum=1)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        encoder = networks["encoder"]
        sample = torch.from_numpy(context.source.gather(np.arange(2)))
        channels, time = _map_shape(encoder, sample)
        future = max(1, time // 3) if self.future_steps is None else self.future_steps
        if future >= time:
            raise ValueError(
                f"future_steps={future} must be less than the {time} time steps of the encoder's "
                "output, or there is no past to predict from"
            )
        with seeded(context.seeds.heads):
            contrast = TemporalContrast(channels, future, self.context_dim)
        method = tstcc(
            encoder,
            contrast,
            *self._views(context.modality, context.source),
            temporal_weight=self.temporal_weight,
            contextual_weight=self.contextual_weight,
            temperature=self.temperature,
        )
        return TrainingSpec(method, lambda: {"encoder_": encoder, **attributes})

    def _views(self, modality: Modality, source: Source) -> ViewPair:
        return weak_and_strong_views(
            self.weak_scale, self.weak_mean, self.segments, self.strong_noise
        )


def _map_shape(encoder: nn.Module, x: Tensor) -> tuple[int, int]:
    """Channels and time steps of the encoder's output before it is flattened."""
    encoder.eval()
    with torch.no_grad():
        maps = feature_maps(encoder, x)
    flat_from_the_start = maps is x
    if maps.ndim != 3 or maps.shape[2] < 2 or flat_from_the_start:
        raise ValueError(
            "TSTCC needs the encoder's output along time: use encoder='cnn' or 'tcn', or a module "
            "that returns (n, channels, time) with at least two time steps"
        )
    return maps.shape[1], maps.shape[2]
