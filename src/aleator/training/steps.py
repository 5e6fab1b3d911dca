"""One optimizer step of a phase, run as it stands or replayed as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

from aleator.training.columns import ColumnStore
from aleator.training.method import Phase
from aleator.training.optimizers import Optimizer


class Step:
    """Gather a batch, take the loss, differentiate, update; the loss is added up on the device."""

    def __init__(
        self,
        phase: Phase,
        columns: ColumnStore,
        optimizer: Optimizer,
        device: torch.device,
        networks_run: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.phase = phase
        self.optimizer = optimizer
        self.loss_sum = torch.zeros((), device=device)
        self._columns = columns
        self._staged = columns.must_stage(phase.columns)
        self._networks_run = networks_run

    def stage(self, index: Tensor) -> None:
        """Bring what lives on the host to the device; `index` lies on the host."""
        for column in self._staged:
            column.stage(index)

    def __call__(self, index: Tensor) -> None:
        """Train on the samples at `index`, which lies on the device."""
        with self._networks_run():
            loss = self.phase.loss(*self._columns.gather(self.phase.columns, index))
        loss.backward()
        self.optimizer.step()
        self.optimizer.forget_gradients()
        self.loss_sum += loss.detach()


class GraphedStep:
    """A step for batches of one size, captured once and replayed.

    A graph needs a rehearsal, in which libraries set themselves up. Rehearsing trains, so
    everything it touches is put back.
    """

    def __init__(self, step: Step, sample_index: Tensor) -> None:
        self._index = sample_index.clone()
        device = sample_index.device
        # What does not run in training mode, projectors above all, a step leaves as it is.
        undo = _remember(step.phase.running, step.optimizer, step.loss_sum)
        noise = torch.cuda.get_rng_state(device)
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        try:
            with torch.cuda.stream(stream):
                step(self._index)
            torch.cuda.current_stream(device).wait_stream(stream)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                step(self._index)
        finally:
            step.optimizer.forget_gradients()
            torch.cuda.synchronize(device)
            undo()
            torch.cuda.set_rng_state(noise, device)

    def __call__(self, index: Tensor) -> None:
        """Train on the samples at `index`."""
        self._index.copy_(index)
        self._graph.replay()


def _remember(
    modules: Iterable[nn.Module], optimizer: Optimizer, loss_sum: Tensor
) -> Callable[[], None]:
    """Keep all that a step changes, and return a function that puts it back in place."""
    kept = [loss_sum, *optimizer.memory()]
    for module in modules:
        kept += [*module.parameters(), *module.buffers()]
    copies = [tensor.detach().clone() for tensor in kept]

    def undo() -> None:
        with torch.no_grad():
            for tensor, copy in zip(kept, copies, strict=True):
                tensor.copy_(copy)

    return undo
