"""What is kept where, decided once, before training, from sizes alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from aleator.training.devices import dtype_of, free_memory
from aleator.training.host_rows import HostRows
from aleator.training.method import LargeLayer, Method

# The part of free memory that columns may take; the rest is for weights and activations.
_SHARE_FOR_COLUMNS = 0.7

# Derived columns of data that are not in memory may take this much, so that they do not fill the
# memory that the data themselves do not fit in.
_STREAMED_LIMIT = 512 << 20

# Capturing a step costs about as much as running this many of them.
_STEPS_WORTH_A_GRAPH = 50

# Where a column is kept: on the device; in host memory; in a file or dataset, read per batch; or
# nowhere, computed again for every batch.
DEVICE, HOST, STREAMED, RECOMPUTED = "device", "host", "streamed", "recomputed"


@dataclass(frozen=True)
class ColumnNeed:
    """A column as the plan sees it.

    Parameters
    ----------
    name : str
        Name of the column.
    n_samples : int
        Number of samples.
    sample_shape : tuple of int
        Shape of one sample.
    reads : int
        How often an epoch reads the column.
    origin : {"device", "host", "streamed"}, default=None
        Where the column is now; None for a column that is derived from another.
    never_kept : bool, default=False
        Whether keeping the column would be wrong or useless.
    itemsize : int, default=4
        Bytes of a value.

    Examples
    --------
    >>> ColumnNeed("input", n_samples=10, sample_shape=(3,), reads=1, origin="host").bytes
    120
    """

    name: str
    n_samples: int
    sample_shape: tuple[int, ...]
    reads: int
    origin: str | None = None
    never_kept: bool = False
    itemsize: int = 4

    @property
    def bytes(self) -> int:
        """Size of all samples."""
        return self.itemsize * self.n_samples * math.prod(self.sample_shape)


@dataclass(frozen=True)
class Placement:
    """Where a column is kept."""

    name: str
    where: str
    bytes: int

    @property
    def description(self) -> str:
        """Where the column is kept, in words."""
        return _IN_WORDS[self.where]


_IN_WORDS = {
    DEVICE: "kept on the device",
    HOST: "kept on the host",
    STREAMED: "read for every batch",
    RECOMPUTED: "computed again for every batch",
}


@dataclass(frozen=True)
class Plan:
    """What the trainer will do; print it to read it.

    Examples
    --------
    >>> plan = Plan("cuda:0", "bf16", True, 128, (Placement("input", "device", 2**20),), 2**30)
    >>> print(plan)
    device cuda:0, precision bf16, CUDA graphs, batches of 128
      input        device           1.0 MiB
      columns may take 1.0 GiB on the device
    """

    device: str
    precision: str
    graphs: bool
    batch_size: int
    placements: tuple[Placement, ...]
    device_limit: int
    micro_batch: int | None = None
    processes: int = 1

    @property
    def dtype(self) -> torch.dtype:
        """Type of weights, of derived columns, and of batches."""
        return dtype_of(self.precision)

    def where(self, name: str) -> str:
        """Where a column is kept: "device", "host", "streamed" or "recomputed"."""
        return next(place.where for place in self.placements if place.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a JSON value."""
        return asdict(self) | {"placements": [asdict(place) for place in self.placements]}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Plan:
        """Make a plan from what `to_dict` returned; anything else is a TypeError or ValueError."""
        placements = tuple(Placement(**place) for place in stored["placements"])
        plan = cls(**{**stored, "placements": placements})
        _check_types(plan, _TYPES_OF_PLAN)
        for place in placements:
            _check_types(place, _TYPES_OF_PLACEMENT)
            if place.where not in _IN_WORDS:
                raise ValueError(f"a column of a plan is at {place.where!r}")
        if min(plan.batch_size, plan.processes, plan.micro_batch or 1) < 1:
            raise ValueError("a plan has batches without rows")
        return plan

    def __str__(self) -> str:
        steps = "CUDA graphs" if self.graphs else "eager steps"
        lines = [
            f"device {self.device}, precision {self.precision}, {steps}, "
            f"batches of {self.batch_size}"
        ]
        if self.processes > 1:
            lines[0] += f" on {self.processes} processes"
        if self.micro_batch is not None:
            lines[0] += f", of which {self.micro_batch} rows at a time"
        for place in self.placements:
            lines.append(f"  {place.name:<12} {place.where:<10} {format_bytes(place.bytes):>13}")
        lines.append(f"  columns may take {format_bytes(self.device_limit)} on the device")
        return "\n".join(lines)


