"""Memory that a process can take on the host: what is free, and what its control groups allow.

Docker, Kubernetes and SLURM limit memory by control groups of the Linux kernel, which kills a
process of a group that takes more. The groups that contain a group have limits of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


class _Files(NamedTuple):
    """Names of the files of a group, and of the entry of its statistics for unused file cache."""

    limits: tuple[str, ...]
    usage: str
    cache: str


# Above `memory.high` processes are not killed, but slowed down until they hardly run.
_V2 = _Files(("memory.max", "memory.high"), "memory.current", "inactive_file")
_V1 = _Files(("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file")


def free_host_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Return how many bytes this process can take without being killed.

    Parameters
    ----------
    proc : Path, default=PROC
        Where the kernel describes processes.
    cgroups : Path, default=CGROUPS
        Where it shows control groups, of version 2 or, in the folder "memory", of version 1.

    Returns
    -------
    int
        What is free on the machine, or in one of the groups if that is less.

    Examples
    --------
    >>> free_host_memory() > 0
    True
    """
    rooms = (_room(group, files) for group, files in _groups(proc, cgroups))
    return max(0, min([_free_on_machine(proc), *(room for room in rooms if room is not None)]))


def _free_on_machine(proc: Path) -> int:
    available = _entry(proc / "meminfo", "MemAvailable:")
    if available is not None:
        return available * 1024
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 << 30


def _groups(proc: Path, cgroups: Path) -> Iterator[tuple[Path, _Files]]:
    """Yield the folders of the groups of this process, and of those that contain them."""
    for line in _lines(proc / "self" / "cgroup"):
        _, _, rest = line.partition(":")  # number:controllers:path
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield from ((folder, _V2) for folder in _up_from(cgroups, path))
        elif "memory" in controllers.split(","):
            yield from ((folder, _V1) for folder in _up_from(cgroups / "memory", path))


def _up_from(root: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a group and of all above it, up to the root, the group of a container.

    In a container the path may be that on its host, of which nothing but the root is there.
    """
    names = [name for name in path.split("/") if name]
    if ".." in names:  # a group outside of what is shown
        names = []
    for depth in range(len(names), -1, -1):
        yield root.joinpath(*names[:depth])


def _room(group: Path, files: _Files) -> int | None:
    """Bytes that a group may still take; None if it has no limit."""
    limits = [limit for name in files.limits if (limit := _number(group / name)) is not None]
    if not limits:
        return None
    # File cache that is not in use is dropped before a process is killed.
    used = (_number(group / files.usage) or 0) - (_entry(group / "memory.stat", files.cache) or 0)
    return min(limits) - max(0, used)


def _number(file: Path) -> int | None:
    """Return the number in a file; None if there is none, as in "max", which means no limit."""
    lines = _lines(file)
    return int(lines[0]) if lines and lines[0].isdecimal() else None


def _entry(file: Path, name: str) -> int | None:
    """Return the number that follows a name in a file."""
    for line in _lines(file):
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdecimal():
            return int(words[1])
    return None


def _lines(file: Path) -> list[str]:
    try:
        return os.fsdecode(file.read_bytes()).splitlines()
    except OSError:
        return []
