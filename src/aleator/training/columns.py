"""Columns: per-sample tensors that a step reads by index, wherever they live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from aleator.training.method import Derived
from aleator.training.plan import DEVICE, HOST, Plan

# Rows are pushed through a network in pieces of about this many input numbers.
_PIECE = {"cuda": 1 << 24, "cpu": 1 << 19}


def rows_a_piece(numbers_a_row: int, device: torch.device) -> int:
    """How many rows to push through a network at once.

    >>> rows_a_piece(1 << 10, torch.device("cpu"))
    512
    """
    return max(1, _PIECE.get(device.type, _PIECE["cpu"]) // max(1, numbers_a_row))


class Resident:
    """A column in the device's memory; a batch is one gather, inside the step."""

    def __init__(self, tensor: Tensor) -> None:
        # Images are kept with channels last, the layout in which convolutions are fastest on a
        # GPU; a gather would otherwise undo that layout, and every step would pay to restore it.
        self._channels_last = tensor.ndim == 4 and tensor.device.type == "cuda"
        self._tensor = tensor.permute(0, 2, 3, 1).contiguous() if self._channels_last else tensor

    def rows(self, index: Tensor) -> Tensor:
        """The samples at `index`, which lies on the device."""
        return self._in_layout(self._tensor.index_select(0, index))

    def piece(self, start: int, stop: int) -> Tensor:
        """Consecutive samples."""
        return self._in_layout(self._tensor[start:stop])

    def write(self, start: int, values: Tensor) -> None:
        """Replace consecutive samples."""
        self._tensor[start : start + len(values)] = values

    def _in_layout(self, rows: Tensor) -> Tensor:
        return rows.permute(0, 3, 1, 2) if self._channels_last else rows


class Staged:
    """A column in host memory; a batch is gathered there and copied over before the step.

    Two page-locked buffers take turns, so that gathering the next batch overlaps the copy of the
    last. The batch's place on the device is fixed, as a captured graph demands.
    """

    def __init__(self, tensor: Tensor, device: torch.device) -> None:
        self._tensor = tensor
        self._device = device
        self._pinned = device.type == "cuda"
        self._batches: dict[int, Tensor] = {}
        self._buffers: dict[int, list[Tensor]] = {}
        self._copied: dict[int, list[torch.cuda.Event | None]] = {}

    def stage(self, index: Tensor) -> None:
        """Bring the samples at `index`, which lies on the host, to the device."""
        size = len(index)
        if size not in self._batches:
            self._make_room(size)
        buffer, copied = self._buffers[size].pop(0), self._copied[size].pop(0)
        if copied is not None:
            copied.synchronize()
        torch.index_select(self._tensor, 0, index, out=buffer)
        self._batches[size].copy_(buffer, non_blocking=True)
        if self._pinned:
            copied = torch.cuda.Event()
            copied.record()
        self._buffers[size].append(buffer)
        self._copied[size].append(copied)

    def rows(self, index: Tensor) -> Tensor:
        """The samples staged last for a batch of this size."""
        return self._batches[len(index)]

    def piece(self, start: int, stop: int) -> Tensor:
        """Consecutive samples, on the device."""
        piece = self._tensor[start:stop].to(self._device)
        if piece.ndim == 4 and self._pinned:
            piece = piece.contiguous(memory_format=torch.channels_last)
        return piece

    def write(self, start: int, values: Tensor) -> None:
        """Replace consecutive samples."""
        self._tensor[start : start + len(values)] = values.to("cpu")

    def _make_room(self, size: int) -> None:
        shape = (size, *self._tensor.shape[1:])
        batch = torch.empty(shape, dtype=self._tensor.dtype, device=self._device)
        if batch.ndim == 4 and self._pinned:
            batch = batch.contiguous(memory_format=torch.channels_last)
        self._batches[size] = batch
        self._buffers[size] = [
            torch.empty(shape, dtype=self._tensor.dtype, pin_memory=self._pinned) for _ in range(2)
        ]
        self._copied[size] = [None, None]


class Recomputed:
    """A column that is never kept: a batch is computed from its source, inside the step."""

    def __init__(self, source: Resident | Staged, compute: Callable[[Tensor], Tensor]) -> None:
        self._source = source
        self._compute = compute

    def rows(self, index: Tensor) -> Tensor:
        """The samples at `index`, which lies on the device."""
        with torch.no_grad():
            return self._compute(self._source.rows(index))


class ColumnStore:
    """All columns of a run, placed as the plan says."""

    def __init__(
        self,
        leaves: Mapping[str, Tensor],
        derived: Sequence[Derived],
        plan: Plan,
        device: torch.device,
        networks_run: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._rows = len(next(iter(leaves.values())))
        self._networks_run = networks_run
        self._derived = {column.name: column for column in derived}
        self._piece = {name: rows_a_piece(leaf[0].numel(), device) for name, leaf in leaves.items()}
        given = {
            name: Resident(leaf.to(device)) if plan.where(name) == DEVICE else Staged(leaf, device)
            for name, leaf in leaves.items()
        }
        self._columns: dict[str, Resident | Staged | Recomputed] = {**given}
        for column in derived:
            where = plan.where(column.name)
            shape = (self._rows, *column.row_shape)
            if where == DEVICE:
                self._columns[column.name] = Resident(torch.empty(shape, device=device))
            elif where == HOST:
                self._columns[column.name] = Staged(torch.empty(shape), device)
            else:
                self._columns[column.name] = Recomputed(given[column.source], column.compute)

    def refresh(self, names: Iterable[str], *, fixed: bool) -> None:
        """Compute those of the named columns that are kept and (not) fixed."""
        for name in names:
            column, derived = self._columns[name], self._derived.get(name)
            if derived is None or derived.fixed != fixed or isinstance(column, Recomputed):
                continue
            source, step = self._columns[derived.source], self._piece[derived.source]
            assert not isinstance(source, Recomputed)
            with torch.no_grad(), self._networks_run():
                for start in range(0, self._rows, step):
                    stop = min(start + step, self._rows)
                    column.write(start, derived.compute(source.piece(start, stop)))

    def must_stage(self, names: Iterable[str]) -> list[Staged]:
        """The columns whose batches must be brought to the device before a step."""
        needed = set(names) | {
            self._derived[name].source for name in names if self._recomputes(name)
        }
        columns = (self._columns[name] for name in sorted(needed))
        return [column for column in columns if isinstance(column, Staged)]

    def gather(self, names: Iterable[str], index: Tensor) -> list[Tensor]:
        """A batch of each named column."""
        return [self._columns[name].rows(index) for name in names]

    def _recomputes(self, name: str) -> bool:
        return isinstance(self._columns[name], Recomputed)
