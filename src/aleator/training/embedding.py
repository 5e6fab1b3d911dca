"""Running a trained encoder over data, on fewer rows at a time if memory does not suffice."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from aleator.exceptions import LessMemoryWarning
from aleator.inputs import Source
from aleator.networks.shapes import flatten_output
from aleator.training.columns import rows_per_piece
from aleator.training.head_bank import BATCH_NORMS
from aleator.training.math_mode import math_mode
from aleator.training.memory_errors import explained_memory, is_out_of_memory, memory_error

_ADVICE = "free some of it, or embed on another device"


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

    If memory does not suffice, pieces have half as many rows, and half of that, down to one, with a
    warning. Rows are embedded independently of each other: only their rounding may change.

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
        with explained_memory(device, "for the network", _ADVICE):
            encoder = copy.deepcopy(encoder).to(device)
    encoder.eval()
    # A new thread takes over what `torch.set_num_threads` set when it first asks for it; until then
    # sums may be divided, and rounded, in other ways.
    torch.get_num_threads()
    at_once = rows = rows or rows_per_piece(source.schema.size, device)
    for chunk in source.chunks(rows, start, stop):
        samples = torch.from_numpy(chunk)
        while len(samples):
            embedded = _embed_rows(encoder, samples[:at_once], device, precision)
            if isinstance(embedded, str):
                at_once = _fewer_rows(encoder, len(samples[:at_once]), device, embedded)
                continue
            samples = samples[at_once:]
            yield embedded


def _embed_rows(
    encoder: nn.Module, rows: Tensor, device: torch.device, precision: str
) -> np.ndarray | str:
    """Return the embedding, or the message of the error if memory does not suffice."""
    try:
        # Not in the generator: the modes must not hold while the caller uses what it was given.
        with torch.inference_mode(), math_mode(precision):
            return flatten_output(encoder(rows.to(device))).float().cpu().numpy()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        # The traceback holds tensors: only its text may outlive this block.
        return str(error)


def _fewer_rows(encoder: nn.Module, rows: int, device: torch.device, failure: str) -> int:
    """Return half of the rows, for which memory did not suffice, with a warning."""
    fewer = rows // 2
    if not fewer or any(_normalizes_rows_together(part) for part in encoder.modules()):
        purpose = f"to embed {_count(rows)} at once"
        raise memory_error(device, purpose, _ADVICE, failure)
    if device.type == "cuda":
        torch.cuda.empty_cache()
    warnings.warn(
        f"memory did not suffice on {device} to embed {_count(rows)} at once: the network now runs "
        f"on {_count(fewer)} at a time",
        LessMemoryWarning,
        stacklevel=2,
    )
    return fewer


def _count(rows: int) -> str:
    return "one row" if rows == 1 else f"{rows} rows"


def _normalizes_rows_together(module: nn.Module) -> bool:
    """Whether this is a batch normalization without averages, which uses the rows it is given."""
    return isinstance(module, BATCH_NORMS) and getattr(module, "running_mean", None) is None
