"""SCARF (Bahri et al. 2022): a row of a table against itself with most cells replaced."""

from __future__ import annotations

from torch import nn

from aleator.methods.simclr import simclr
from aleator.training.method import Method
from aleator.views import Corrupted


def scarf(
    encoder: nn.Module, head: nn.Module, corrupted: Corrupted, *, temperature: float
) -> Method:
    """Trains encoder and head; NT-Xent between a row as it is and the same row corrupted."""
    return simclr(encoder, head, nn.Identity(), corrupted, temperature=temperature)
