"""Runs cells, some at a time, and writes a line for each; what is finished is never run again."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from aleator.benchmark.cells import Cell, key_of, run_safely


def read_lines(path: Path) -> list[dict[str, Any]]:
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


def unfinished(cells: Iterable[Cell], lines: Iterable[dict[str, Any]]) -> list[Cell]:
    """The cells of which a line is missing; a failed one counts as missing."""
    done = {key_of(line) for line in lines if "error" not in line}
    return [cell for cell in cells if not cell.keys <= done]


def run(
    cells: Sequence[Cell],
    out: Path,
    *,
    data: str | None = None,
    device: str = "auto",
    jobs: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """Run what is unfinished and append its lines to `out`; returns all lines of these cells.

    `jobs` cells run at a time, through joblib, so that its Dask and Ray backends can spread them
    over a cluster: wrap the call in `joblib.parallel_config(backend="dask")`.
    """
    from joblib import Parallel, delayed

    before = read_lines(out)
    todo = unfinished(cells, before)
    say(f"{len(cells)} cells, {len(cells) - len(todo)} finished before, {len(todo)} to run")
    tasks = (delayed(run_safely)(cell, data, device) for cell in todo)
    out.parent.mkdir(parents=True, exist_ok=True)
    _end_cut_line(out)
    made = []
    with open(out, "a", encoding="utf-8") as file:
        for lines in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
            for line in lines:
                file.write(json.dumps(line) + "\n")
                made.append(line)
                say(_spoken(line))
            file.flush()
            os.fsync(file.fileno())
    wanted = set().union(*(cell.keys for cell in cells)) if cells else set()
    finished = [line for line in before if key_of(line) in wanted and "error" not in line]
    return finished + made


def _end_cut_line(out: Path) -> None:
    """A line cut short by an interruption must not swallow the next one."""
    if out.exists() and (content := out.read_bytes()) and not content.endswith(b"\n"):
        with open(out, "ab") as file:
            file.write(b"\n")


def _spoken(line: dict[str, Any]) -> str:
    where = f"{line['dataset']} {line['method']} seed {line['seed']}"
    if "error" in line:
        return f"{where}: failed, {line['error']}"
    return f"{where} {line['protocol']}: accuracy {line['metrics']['accuracy']:.4f}"
