"""Progress of training: a bar in the terminal, and lines for logs."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

# A step may take less than 0.1 ms; the bar is redrawn more rarely than that.
_SECONDS_BETWEEN_UPDATES = 0.1


class Progress:
    """Steps done, loss, speed and time left.

    Parameters
    ----------
    title : str
        Name of what is trained.
    total_steps : int
        Steps of the whole run.
    bar : bool
        Show a bar on stderr if it is a terminal.
    verbose : int, default=0
        0 prints nothing; 1 prints a line per pass over the data that trains the encoder; 2 prints a
        line per pass. Lines go to stdout.

    Examples
    --------
    >>> with Progress("LFR", total_steps=10, bar=True) as progress:  # not a terminal: no bar
    ...     progress.advance()
    >>> progress = Progress("LFR", 10, bar=False, verbose=2)
    >>> progress.report({"epoch": 0, "phase": "encoder", "loss": 2.5, "seconds": 0.1})
    [LFR] epoch 1, encoder: loss 2.5, 0.1 s
    """

    def __init__(self, title: str, total_steps: int, *, bar: bool, verbose: int = 0) -> None:
        self._title = title
        self._total = total_steps
        self._shown = bar and sys.stderr.isatty()
        self._verbose = verbose
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
        """Show the name of the phase that begins."""
        if self._bar is not None:
            self._bar.update(self._task, phase=phase)

    def advance(self, steps: int = 1) -> None:
        """Count steps."""
        if self._bar is None:
            return
        self._pending += steps
        if time.perf_counter() - self._last > _SECONDS_BETWEEN_UPDATES:
            self._flush()

    def report(self, record: dict[str, Any]) -> None:
        """Show the record of a pass that has ended."""
        if self._bar is not None:
            self._bar.update(self._task, loss=f"{record['loss']:.4g}")
        if self._verbose > 1 or (self._verbose == 1 and "embedding_std" in record):
            print(
                f"[{self._title}] epoch {record['epoch'] + 1}, {record['phase']}: "
                f"loss {record['loss']:.4g}, {record['seconds']:.3g} s",
                flush=True,
            )

    def _flush(self) -> None:
        self._last = time.perf_counter()
        self._done += self._pending
        rate = self._done / max(self._last - self._began, 1e-9)
        self._bar.update(self._task, advance=self._pending, rate=f"{rate:,.0f}")
        self._pending = 0
