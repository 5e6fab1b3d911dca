"""Several processes that train one model, each on its own rows of every batch.

Every process computes its part of the loss, and the sum of the processes' gradients is the gradient
of the loss of the whole batch: the same as that of one process, but for rounding. The order of
samples, the batches, and all random numbers are those of one process too. So the number of
processes can be changed between two parts of a run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from aleator.data_files import tensors_to_bytes
from aleator.training.collectives import Collectives
from aleator.training.distribution import OneProcess
from aleator.training.host_rows import HostRows
from aleator.training.interrupts import DeferredInterrupt
from aleator.training.method import Method, Phase
from aleator.training.owners import Owners, PieceOwners, RowOwners
from aleator.training.piece_sampler import DividedPieceSampler, PieceSampler
from aleator.training.plan import Plan
from aleator.training.sampler import Sampler
from aleator.training.shares import Share
from aleator.training.state_tree import pack, unpack
from aleator.training.watch import Watch
from aleator.training.whole_batch import gather_rows, seeing_whole_batch

# Asking a GPU whether to stop means waiting for it.
_STEPS_BETWEEN_QUESTIONS = {"cpu": 1, "cuda": 16}


class Ranks(OneProcess):
    """The processes of the default group of `torch.distributed`.

    Parameters
    ----------
    device : torch.device
        Device of this process.
    per_machine : int
        Number of processes that share the memory of a machine.
    """

    alone = False
    device: torch.device

    def __init__(self, device: torch.device, per_machine: int) -> None:
        self._group = Collectives(device)
        self.rank, self.size = self._group.rank, self._group.size
        self.device = device
        self.per_machine = per_machine
        self._owners: Owners = RowOwners(self.size)
        self._share: Share | None = None
        self._part_of_loss = torch.zeros((), device=device)
        self._interrupt: DeferredInterrupt | None = None
        self._stop = torch.zeros((), device=device)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Context of a fit, in which the end of one process ends the others."""
        watch = self._group.watch = Watch(self.rank, self.size, self._group.send, self._group.meet)
        try:
            yield
        except BaseException as error:
            watch.leave(error)
            raise
        else:
            watch.leave(None)
        finally:
            self._group.watch = None

    def divided(self, sampler: Sampler) -> Sampler:
        """Decide who has which samples, and return the order in which all read them.

        Files that are read in pieces are divided by pieces, if there are enough of them.
        """
        if not isinstance(sampler, PieceSampler):
            return sampler
        owners = PieceOwners(sampler.starts, self.size)
        if not all(owners.counts):
            return sampler
        self._owners = owners
        return DividedPieceSampler(sampler, owners)

    def own(self, rows: HostRows) -> HostRows:
        """Return the samples that this process keeps."""
        if len(rows) < self.size:
            raise ValueError(
                f"X has {len(rows)} samples, fewer than the {self.size} processes: each needs one"
            )
        return self._owners.own(rows, self.rank)

    def own_order(self, order: Tensor) -> Tensor:
        """Return which of its own samples this process reads, given those that all read."""
        return self._owners.local(order[self._owners.owner(order) == self.rank])

    def share(self, batch: Tensor) -> Tensor:
        """Begin a batch, and return the positions of its samples in the columns of this process."""
        owner = self._owners.owner(batch)
        share = Share.of(batch, owner, self._owners.local, self.rank, self.size)
        self._share = share.to(self.device)
        return share.index

    @contextmanager
    def connected(self, method: Method) -> Iterator[None]:
        """Context in which layers that look at a whole batch see that of all processes."""
        modules = list(method.modules.values())
        with seeing_whole_batch(modules, method.views, lambda: self._share, self._group):
            yield

    def loss(self, phase: Phase, columns: Sequence[Tensor]) -> Tensor:
        """Return a scalar whose gradients, summed over processes, are those of the loss."""
        share = self._share
        assert share is not None
        outputs = phase.outputs(*columns)
        if phase.couples_rows:
            # Every process has the whole loss, but only its own rows pass gradients on.
            loss = phase.criterion(*gather_rows(outputs, share, self._group))
            self._part_of_loss = loss.detach() / self.size
            return loss
        loss = phase.criterion(*outputs) * (share.count / share.total)
        self._part_of_loss = loss.detach()
        return loss

    def finish_backward(self, parameters: Iterable[nn.Parameter], loss: Tensor) -> Tensor:
        """Sum gradients over processes, and return the loss of the whole batch."""
        self._share = None
        stop = self._interrupt is not None and self._interrupt.requested
        note = self._part_of_loss.new_tensor([0.0, float(stop)])
        note[0] = self._part_of_loss
        self._group.sum([p.grad for p in parameters if p.grad is not None] + [note])
        self._stop = note[1]
        return note[0]

    def check_interrupt(self, interrupt: DeferredInterrupt, steps: int) -> None:
        """Raise KeyboardInterrupt after the same step in all processes if one was interrupted."""
        self._interrupt = interrupt
        if steps % _STEPS_BETWEEN_QUESTIONS[self.device.type] == 0 and self._stop.item():
            self._stop = torch.zeros_like(self._stop)
            raise KeyboardInterrupt

    def make_equal(self, modules: Mapping[str, nn.Module]) -> None:
        """Give all processes the weights of the first."""
        tensors = {id(t): t for module in modules.values() for t in _tensors_of(module)}
        with torch.no_grad():
            self._group.copy(list(tensors.values()))

    def agree_on_run(
        self, record: Callable[[], Mapping[str, Any]], seeds: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the seeds of the first process, after a check that all train the same."""
        digest = hashlib.sha256(json.dumps(record(), sort_keys=True).encode()).digest()
        own = torch.frombuffer(bytearray(digest), dtype=torch.uint8).to(self.device)
        digests = self._group.gather(own)
        different = (digests != digests[0]).any(1).nonzero().flatten().tolist()
        if different:
            raise ValueError(
                f"process {different[0]} of {self.size} was given other data, labels or "
                "parameters than process 0: all processes must be given the same, and divide the "
                "rows among themselves"
            )
        return self._from_first(seeds() if self.is_first else None)

    def agree_on_start(
        self, plan: Plan, state: dict[str, Any] | None
    ) -> tuple[Plan, dict[str, Any] | None]:
        """Return the plan and the saved state of the first process."""
        own_device = plan.device
        plan = Plan.from_dict(self._from_first(plan.to_dict()))
        tree, tensors = pack(state)
        tree = self._from_first(tree)
        data = self._group.send(tensors_to_bytes(tensors)[0] if self.is_first else None)
        if not self.is_first and tree is not None:
            from safetensors.torch import load

            state = unpack(tree, load(data))
        return replace(plan, device=own_device), state

    def agree_on_history(self, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the history of the first process; the times of others are different."""
        return self._from_first(history)

    def _from_first(self, value: Any) -> Any:
        """Return the JSON value of the first process."""
        return json.loads(self._group.send(json.dumps(value).encode() if self.is_first else None))


def _tensors_of(module: nn.Module) -> Iterator[Tensor]:
    yield from (parameter.data for parameter in module.parameters())
    yield from module.buffers()
