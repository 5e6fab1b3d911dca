"""Columns: samples that a training step reads by index, wherever they are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import prod

import torch
from torch import Tensor

from aleator.training.host_rows import HostRows, TensorRows
from aleator.training.method import DerivedColumn
from aleator.training.plan import DEVICE, RECOMPUTED, Plan

# Samples are passed through a network in pieces of about this many input values. On a CPU, pieces
# of narrow tables have fewer: what a network computes may be much wider than a row.
_PIECE = {"cuda": 1 << 24, "cpu": 1 << 19}
_MOST_ROWS_ON_CPU = 2048


def rows_per_piece(values_per_row: int, device: torch.device) -> int:
    """How many samples to pass through a network at once.

    Examples
    --------
    >>> rows_per_piece(1 << 10, torch.device("cpu")), rows_per_piece(1, torch.device("cpu"))
    (512, 2048)
    """
    rows = max(1, _PIECE.get(device.type, _PIECE["cpu"]) // max(1, values_per_row))
    return rows if device.type == "cuda" else min(rows, _MOST_ROWS_ON_CPU)


class ResidentColumn:
    """A column in the memory of the device; a batch is one gather, inside the step."""

    def __init__(self, tensor: Tensor) -> None:
        # Images are kept with channels last, the layout in which convolutions are fastest on a
        # GPU; a gather would otherwise lose that layout, and every step would have to restore it.
        self._channels_last = tensor.ndim == 4 and tensor.device.type == "cuda"
        self._tensor = tensor.permute(0, 2, 3, 1).contiguous() if self._channels_last else tensor

    @classmethod
    def copied(cls, rows: HostRows, device: torch.device) -> ResidentColumn:
        """Copy samples to the device in pieces, or share their memory if it is the device."""
        whole = rows.whole()
        if whole is not None:
            return cls(whole.to(device))
        tensor = torch.empty((len(rows), *rows.sample_shape), dtype=rows.dtype, device=device)
        start = 0
        for chunk in rows.chunks(rows_per_piece(prod(rows.sample_shape), device)):
            tensor[start : start + len(chunk)] = chunk.to(device)
            start += len(chunk)
        return cls(tensor)

    def rows(self, index: Tensor) -> Tensor:
        """Return the samples at `index`, which is on the device."""
        return self._restore_layout(self._tensor.index_select(0, index))

    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Yield all samples in order, `rows` at a time."""
        for piece in self._tensor.split(rows):
            yield self._restore_layout(piece)

    def write(self, start: int, values: Tensor) -> None:
        """Replace consecutive samples."""
        self._tensor[start : start + len(values)] = values

    def _restore_layout(self, rows: Tensor) -> Tensor:
        return rows.permute(0, 3, 1, 2) if self._channels_last else rows


