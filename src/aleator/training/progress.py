"""A line in the terminal that says how far training is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

# A step may take less than the tenth of a millisecond; redrawing is the bar's own business.
_SECONDS_BETWEEN_UPDATES = 0.1


class Progress:
    """Steps done, loss, rate and time left; silent when nobody watches a terminal.

    >>> with Progress("LFR", total_steps=10, shown=True) as progress:  # not a terminal: silent
    ...     progress.advance()
    """

    def __init__(self, title: str, total_steps: int, *, shown: bool) -> None:
        self._title = title
        self._total = total_steps
        self._shown = shown and sys.stderr.isatty()
        self._pending = 0
        self._last = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self._shown:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[phase]:<10}"),
                TextColumn("loss {task.fields[loss]}"),
                TextColumn("{task.fields[rate]} steps/s"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Console(file=sys.stderr),
                transient=False,
            )
            self._bar.start()
            self._task = self._bar.add_task(
                self._title, total=self._total, loss="–", rate="–", phase="preparing"
            )
            self._began = time.perf_counter()
            self._done = 0
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._flush()
            self._bar.stop()

    def begin(self, phase: str) -> None:
        """Name what is being trained."""
        if self._bar is not None:
            self._bar.update(self._task, phase=phase)

    def advance(self) -> None:
        """Count a step."""
        if self._bar is None:
            return
        self._pending += 1
        if time.perf_counter() - self._last > _SECONDS_BETWEEN_UPDATES:
            self._flush()

    def note(self, loss: float) -> None:
        """Show the loss of the last pass."""
        if self._bar is not None:
            self._bar.update(self._task, loss=f"{loss:.4g}")

    def _flush(self) -> None:
        self._last = time.perf_counter()
        self._done += self._pending
        rate = self._done / max(self._last - self._began, 1e-9)
        self._bar.update(self._task, advance=self._pending, rate=f"{rate:,.0f}")
        self._pending = 0
