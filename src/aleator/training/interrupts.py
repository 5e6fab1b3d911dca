"""Ctrl-C between two steps instead of within one."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class DeferredInterrupt:
    """Context manager that turns the first Ctrl-C into a request, so that a step is finished first.

    A second Ctrl-C interrupts at once. Threads other than the main one get no Ctrl-C, and nothing
    changes there.

    Parameters
    ----------
    active : bool
        Whether to defer; otherwise Ctrl-C interrupts at once, as everywhere in Python.

    Examples
    --------
    >>> import os
    >>> previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> with DeferredInterrupt(active=True) as interrupt:
    ...     os.kill(os.getpid(), signal.SIGINT)
    ...     interrupt.requested
    True
    >>> _ = signal.signal(signal.SIGINT, previous)
    """

    def __init__(self, *, active: bool) -> None:
        self.requested = False
        self._active = active and threading.current_thread() is threading.main_thread()
        self._previous: Any = None

    def __enter__(self) -> DeferredInterrupt:
        if self._active:
            self._previous = signal.getsignal(signal.SIGINT)
            # A program that handles or ignores Ctrl-C itself keeps doing so.
            self._active = self._previous is signal.default_int_handler
        if self._active:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._previous)

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.requested:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            signal.default_int_handler(number, frame)
        self.requested = True
