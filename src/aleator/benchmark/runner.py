"""Runs cells, some at a time, and writes a line for each; what is finished is never run again."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from aleator.benchmark import cells
from aleator.benchmark.cells import Cell, key_of, merged
from aleator.benchmark.protocols import TIMED
from aleator.benchmark.provenance import device_name

Line = dict[str, Any]


def read_lines(path: Path) -> list[Line]:
    """The lines of a results file; one that an interruption cut short is left out, with a warning.

    >>> read_lines(Path("nowhere.jsonl"))
    []
    """
    if not path.exists():
        return []
    lines = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            warnings.warn(f"{path}, line {number} is cut short and ignored", stacklevel=2)
    return lines


def lines_of(wanted: Iterable[Cell], lines: Iterable[Line]) -> list[Line]:
    """The finished lines of some cells, each with the cell's own name for its variant; the last
    where there are several, as of one timing on two devices.

    >>> lines_of([], [{"dataset": "har"}])
    []
    """
    found = {key_of(line): line for line in lines if "error" not in line}
    variants = {key: cell.recipe.variant for cell in wanted for key in sorted(cell.keys, key=str)}
    return [{**found[key], "variant": variant} for key, variant in variants.items() if key in found]


def run(
    wanted: Sequence[Cell],
    out: Path,
    *,
    data: str | None = None,
    device: str = "auto",
    jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> list[Line]:
    """Run what is unfinished and append its lines to `out`; returns the lines of what failed.

    `jobs` cells run at a time, through joblib; None leaves it to joblib, so that inside
    `joblib.parallel_config(backend="dask")` or `"ray"` a cluster does the work.
    """
    from joblib import Parallel, delayed

    done = {key_of(line) for line in read_lines(out) if _stands(line, device)}
    todo = sorted(merged(wanted, done), key=lambda cell: -cell.cost)
    lines = len(set().union(*(cell.keys for cell in wanted)))
    left = sum(len(cell.protocols) for cell in todo)
    say(f"{lines} results, {lines - left} there already, {left} to come from {len(todo)} runs")
    tasks = (delayed(cells.run)(cell, data, device) for cell in todo)
    failed = []
    made = Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)
    for count, lines_made in enumerate(made, start=1):
        append(out, lines_made)
        for line in lines_made:
            say(f"[{count}/{len(todo)}] {_spoken(line)}")
        failed += [line for line in lines_made if "error" in line]
    return failed


def _stands(line: Line, device: str) -> bool:
    """Whether a line makes another run needless; seconds are good for their own device only."""
    if "error" in line:
        return False
    return line["protocol"] != TIMED or line["device"] == device_name(device)


def append(out: Path, lines: Sequence[Line]) -> None:
    """Add lines to a results file, so that they are on the disk before anything else happens."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(out, "a+b") as file:
        # A line cut short by an interruption must not swallow the next one.
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write("".join(json.dumps(line) + "\n" for line in lines).encode())
        file.flush()
        os.fsync(file.fileno())


def _spoken(line: Line) -> str:
    variant = f", {line['variant']}" if line["variant"] else ""
    where = f"{line['dataset']} {line['method']}{variant}, seed {line['seed']}, {line['protocol']}"
    if "error" in line:
        return f"{where}: failed, {line['error']}"
    name, value = next(iter(line["metrics"].items()))
    return f"{where}: {name.replace('_', ' ')} {value:.4f}"
