"""The processes that train together, as the trainer sees them; here: only one.

`aleator.training.ranks` has the same methods for several processes. Methods of training know
neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from aleator.training.host_rows import HostRows
from aleator.training.interrupts import DeferredInterrupt
from aleator.training.method import Method, Phase
from aleator.training.plan import Plan
from aleator.training.sampler import Sampler


class OneProcess:
    """One process, which has all samples.

    Attributes
    ----------
    rank : int
        Number of this process; the first, zero, shows progress and writes.
    size : int
        Number of processes.
    alone : bool
        Whether there is no other process, so that nothing has to be divided.
    per_machine : int
        Number of processes that share the memory of a machine.
    device : torch.device or None
        Device of this process; None if the user's choice decides.

    Examples
    --------
    >>> OneProcess().share(torch.tensor([4, 2])).tolist()
    [4, 2]
    """

    rank = 0
    size = 1
    alone = True
    per_machine = 1
    device: torch.device | None = None

    @property
    def is_first(self) -> bool:
        """Whether this process shows progress and writes."""
        return self.rank == 0

    def together(self) -> AbstractContextManager[None]:
        """Context of a fit, in which the end of one process ends the others."""
        return nullcontext()

    def divided(self, sampler: Sampler) -> Sampler:
        """Decide who has which samples, and return the order in which all read them."""
        return sampler

    def own(self, rows: HostRows) -> HostRows:
        """Return the samples that this process keeps."""
        return rows

    def own_order(self, order: Tensor) -> Tensor:
        """Return which of its own samples this process reads, given those that all read."""
        return order

    def share(self, batch: Tensor) -> Tensor:
        """Begin a batch, and return the positions of its samples in the columns of this process."""
        return batch

    def connected(self, method: Method) -> AbstractContextManager[None]:
        """Context in which layers that look at a whole batch see that of all processes."""
        return nullcontext()

    def loss(self, phase: Phase, columns: Sequence[Tensor]) -> Tensor:
        """Return a scalar whose gradients, summed over processes, are those of the loss."""
        return phase.loss(*columns)

    def finish_backward(self, parameters: Iterable[nn.Parameter], loss: Tensor) -> Tensor:
        """Sum gradients over processes, and return the loss of the whole batch."""
        return loss.detach()

    def check_interrupt(self, interrupt: DeferredInterrupt, steps: int) -> None:
        """Raise KeyboardInterrupt after the same step in all processes if one was interrupted."""
        interrupt.check()

    def make_equal(self, modules: Mapping[str, nn.Module]) -> None:
        """Give all processes the weights of the first."""

    def agree_on_run(
        self, record: Callable[[], Mapping[str, Any]], seeds: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the seeds of the first process, after a check that all train the same.

        Parameters
        ----------
        record : callable
            Function that returns what identifies the run, without what may differ.
        seeds : callable
            Function that returns the seeds, called in the first process only.

        Returns
        -------
        dict
        """
        return seeds()

    def agree_on_start(
        self, plan: Plan, state: dict[str, Any] | None
    ) -> tuple[Plan, dict[str, Any] | None]:
        """Return the plan and the saved state of the first process."""
        return plan, state

    def agree_on_history(self, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the history of the first process; the times of others are different."""
        return history
