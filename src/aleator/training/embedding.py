"""Running a trained encoder over data."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from aleator.networks.shapes import as_rows
from aleator.training.columns import rows_a_piece
from aleator.training.devices import arithmetic


def embed(encoder: nn.Module, rows: np.ndarray, device: torch.device, precision: str) -> np.ndarray:
    """Embed `rows` in pieces that fit anywhere; the encoder itself stays where it is.

    Half precision is for training: an embedding keeps all the digits of its weights.

    >>> embed(nn.Flatten(), np.ones((2, 2, 2), np.float32), torch.device("cpu"), "32").shape
    (2, 4)
    """
    if device.type != "cpu":
        encoder = copy.deepcopy(encoder).to(device)
    encoder.eval()
    step = rows_a_piece(rows[0].size, device)
    pieces = []
    with torch.inference_mode(), arithmetic(precision):
        for start in range(0, len(rows), step):
            piece = torch.from_numpy(rows[start : start + step]).to(device)
            pieces.append(as_rows(encoder(piece)).float().cpu().numpy())
    return np.concatenate(pieces)
