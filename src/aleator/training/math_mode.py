"""Torch's switches for rounding, which all threads of a process share."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

# Double precision has no faster products, but what is not trained stays in single precision.
_EXACT = ("32", "64")

_lock = threading.Lock()
_active: Counter[str] = Counter()  # precisions of the blocks that are running, in any thread
_restore = ExitStack()  # what the last of these blocks does


@contextmanager
def math_mode(precision: str) -> Iterator[None]:
    """Set torch's global switches for a run, and restore them.

    Deterministic convolutions are part of it: the same seed gives the same numbers. The switches
    are restored when the last of several blocks in several threads ends. While one of them needs
    full precision, all have it.

    Parameters
    ----------
    precision : {"64", "32", "tf32", "bf16"}
        Precision of a run.

    Examples
    --------
    >>> with math_mode("32"):
    ...     torch.get_float32_matmul_precision()
    'highest'
    """
    with _lock:
        if not _active:
            _remember()
        _active[precision] += 1
        _set(exact=any(name in _active for name in _EXACT))
    try:
        yield
    finally:
        with _lock:
            _active.subtract([precision])
            if not _active[precision]:
                del _active[precision]
            if _active:
                _set(exact=any(name in _active for name in _EXACT))
            else:
                _restore.close()


def _remember() -> None:
    """Let `_restore` set everything to what it is now."""
    _restore.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
    flags = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True)
    _restore.enter_context(flags)


def _set(*, exact: bool) -> None:
    precision = "highest" if exact else "high"
    if torch.get_float32_matmul_precision() != precision:
        torch.set_float32_matmul_precision(precision)
    if torch.backends.cudnn.allow_tf32 == exact:
        torch.backends.cudnn.allow_tf32 = not exact