class StagedColumn:
    """A column on the host; a batch is gathered there and copied to the device before the step.

    Two page-locked buffers take turns, so that gathering the next batch overlaps the copy of the
    last. The place of a batch on the device is fixed, as a captured graph needs it. If batches are
    `ragged` they have many sizes, none of which is captured, and similar ones share a place.
    """

    def __init__(self, rows: HostRows, device: torch.device, *, ragged: bool = False) -> None:
        self._rows = rows
        self._device = device
        self._ragged = ragged
        self._pinned = device.type == "cuda"
        self._batches: dict[int, Tensor] = {}
        self._buffers: dict[int, list[Tensor]] = {}
        self._events: dict[int, list[torch.cuda.Event | None]] = {}

    def in_order(self, order: Tensor) -> HostRows:
        """Return the samples for reading those at `order` once, in this order."""
        return self._rows.in_order(order)

    def stage(self, index: Tensor, rows: HostRows | None = None) -> None:
        """Bring the samples at `index`, which is on the host, to the device.

        `rows` are those that `in_order` returned for a pass over the data.
        """
        size = self._room_for(len(index))
        batch = (self._rows if rows is None else rows).gather(index)
        if not self._pinned:
            self._batches[size] = batch
            return
        if size not in self._batches:
            self._allocate(size)
        buffer, event = self._buffers[size].pop(0), self._events[size].pop(0)
        if event is not None:
            event.synchronize()
        buffer[: len(batch)].copy_(batch)
        self._batches[size][: len(batch)].copy_(buffer[: len(batch)], non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        self._buffers[size].append(buffer)
        self._events[size].append(event)

    def rows(self, index: Tensor) -> Tensor:
        """Return the samples staged last for a batch of this size."""
        return self._batches[self._room_for(len(index))][: len(index)]

    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Yield all samples in order, on the device, `rows` at a time."""
        for chunk in self._rows.chunks(rows):
            piece = chunk.to(self._device)
            if piece.ndim == 4 and self._pinned:
                piece = piece.contiguous(memory_format=torch.channels_last)
            yield piece

    def _room_for(self, size: int) -> int:
        """Rows of the place in which a batch of so many rows is kept."""
        return size if not self._ragged else 1 << (size - 1).bit_length()

    def _allocate(self, size: int) -> None:
        shape = (size, *self._rows.sample_shape)
        batch = torch.empty(shape, dtype=self._rows.dtype, device=self._device)
        if batch.ndim == 4:
            batch = batch.contiguous(memory_format=torch.channels_last)
        self._batches[size] = batch
        self._buffers[size] = [
            torch.empty(shape, dtype=self._rows.dtype, pin_memory=True) for _ in range(2)
        ]
        self._events[size] = [None, None]


class HostCache(StagedColumn):
    """A derived column kept in host memory."""

    def __init__(
        self,
        shape: tuple[int, ...],
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        *,
        ragged: bool = False,
    ) -> None:
        self._tensor = torch.empty(shape, dtype=dtype)
        super().__init__(TensorRows(self._tensor), device, ragged=ragged)

    def write(self, start: int, values: Tensor) -> None:
        """Replace consecutive samples."""
        self._tensor[start : start + len(values)] = values.to("cpu")


class RecomputedColumn:
    """A column that is not kept: a batch is computed from its source, inside the step."""

    def __init__(self, source: Column, compute: Callable[[Tensor], Tensor]) -> None:
        self.source = source
        self._compute = compute

    def rows(self, index: Tensor) -> Tensor:
        """Return the samples at `index`, which is on the device."""
        with torch.no_grad():
            return self._compute(self.source.rows(index))

    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Yield all samples in order, `rows` at a time."""
        return map(self._compute, self.source.chunks(rows))


Column = ResidentColumn | StagedColumn | RecomputedColumn


class ColumnStore:
    """All columns of a run, placed as the plan says."""

    def __init__(
        self,
        given: Mapping[str, HostRows],
        derived: Sequence[DerivedColumn],
        plan: Plan,
        device: torch.device,
        autocast: Callable[[], AbstractContextManager[None]],
        *,
        ragged: bool = False,
    ) -> None:
        n_samples = len(next(iter(given.values())))
        self._autocast = autocast
        self._derived = {column.name: column for column in derived}
        self._piece = {
            name: rows_per_piece(prod(rows.sample_shape), device) for name, rows in given.items()
        }
        self._columns: dict[str, Column] = {}
        for name, rows in given.items():
            kept: Column = (
                ResidentColumn.copied(rows, device)
                if plan.where(name) == DEVICE
                else StagedColumn(rows, device, ragged=ragged)
            )
            # Samples are single precision anyway, and kept so: only batches are converted.
            converted = rows.dtype.is_floating_point and rows.dtype != plan.dtype
            compute = partial(torch.Tensor.to, dtype=plan.dtype)
            self._columns[name] = RecomputedColumn(kept, compute) if converted else kept
        for column in derived:
            where = plan.where(column.name)
            self._piece[column.name] = rows_per_piece(prod(column.sample_shape), device)
            shape = (n_samples, *column.sample_shape)
            if where == DEVICE:
                self._columns[column.name] = ResidentColumn(
                    torch.empty(shape, dtype=plan.dtype, device=device)
                )
            elif where == RECOMPUTED:
                source = self._columns[column.source]
                self._columns[column.name] = RecomputedColumn(source, column.compute)
                # Who reads it also passes the samples of its source through a network.
                self._piece[column.name] = self._piece[column.source]
            else:
                self._columns[column.name] = HostCache(shape, device, plan.dtype, ragged=ragged)

    def refresh(self, names: Iterable[str], *, fixed: bool) -> None:
        """Compute those of the named columns that are kept and (not) fixed."""
        for name in names:
            column, derived = self._columns[name], self._derived.get(name)
            if derived is None or derived.fixed != fixed:
                continue
            if not isinstance(column, (ResidentColumn, HostCache)):
                continue
            source = self._columns[derived.source]
            start = 0
            with torch.no_grad(), self._autocast():
                for piece in source.chunks(self._piece[derived.source]):
                    column.write(start, derived.compute(piece))
                    start += len(piece)

    def staged(self, names: Iterable[str]) -> list[StagedColumn]:
        """Return the columns whose batches must be brought to the device before a step."""
        # In a fixed order, and each once: several columns may be computed from the same.
        columns = dict.fromkeys(_kept(self._columns[name]) for name in sorted(names))
        return [column for column in columns if isinstance(column, StagedColumn)]

    def gather(self, names: Iterable[str], index: Tensor) -> list[Tensor]:
        """Return a batch of each named column."""
        return [self._columns[name].rows(index) for name in names]


def _kept(column: Column) -> ResidentColumn | StagedColumn:
    """Return the column itself if it is kept, else the one that it is computed from."""
    while isinstance(column, RecomputedColumn):
        column = column.source
    return column