_TYPES_OF_PLAN: dict[str, Any] = {
    "device": str, "precision": str, "graphs": bool, "batch_size": int,
    "device_limit": (int, float), "micro_batch": (int, type(None)), "processes": int,
}  # fmt: skip
_TYPES_OF_PLACEMENT: dict[str, Any] = {"name": str, "where": str, "bytes": (int, float)}


def _check_types(record: Plan | Placement, types: dict[str, Any]) -> None:
    for name, kind in types.items():
        value = getattr(record, name)
        if not isinstance(value, kind):
            raise TypeError(f"{name!r} of a plan is {str(value)[:40]}")


@dataclass(frozen=True)
class Duration:
    """Length of the training: `count` rounds, each going once through the phases.

    A phase's turn in a round is `repeats` passes over the data or, with `by_steps`, `repeats`
    steps.
    """

    count: int
    by_steps: bool = False


def place_columns(
    needs: Sequence[ColumnNeed], device_limit: int, host_limit: int | None
) -> tuple[Placement, ...]:
    """Choose a place for every column.

    What is read most often gets the device first, since every read from the host crosses the bus.
    What does not fit stays where it is; a derived column goes to the host, and if it does not fit
    there either it is computed again for every batch. `host_limit` is None if the device is the
    host: then given columns stay where they are, and only derived ones take memory.

    Examples
    --------
    >>> needs = [ColumnNeed("input", 100, (1,), reads=2, origin="host"),
    ...          ColumnNeed("targets", 100, (9,), reads=6)]
    >>> [place.where for place in place_columns(needs, device_limit=1000, host_limit=10_000)]
    ['device', 'host']
    """
    chosen: dict[str, str] = {}
    for need in sorted(needs, key=lambda need: -need.reads):
        if need.never_kept:
            chosen[need.name] = RECOMPUTED
        elif host_limit is None and need.origin is not None:
            chosen[need.name] = need.origin
        elif need.bytes <= device_limit:
            chosen[need.name] = DEVICE
            device_limit -= need.bytes
        elif need.origin is not None:
            chosen[need.name] = STREAMED if need.origin == STREAMED else HOST
        elif host_limit is not None and need.bytes <= host_limit:
            chosen[need.name] = HOST
            host_limit -= need.bytes
        else:
            chosen[need.name] = RECOMPUTED
    return tuple(Placement(need.name, chosen[need.name], need.bytes) for need in needs)


def place_input(
    n_samples: int,
    sample_shape: tuple[int, ...],
    device: torch.device,
    *,
    in_memory: bool,
    needs_no_conversion: bool,
) -> Placement:
    """Choose a place for the samples alone, as `make_plan` does if they come first.

    Examples
    --------
    >>> cpu = torch.device("cpu")
    >>> place_input(9, (2,), cpu, in_memory=False, needs_no_conversion=False).where
    'streamed'
    """
    origin = (DEVICE if needs_no_conversion else HOST) if in_memory else STREAMED
    limits = _limits(device, None, 1, streamed=not in_memory)
    need = ColumnNeed("input", n_samples, sample_shape, reads=1, origin=origin)
    return place_columns([need], *limits)[0]


