"""TS-TCC (Eldele et al. 2021): contrast along time and between contexts.

Two views of a series are encoded step by step. The past of each view, summed up by a small
transformer, predicts the other view's next steps (temporal contrasting), and the two summaries of a
series should be closer than those of two series (contextual contrasting). Views are drawn anew in
every pass, and a permutation moves all channels alike: the original program does neither.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.losses import nt_xent, temporal_contrast
from aleator.methods.siamese import OfBoth
from aleator.networks.context import Context
from aleator.networks.shapes import feature_maps
from aleator.training.method import INPUT, Method, Phase, jointly


class Foresight(nn.Module):
    """Context of the past, predictions of the next steps, and the head of contextual contrasting.

    >>> foresight = Foresight(channels=8, future_steps=3, width=12)
    >>> context, ahead = foresight(torch.zeros(4, 9, 8), torch.full((4,), 5))
    >>> context.shape, ahead.shape  # rows × width; steps ahead × rows × channels
    (torch.Size([4, 12]), torch.Size([3, 4, 8]))
    """

    def __init__(self, channels: int, future_steps: int, width: int = 100) -> None:
        super().__init__()
        self.future_steps = future_steps
        self.context = Context(channels, width)
        self.predict = nn.Linear(width, future_steps * channels)
        half, quarter = max(1, channels // 2), max(1, channels // 4)
        self.head = nn.Sequential(
            nn.Linear(width, half), nn.BatchNorm1d(half), nn.ReLU(), nn.Linear(half, quarter)
        )

    def forward(self, steps: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """Look at `steps` (`n × time × channels`) up to step `last`."""
        context = self.context(steps, last)
        ahead = self.predict(context).view(len(steps), self.future_steps, -1)
        return context, ahead.transpose(0, 1)

    def draw_last(self, time: int, rows: int, device: torch.device) -> Tensor:
        """The last step of the past, one for all rows: late enough to see something, early enough
        for all future steps to exist.
        """
        return torch.randint(time - self.future_steps, (1,), device=device).expand(rows)

    def future(self, steps: Tensor, last: Tensor) -> Tensor:
        """The steps that follow `last`, one slice for each step ahead."""
        ahead = last[0] + 1 + torch.arange(self.future_steps, device=steps.device)
        return steps.index_select(1, ahead).transpose(0, 1)


def tstcc(
    encoder: nn.Module,
    foresight: Foresight,
    weak_view: nn.Module,
    strong_view: nn.Module,
    *,
    temporal_weight: float,
    contextual_weight: float,
    temperature: float,
) -> Method:
    """Trains encoder, transformer and predictions on the weighted sum of the two contrasts."""

    def steps_of(rows: Tensor) -> Tensor:
        return F.normalize(feature_maps(encoder, rows), dim=1).transpose(1, 2)

    steps_of_both, head = OfBoth(steps_of, encoder), OfBoth(foresight.head, foresight.head)

    def loss(rows: Tensor) -> Tensor:
        weak, strong = steps_of_both(weak_view(rows), strong_view(rows))
        lasts = [foresight.draw_last(weak.shape[1], len(weak), rows.device) for _ in range(2)]
        # Products this small gain nothing from half precision, and casting them takes time.
        with torch.autocast(rows.device.type, enabled=False):
            contexts, ahead = foresight(torch.cat([weak, strong]).float(), torch.cat(lasts))
        from_weak, from_strong = ahead.chunk(2, dim=1)
        temporal = temporal_contrast(from_weak, foresight.future(strong, lasts[0]))
        temporal = temporal + temporal_contrast(from_strong, foresight.future(weak, lasts[1]))
        contextual = nt_xent(*head(*contexts.chunk(2)), temperature=temperature)
        return temporal_weight * temporal + contextual_weight * contextual

    networks = (encoder, foresight)
    phase = Phase("contrast", {"encoder": jointly(*networks)}, networks, (INPUT,), loss)
    views = {"weak view": weak_view, "strong view": strong_view}
    return Method({"encoder": encoder, "foresight": foresight, **views}, [phase])
