"""What lives where, decided once, before training, from sizes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# The part of free memory that columns may take; the rest is for weights and activations.
_SHARE_FOR_COLUMNS = 0.7

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

    >>> needs = [ColumnNeed("input", 100, (1,), 2, False), ColumnNeed("targets", 100, (9,), 6, True)]
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


def usable(free: int) -> int:
    """The part of free memory that columns may take.

    >>> usable(1000)
    700
    """
    return int(free * _SHARE_FOR_COLUMNS)


def _spoken(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError
