"""The command ``python -m aleator.benchmark.fuzzing``."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from aleator.benchmark.fuzzing.loaders import LOADERS
from aleator.benchmark.fuzzing.watching import Watch, kind_of
from aleator.benchmark.reliability import RESULTS, add_result

_PART = 20_000  # inputs of one process, so that a leak or a crash spoils no more than that


def fuzz(name: str, numbers: range, place: Path) -> dict[str, Any]:
    """Let a loader read changed files.

    Parameters
    ----------
    name : str
        A key of `LOADERS`.
    numbers : range
        Numbers of the inputs; an input depends on its number only.
    place : Path
        An empty folder.

    Returns
    -------
    dict
        Inputs, how many were read and how many rejected, and findings.
    """
    loader = LOADERS[name]
    folder, temporary = place / "files", place / "temporary"
    folder.mkdir()
    temporary.mkdir()
    tempfile.tempdir = str(temporary)  # for copies that loaders make
    loader.make(folder)
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    marks = {path: _mark(path) for path in files}
    size = sum(map(len, files.values()))
    loader.read(folder, random.Random(0))  # the first call imports what it needs
    watch = Watch(place, loader.own_errors)
    watch.call(lambda: loader.read(folder, random.Random(0)), size, "unchanged")
    if watch.rejected or watch.findings:
        raise RuntimeError(f"{name}: unchanged files cannot be read: {watch.findings}")
    watch.accepted = 0
    for number in numbers:
        _restore(folder, files, marks)
        draw = random.Random(f"{name} {number}")
        loader.mutate(folder, draw)
        read = lambda: loader.read(folder, draw)  # noqa: B023, E731
        watch.call(read, size, f"{name} {number}")
        (place / "last").write_text(str(number))
    return {
        "inputs": len(numbers),
        "read": watch.accepted,
        "rejected": watch.rejected,
        "findings": sorted(watch.findings.values()),
    }


def _mark(path: Path) -> tuple[int, ...] | None:
    """Return what changes whenever a file is written or replaced; None if there is no file."""
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _restore(folder: Path, files: dict[Path, bytes], marks: dict[Path, Any]) -> None:
    """Make a folder what it was before, writing only the files that were changed."""
    places = {folder, *(parent for path in files for parent in path.parents)}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and path not in places:
            path.rmdir()
        elif not path.is_dir() and path not in files:
            path.unlink()
    for path, data in files.items():
        if _mark(path) != marks[path]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            marks[path] = _mark(path)


def _in_a_process(name: str, numbers: range) -> dict[str, Any]:
    """Fuzz in a process of its own, whose end by a signal is a finding."""
    with tempfile.TemporaryDirectory() as place:
        words = [name, place, str(numbers.start), str(numbers.stop)]
        command = [sys.executable, "-m", "aleator.benchmark.fuzzing", "--part", *words]
        # Many small readings gain nothing from threads.
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode == 0:
            result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return result
        last = Path(place, "last")
        number = last.read_text() if last.exists() else "none"
        reason = f"the process ended with {done.returncode} after input {number}"
        return {"inputs": 0, "findings": [f"{reason}: {done.stderr[-300:]}"]}


def fuzz_in_parts(name: str, inputs: int, pool: Executor) -> dict[str, Any]:
    """Let a loader read changed files in several processes.

    Parameters
    ----------
    name : str
        A key of `LOADERS`.
    inputs : int
        Number of changed files.
    pool : concurrent.futures.Executor
        Runs as many processes at once as it has workers.

    Returns
    -------
    dict
        Inputs, how many were read and how many rejected, and findings.
    """
    parts = [range(k, min(k + _PART, inputs)) for k in range(0, inputs, _PART)]
    results = list(pool.map(lambda numbers: _in_a_process(name, numbers), parts))
    counts = {
        key: sum(result.get(key, 0) for result in results) for key in ("inputs", "read", "rejected")
    }
    # One case of a kind is enough.
    findings = {kind_of(finding): finding for result in results for finding in result["findings"]}
    return {**counts, "findings": sorted(findings.values())}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loaders", nargs="*", metavar="LOADER", help=", ".join(LOADERS))
    parser.add_argument("--inputs", type=int, default=100_000, help="changed files per loader")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once; default: 1")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the results")
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part:
        name, place, start, stop = options.part
        print(json.dumps(fuzz(name, range(int(start), int(stop)), Path(place))))
        return 0
    from aleator.benchmark.provenance import stamp

    failed = False
    with ThreadPoolExecutor(options.jobs) as pool:
        for name in options.loaders or LOADERS:
            start = time.perf_counter()
            result = fuzz_in_parts(name, options.inputs, pool)
            failed |= bool(result["findings"])
            print(name, json.dumps(result, indent=1), flush=True)
            entry = {
                "command": f"python -m aleator.benchmark.fuzzing {name} --inputs {options.inputs}",
                **result,
                "jobs": options.jobs,
                "seconds": round(time.perf_counter() - start, 1),
                **stamp("cpu"),
            }
            add_result(options.out, "fuzzing", name, result=entry)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
