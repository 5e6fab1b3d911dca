"""Messages between the processes that train together, through `torch.distributed`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from aleator.training.watch import Watch

# Gradients are summed in messages of about this many values: 64 MiB in single precision.
_VALUES_PER_MESSAGE = 1 << 24

# How often a process that waits for others looks whether one of them has ended.
_PATIENCE = timedelta(seconds=0.5)
# After a message fails, the news of the process that ended takes a moment to arrive.
_SECONDS_FOR_NEWS = 5.0


class Collectives:
    """Sums, copies and collections of tensors over all processes of the default group.

    Parameters
    ----------
    device : torch.device
        Where the tensors are.

    Attributes
    ----------
    rank : int
        Number of this process.
    size : int
        Number of processes.
    watch : Watch or None
        Knows whether a process has ended; set while a fit runs.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.watch: Watch | None = None
        self._device = device

    def sum(self, tensors: Sequence[Tensor]) -> None:
        """Replace every tensor by its sum over all processes, in a few large messages."""
        for part in _messages(tensors):
            if len(part) == 1 and part[0].is_contiguous():
                self._finish(dist.all_reduce(part[0], async_op=True))
                continue
            flat = torch.cat([tensor.reshape(-1) for tensor in part])
            self._finish(dist.all_reduce(flat, async_op=True))
            for tensor, values in zip(part, flat.split([t.numel() for t in part]), strict=True):
                tensor.copy_(values.view_as(tensor))

    def gather(self, tensor: Tensor) -> Tensor:
        """Return the tensors of all processes, which have one shape, in the order of ranks."""
        gathered = tensor.new_empty((self.size, *tensor.shape))
        work = dist.all_gather(list(gathered.unbind()), tensor.contiguous(), async_op=True)
        self._finish(work)
        return gathered

    def copy(self, tensors: Sequence[Tensor]) -> None:
        """Replace every tensor by that of the first process."""
        for tensor in tensors:
            whole = tensor if tensor.is_contiguous() else tensor.contiguous()
            self._finish(dist.broadcast(whole, 0, async_op=True))
            if whole is not tensor:
                tensor.copy_(whole)

    def send(self, data: bytes | None) -> bytes:
        """Return what the first process passes; what others pass is ignored."""
        data = data if self.rank == 0 and data is not None else b""
        length = torch.tensor([len(data)], device=self._device)
        self.copy([length])
        content = torch.empty(int(length), dtype=torch.uint8, device=self._device)
        if self.rank == 0 and data:
            content.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        if len(content):
            self.copy([content])
        return data if self.rank == 0 else content.cpu().numpy().tobytes()

    def meet(self) -> bool:
        """Wait in the first process until all have come; RuntimeError if one has ended.

        The first one hears from every process itself: if all waited for all, each for its neighbor,
        others than those that have ended would fail.
        """
        if self._device.type == "cuda":
            return False  # NCCL does not notice that a process has ended
        here = torch.zeros(1)
        if self.rank > 0:
            dist.gather(here, async_op=True)
            return True
        work = dist.gather(here, [torch.zeros(1) for _ in range(self.size)], async_op=True)
        while not _waited(work):
            pass
        return True

    def _finish(self, work: Any) -> None:
        """Wait for a message, but no longer than all processes live."""
        if self._device.type == "cuda":
            work.wait()  # lets the stream wait, not this process
            self._check()
            return
        try:
            while not _waited(work):
                self._check()
        except RuntimeError:
            if self.watch is not None:
                self.watch.raise_news(_SECONDS_FOR_NEWS)
            raise

    def _check(self) -> None:
        if self.watch is not None:
            self.watch.raise_news()


def _waited(work: Any) -> bool:
    """Wait a moment, and return whether the message has arrived; a failure is an error."""
    try:
        work.wait(_PATIENCE)
    except RuntimeError:
        if not work.is_completed():
            return False
        work.wait()  # it ended after the moment had passed, or failed, and then this raises why
    return True


def _messages(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Divide tensors into groups of one type and of limited size."""
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        part: list[Tensor] = []
        for tensor in tensors:
            if tensor.dtype != dtype:
                continue
            if part and sum(t.numel() for t in part) + tensor.numel() > _VALUES_PER_MESSAGE:
                yield part
                part = []
            part.append(tensor)
        yield part
