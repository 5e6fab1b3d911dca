"""Errors that say that memory does not suffice: how they are recognized, and how explained."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory could not be allocated, on a GPU or on the host.

    Examples
    --------
    >>> is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    True
    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    >>> is_out_of_memory(RuntimeError("shapes do not match"))
    False
    """
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "DefaultCPUAllocator" in text or "not enough memory" in text
    )


def memory_error(
    device: torch.device | str, purpose: str, advice: str, failure: str
) -> MemoryError:
    """Return an error that says for what memory does not suffice, and what to try.

    Parameters
    ----------
    device : torch.device or str
        The device.
    purpose : str
        For what it does not suffice.
    advice : str
        What to try.
    failure : str
        Message of the original error.

    Returns
    -------
    MemoryError

    Examples
    --------
    >>> memory_error("cpu", "for batches of 8 rows", "lower batch_size", "no memory")
    MemoryError('memory does not suffice on cpu for batches of 8 rows: lower batch_size (no ...)')
    """
    reason = failure.strip().partition("\n")[0] or "out of memory"
    return MemoryError(f"memory does not suffice on {device} {purpose}: {advice} ({reason})")


@contextmanager
def explained_memory(device: torch.device, purpose: str, advice: str) -> Iterator[None]:
    """Context in which an error of memory says for what it does not suffice, and what to try.

    Parameters
    ----------
    device : torch.device
        The device.
    purpose : str
        For what memory may not suffice.
    advice : str
        What to try.

    Examples
    --------
    >>> with explained_memory(torch.device("cpu"), "to draw projectors", "draw fewer"):
    ...     raise MemoryError("no memory")
    Traceback (most recent call last):
    ...
    MemoryError: memory does not suffice on cpu to draw projectors: draw fewer (no memory)
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        # The traceback would keep tensors, so that there was as little memory for another try.
        traceback.clear_frames(error.__traceback__)
        raise memory_error(device, purpose, advice, str(error)) from error