def make_plan(
    method: Method,
    given: Mapping[str, HostRows],
    duration: Duration,
    *,
    pass_length: int,
    batch_size: int,
    device: torch.device,
    precision: str,
    memory_limit: int | None = None,
    optimizer: str = "adam",
    processes: int = 1,
    per_machine: int = 1,
) -> Plan:
    """Plan a run of `method` over the columns that are given and those it derives.

    The columns are those of this process; `batch_size` counts the samples of all processes, of
    which `per_machine` share the memory of the host. Layers that grow with the data are placed
    first, since there is no training without them.
    """
    n_samples = len(next(iter(given.values())))
    batch_size = min(batch_size, pass_length)
    streamed = any(rows.origin == STREAMED for rows in given.values())
    device_limit, host_limit = _limits(device, memory_limit, per_machine, streamed=streamed)
    layers = tuple(
        Placement(
            layer.name,
            DEVICE,
            _bytes_of(layer, batch_size // processes, optimizer, dtype_of(precision)),
        )
        for layer in method.large_layers
    )
    for layer in layers:
        if layer.bytes > device_limit:
            raise ValueError(
                f"the {layer.name} needs {format_bytes(layer.bytes)} with its gradient, the state "
                f"of its optimizer and a batch of outputs, but only {format_bytes(device_limit)} "
                f"are available on {device}: it grows with the number of rows, so fit on fewer "
                "rows, or lower embedding_dim or batch_size"
            )
        device_limit -= layer.bytes
    steps = duration.count * (1 if duration.by_steps else math.ceil(pass_length / batch_size))
    few_steps = steps * batch_size < n_samples * processes
    needs = _needs(
        method,
        given,
        n_samples,
        dtype_of(precision),
        few_steps=few_steps,
        by_steps=duration.by_steps,
    )
    return Plan(
        device=str(device),
        precision=precision,
        graphs=device.type == "cuda"
        and steps >= _STEPS_WORTH_A_GRAPH
        and processes == 1
        and precision != "64",
        batch_size=batch_size,
        placements=layers + place_columns(needs, device_limit, host_limit),
        device_limit=device_limit,
        processes=processes,
    )


def _limits(
    device: torch.device, memory_limit: int | None, per_machine: int, *, streamed: bool
) -> tuple[int, int | None]:
    """Bytes that columns may take on the device and, if that is another memory, on the host."""
    on_device = _usable(device, per_machine) if memory_limit is None else memory_limit
    on_host = None if device.type == "cpu" else _usable(torch.device("cpu"), per_machine)
    if streamed and device.type == "cpu":
        on_device = min(on_device, _STREAMED_LIMIT)
    if streamed and on_host is not None:
        on_host = min(on_host, _STREAMED_LIMIT)
    return on_device, on_host


def _needs(
    method: Method,
    given: Mapping[str, HostRows],
    n_samples: int,
    dtype: torch.dtype,
    *,
    few_steps: bool,
    by_steps: bool,
) -> list[ColumnNeed]:
    reads = {name: 0 for name in [*given, *(column.name for column in method.derived)]}
    for phase in method.phases:
        for name in phase.columns:
            reads[name] += phase.repeats
    for column in method.derived:
        reads[column.source] += 0 if column.fixed else 1
    needs = [
        ColumnNeed(name, n_samples, rows.sample_shape, reads[name], origin=rows.origin)
        for name, rows in given.items()
    ]
    for column in method.derived:
        # An encoder that changes at every step makes a cache of embeddings stale, and targets of
        # samples that are never read need not be computed.
        never_kept = few_steps if column.fixed else by_steps
        needs.append(
            ColumnNeed(
                column.name,
                n_samples,
                column.sample_shape,
                reads[column.name],
                never_kept=never_kept,
                itemsize=dtype.itemsize,
            )
        )
    return needs


def _bytes_of(layer: LargeLayer, batch_size: int, optimizer: str, dtype: torch.dtype) -> int:
    """Weights, gradient and moments; outputs, their probabilities and their gradient."""
    moments = 1 if optimizer == "sgd" else 2
    return dtype.itemsize * (layer.n_parameters * (2 + moments) + 3 * layer.n_outputs * batch_size)


def _usable(device: torch.device, per_machine: int) -> int:
    free = int(free_memory(device) * _SHARE_FOR_COLUMNS)
    return free // per_machine if device.type == "cpu" else free


def format_bytes(count: int) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> format_bytes(3 << 20)
    '3.0 MiB'
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
