"""One optimizer step of a phase, run eagerly or replayed as a CUDA graph."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache

import torch
from torch import Tensor, nn

from aleator.training.columns import ColumnStore, StagedColumn
from aleator.training.distribution import OneProcess
from aleator.training.host_rows import HostRows
from aleator.training.method import Phase
from aleator.training.micro_batches import micro_batches
from aleator.training.optimizers import Optimizer


class Step:
    """Gather a batch, compute the loss, differentiate, update; losses are summed on the device.

    Attributes
    ----------
    loss_sum : Tensor
        Sum of the losses of the present pass.
    finite_steps : Tensor
        Number of steps of the present pass after which that sum was finite. It tells which step
        was the first with a loss of NaN or infinity, without waiting for the device at each.
    updating : bool
        Whether a step has begun to change weights, and has not ended.
    """

    def __init__(
        self,
        phase: Phase,
        columns: ColumnStore,
        optimizer: Optimizer,
        device: torch.device,
        autocast: Callable[[], AbstractContextManager[None]],
        micro_batch: int | None = None,
        processes: OneProcess | None = None,
    ) -> None:
        self.phase = phase
        self.optimizer = optimizer
        dtype = next(optimizer.parameters()).dtype
        self.loss_sum = torch.zeros((), dtype=dtype, device=device)
        self._largest = torch.finfo(dtype).max
        self.finite_steps = torch.zeros((), dtype=torch.int64, device=device)
        self.updating = False
        self._columns = columns
        self._staged: dict[StagedColumn, HostRows | None] = dict.fromkeys(
            columns.staged(phase.columns)
        )
        self._autocast = autocast
        self._micro_batch = micro_batch
        self._processes = OneProcess() if processes is None else processes

    def begin_pass(self, order: Tensor) -> None:
        """Prepare for batches that are consecutive parts of `order`, which is on the host."""
        for column in self._staged:
            self._staged[column] = None  # frees what the last pass has read
            self._staged[column] = column.in_order(order)

    def stage(self, index: Tensor) -> None:
        """Bring what is kept on the host to the device; `index` is on the host."""
        for column, rows in self._staged.items():
            column.stage(index, rows)

    def __call__(self, index: Tensor) -> None:
        """Train on the samples at `index`, which is on the device."""
        with self._autocast(), micro_batches(self.phase.row_wise, self._micro_batch):
            columns = self._columns.gather(self.phase.columns, index)
            loss = self._processes.loss(self.phase, columns)
        loss.backward()
        loss = self._processes.finish_backward(self.optimizer.parameters(), loss)
        self.updating = True
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.phase.after_step is not None:
            with torch.no_grad():
                self.phase.after_step()
        self.loss_sum += loss
        self.finite_steps += self.loss_sum.abs() <= self._largest  # false for NaN
        self.updating = False


class GraphedStep:
    """A step for batches of one size, captured once and replayed.

    A graph needs a rehearsal in which libraries set themselves up. Rehearsing trains, so that
    everything it changes is restored.
    """

    def __init__(self, step: Step, sample_index: Tensor) -> None:
        self._index = sample_index.clone()
        device = sample_index.device
        restore = snapshot(step.phase.train_mode, step.optimizer, step.loss_sum, step.finite_steps)
        noise = torch.cuda.get_rng_state(device)
        stream = _rehearsal_stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        try:
            with torch.cuda.stream(stream):
                step(self._index)
            torch.cuda.current_stream(device).wait_stream(stream)
            self._graph = torch.cuda.CUDAGraph()
            with no_garbage_collection(), torch.cuda.graph(self._graph):
                step(self._index)
        finally:
            step.updating = False
            step.optimizer.zero_grad()
            torch.cuda.synchronize(device)
            restore()
            torch.cuda.set_rng_state(noise, device)

    def __call__(self, index: Tensor) -> None:
        """Train on the samples at `index`."""
        self._index.copy_(index)
        self._graph.replay()


@cache
def _rehearsal_stream(device: torch.device) -> torch.cuda.Stream:
    """Return the stream of a device on which all graphs are rehearsed.

    Libraries keep a workspace for every stream that they have seen: a stream per graph would add up
    to two gigabytes.
    """
    return torch.cuda.Stream(device)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep Python from freeing graphs of an earlier fit, which ends a capture with an error.

    Examples
    --------
    >>> with no_garbage_collection():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def snapshot(
    modules: Iterable[nn.Module], optimizer: Optimizer, *sums: Tensor
) -> Callable[[], None]:
    """Copy everything a step changes, and return a function that restores it in place."""
    kept = [*sums, *optimizer.state()]
    for module in modules:
        kept += [*module.parameters(), *module.buffers()]
    copies = [tensor.detach().clone() for tensor in kept]

    def restore() -> None:
        with torch.no_grad():
            for tensor, copy in zip(kept, copies, strict=True):
                tensor.copy_(copy)

    return restore
