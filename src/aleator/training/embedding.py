"""Running a trained encoder over data."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from aleator.inputs import Source
from aleator.networks.shapes import flatten_output
from aleator.training.columns import rows_per_piece
from aleator.training.math_mode import math_mode


def embed(encoder: nn.Module, source: Source, device: torch.device, precision: str) -> np.ndarray:
    """Embed all samples of a source, piece by piece; the encoder itself stays where it is.

    Besides the result, only one piece of the data is in memory. Half and double precision are for
    training: embeddings are computed in single precision.

    Parameters
    ----------
    encoder : torch.nn.Module
        The encoder.
    source : Source
        Samples in float32.
    device : torch.device
        Where to compute.
    precision : {"64", "32", "tf32", "bf16"}
        Precision of the training.

    Returns
    -------
    ndarray of shape (n_samples, embedding_dim), float32

    Examples
    --------
    >>> from aleator.inputs import ArraySource
    >>> data = ArraySource(np.ones((2, 2, 2), np.float32))
    >>> embed(nn.Flatten(), data, torch.device("cpu"), "32").shape
    (2, 4)
    """
    result, start = np.empty((0, 0), np.float32), 0
    for embedded in embed_chunks(encoder, source, device, precision):
        if start == 0:
            result = np.empty((len(source), embedded.shape[1]), np.float32)
        result[start : start + len(embedded)] = embedded
        start += len(embedded)
    return result


def embed_chunks(
    encoder: nn.Module,
    source: Source,
    device: torch.device,
    precision: str,
    *,
    rows: int | None = None,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[np.ndarray]:
    """Embed samples of a source, and yield the embedding piece by piece.

    Parameters
    ----------
    encoder : torch.nn.Module
        The encoder.
    source : Source
        Samples in float32.
    device : torch.device
        Where to compute.
    precision : {"64", "32", "tf32", "bf16"}
        Precision of the training.
    rows : int, default=None
        Samples per piece; None is a number that suits the device.
    start : int, default=0
        Position of the first sample.
    stop : int, default=None
        Position after the last sample; None is the end.

    Yields
    ------
    ndarray of shape (at most rows, embedding_dim), float32
    """
    if device.type != "cpu":
        encoder = copy.deepcopy(encoder).to(device)
    encoder.eval()
    # A new thread takes over what `torch.set_num_threads` set when it first asks for it; until then
    # sums may be divided, and rounded, in other ways.
    torch.get_num_threads()
    rows = rows or rows_per_piece(source.schema.size, device)
    for chunk in source.chunks(rows, start, stop):
        # Within the loop: the modes must not hold while the caller uses what it was given.
        with torch.inference_mode(), math_mode(precision):
            embedded = flatten_output(encoder(torch.from_numpy(chunk).to(device))).float().cpu()
        yield embedded.numpy()
