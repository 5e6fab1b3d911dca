"""DACL (Verma et al. 2021): contrastive learning whose only view is mixup with other samples."""

from __future__ import annotations

from torch import nn

from aleator.methods.simclr import simclr
from aleator.training.method import Method
from aleator.views import Mixed


def dacl(encoder: nn.Module, head: nn.Module, mixed: Mixed, *, temperature: float) -> Method:
    """Trains encoder and head; NT-Xent between two mixtures, each mostly of the same sample."""
    return simclr(encoder, head, mixed, mixed, temperature=temperature)
