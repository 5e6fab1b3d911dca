"""What lives where, decided once, before training, from sizes alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from aleator.training.devices import free_memory
from aleator.training.method import Layer, Method

# The part of free memory that columns may take; the rest is for weights and activations.
_SHARE_FOR_COLUMNS = 0.7

# Capturing a step costs about as much as running this many of them.
_STEPS_WORTH_A_GRAPH = 50

DEVICE, HOST, RECOMPUTED = "device", "host", "recomputed"


@dataclass(frozen=True)
class ColumnNeed:
    """A column as the plan sees it: its size, how often a round reads it, how it can be had.

    >>> ColumnNeed("input", rows=10, row_shape=(3,), reads=1, derived=False).bytes
    120
    """

    name: str
    rows: int
    row_shape: tuple[int, ...]
    reads: int
    derived: bool
    never_kept: bool = False

    @property
    def bytes(self) -> int:
        """Size in float32."""
        return 4 * self.rows * math.prod(self.row_shape)


@dataclass(frozen=True)
class Placement:
    """Where a column lives: on the device, on the host, or recomputed for every batch."""

    name: str
    where: str
    bytes: int


@dataclass(frozen=True)
class Plan:
    """What the engine will do. Print it to read it.

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

    def where(self, name: str) -> str:
        """Where a column lives: `"device"`, `"host"` or `"recomputed"`."""
        return next(place.where for place in self.placements if place.name == name)

    def __str__(self) -> str:
        stepping = "CUDA graphs" if self.graphs else "eager steps"
        lines = [
            f"device {self.device}, precision {self.precision}, {stepping}, "
            f"batches of {self.batch_size}"
        ]
        for place in self.placements:
            lines.append(f"  {place.name:<12} {place.where:<10} {_spoken(place.bytes):>13}")
        lines.append(f"  columns may take {_spoken(self.device_limit)} on the device")
        return "\n".join(lines)


def place_columns(
    needs: Sequence[ColumnNeed], device_limit: int, host_limit: int | None
) -> tuple[Placement, ...]:
    """Choose a place for every column.

    What is read most often gets the device first, since every read from the host crosses the bus.
    What does not fit goes to the host, and a derived column that does not fit there either is
    computed again for every batch. `host_limit` is None where the device is the host: then the
    input stays where it is, and only derived columns are weighed.

    >>> needs = [ColumnNeed("input", 100, (1,), reads=2, derived=False),
    ...          ColumnNeed("targets", 100, (9,), reads=6, derived=True)]
    >>> [place.where for place in place_columns(needs, device_limit=1000, host_limit=10_000)]
    ['device', 'host']
    """
    chosen: dict[str, str] = {}
    for need in sorted(needs, key=lambda need: -need.reads):
        if need.never_kept:
            chosen[need.name] = RECOMPUTED
        elif host_limit is None and not need.derived:
            chosen[need.name] = DEVICE
        elif need.bytes <= device_limit:
            chosen[need.name] = DEVICE
            device_limit -= need.bytes
        elif not need.derived:
            chosen[need.name] = HOST  # it is there already
        elif host_limit is not None and need.bytes <= host_limit:
            chosen[need.name] = HOST
            host_limit -= need.bytes
        else:
            chosen[need.name] = RECOMPUTED
    return tuple(Placement(need.name, chosen[need.name], need.bytes) for need in needs)


@dataclass(frozen=True)
class Rounds:
    """How long to train: `count` rounds, each going once through the phases.

    A phase's turn in a round is a whole pass over the data, `repeats` times; or, when rounds are
    counted in steps, `repeats` steps.
    """

    count: int
    by_steps: bool = False


def make_plan(
    method: Method,
    leaves: Mapping[str, Tensor],
    rounds: Rounds,
    *,
    rows_a_pass: int,
    batch_size: int,
    device: torch.device,
    precision: str,
    memory_limit: int | None = None,
    optimizer: str = "adam",
) -> Plan:
    """Plan a run of `method` over the columns that are given (`leaves`) and those it derives.

    Layers that grow with the data are placed first, since without them there is no training.
    """
    reads = {name: 0 for name in [*leaves, *(column.name for column in method.derived)]}
    for phase in method.phases:
        for name in phase.columns:
            reads[name] += phase.repeats
    for column in method.derived:
        reads[column.source] += 0 if column.fixed else 1
    rows = len(next(iter(leaves.values())))
    needs = [
        ColumnNeed(name, rows, tuple(leaf.shape[1:]), reads[name], derived=False)
        for name, leaf in leaves.items()
    ]
    needs += [
        ColumnNeed(
            column.name,
            rows,
            column.row_shape,
            reads[column.name],
            derived=True,
            # An encoder that changes at every step would make a cache of embeddings stale.
            never_kept=rounds.by_steps and not column.fixed,
        )
        for column in method.derived
    ]
    if memory_limit is None:
        memory_limit = _usable(device)
    host_limit = None if device.type == "cpu" else _usable(torch.device("cpu"))
    batch_size = min(batch_size, rows_a_pass)
    layers = tuple(
        Placement(layer.name, DEVICE, _bytes_of(layer, batch_size, optimizer))
        for layer in method.layers
    )
    for layer in layers:
        if layer.bytes > memory_limit:
            raise ValueError(
                f"the {layer.name} needs {_spoken(layer.bytes)} with its gradient, its optimizer's "
                f"memory and a batch of outputs, but {_spoken(memory_limit)} are to be had on "
                f"{device}: it grows with the number of rows, so fit on fewer of them, or lower "
                "embedding_dim or batch_size"
            )
        memory_limit -= layer.bytes
    steps = rounds.count * (1 if rounds.by_steps else math.ceil(rows_a_pass / batch_size))
    return Plan(
        device=str(device),
        precision=precision,
        graphs=device.type == "cuda" and steps >= _STEPS_WORTH_A_GRAPH,
        batch_size=batch_size,
        placements=layers + place_columns(needs, memory_limit, host_limit),
        device_limit=memory_limit,
    )


def _bytes_of(layer: Layer, batch_size: int, optimizer: str) -> int:
    """Weights, gradient and moments; outputs, their probabilities and their gradient."""
    moments = 1 if optimizer == "sgd" else 2
    return 4 * (layer.weights * (2 + moments) + 3 * layer.outputs * batch_size)


def _usable(device: torch.device) -> int:
    return int(free_memory(device) * _SHARE_FOR_COLUMNS)


def _spoken(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError
