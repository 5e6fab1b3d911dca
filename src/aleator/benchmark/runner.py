"""Run cells, several in parallel if wanted, and store one line per result."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from aleator.atomic_io import append_lines
from aleator.benchmark import cells
from aleator.benchmark.cells import Cell, key_of, merged
from aleator.benchmark.protocols import TIMED
from aleator.benchmark.provenance import device_name

Line = dict[str, Any]


def read_lines(path: Path) -> list[Line]:
    """Read a results file.

    Parameters
    ----------
    path : Path
        A file of JSON lines; it may be missing. Truncated lines are skipped with a warning.

    Returns
    -------
    lines : list of dict
        The lines.

    Examples
    --------
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
            warnings.warn(f"{path}, line {number} is truncated and ignored", stacklevel=2)
    return lines


def lines_of(wanted: Iterable[Cell], lines: Iterable[Line]) -> list[Line]:
    """Return the finished lines of some cells.

    Parameters
    ----------
    wanted : iterable of Cell
        The cells.
    lines : iterable of dict
        Result lines. Of several lines of the same cell and protocol the last one is used.

    Returns
    -------
    lines : list of dict
        Lines without errors, each with the cell's own name of its variant.

    Examples
    --------
    >>> lines_of([], [{"dataset": "har"}])
    []
    """
    by_key = {key_of(line): line for line in lines if "error" not in line}
    variants = {key: cell.recipe.variant for cell in wanted for key in sorted(cell.keys, key=str)}
    return [{**by_key[key], "variant": name} for key, name in variants.items() if key in by_key]


def run(
    wanted: Sequence[Cell],
    out: Path,
    *,
    data: str | None = None,
    device: str = "auto",
    jobs: int | None = None,
    checkpoint_every: str | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> list[Line]:
    """Run the unfinished cells and append their lines to a results file.

    Parameters
    ----------
    wanted : sequence of Cell
        The cells. What is already in `out` is not run again.
    out : Path
        The results file.
    data : str or None, default=None
        Folder of the data sets; None uses the environment variable ``ALEATOR_DATA``.
    device : str, default="auto"
        Device for training and probes.
    jobs : int or None, default=None
        Number of cells that run in parallel, through joblib. None leaves it to joblib, so that
        within ``joblib.parallel_config(backend="dask")`` or ``"ray"`` a cluster does the work.
    checkpoint_every : str or None, default=None
        Time between two checkpoints of a training, such as ``"5 min"``; they are in the folder
        `checkpoints` beside `out` until its lines are stored. None: no checkpoints.
    log : callable, default: no output
        Called with a line of text on progress.

    Returns
    -------
    failed : list of dict
        The lines of the runs that failed.
    """
    from joblib import Parallel, delayed

    done = {key_of(line) for line in read_lines(out) if _is_reusable(line, device)}
    todo = sorted(merged(wanted, done), key=lambda cell: -cell.cost)
    total = len(set().union(*(cell.keys for cell in wanted)))
    missing = sum(len(cell.protocols) for cell in todo)
    log(f"{total} results: {total - missing} stored, {missing} missing ({len(todo)} runs)")
    folder = None if checkpoint_every is None else out.parent / "checkpoints"
    tasks = (delayed(_run)(cell, data, device, folder, checkpoint_every) for cell in todo)
    failed = []
    finished = Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)
    for count, (cell, lines) in enumerate(finished, start=1):
        append(out, lines)
        for line in lines:
            log(f"[{count}/{len(todo)}] {_format(line)}")
        errors = [line for line in lines if "error" in line]
        if folder is not None and not errors:
            shutil.rmtree(folder / cell.training, ignore_errors=True)
        failed += errors
    return failed


def _run(
    cell: Cell, data: str | None, device: str, folder: Path | None, every: str | None
) -> tuple[Cell, list[Line]]:
    if folder is None or every is None:
        return cell, cells.run(cell, data, device)
    return cell, cells.run(cell, data, device, folder / cell.training, every)


def _is_reusable(line: Line, device: str) -> bool:
    """Return whether a line makes a run unnecessary; timings hold for one device only."""
    if "error" in line:
        return False
    return line["protocol"] != TIMED or line["device"] == device_name(device)


def append(out: Path, lines: Iterable[Line]) -> None:
    """Append lines to a results file and wait until they are on disk.

    Parameters
    ----------
    out : Path
        The results file.
    lines : iterable of dict
        Result lines.
    """
    append_lines(out, (json.dumps(line) for line in lines))


def _format(line: Line) -> str:
    variant = f", {line['variant']}" if line["variant"] else ""
    cell = f"{line['dataset']} {line['method']}{variant}, seed {line['seed']}, {line['protocol']}"
    if "error" in line:
        return f"{cell}: failed, {line['error']}"
    name, value = next(iter(line["metrics"].items()))
    return f"{cell}: {name.replace('_', ' ')} {value:.4f}"
