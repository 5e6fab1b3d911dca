"""The command ``python -m aleator.benchmark.fuzzing``."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aleator.benchmark.fuzzing.loaders import LOADERS
from aleator.benchmark.fuzzing.watching import Watch
from aleator.benchmark.reliability import RESULTS, add_result


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
    files = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    size = sum(map(len, files.values()))
    loader.read(folder, random.Random(0))  # the first call imports what it needs
    watch = Watch(place, loader.own_errors)
    watch.call(lambda: loader.read(folder, random.Random(0)), size, "unchanged")
    if watch.rejected or watch.findings:
        raise RuntimeError(f"{name}: unchanged files cannot be read: {watch.findings}")
    watch.accepted = 0
    for number in numbers:
        _restore(folder, files)
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


def _restore(folder: Path, files: dict[Path, bytes]) -> None:
    """Make a folder what it was before."""
    kept = {folder / name for name in files}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(folder / name == path or path in (folder / name).parents for name in files):
                path.rmdir()
        elif path not in kept:
            path.unlink()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _in_a_process(name: str, inputs: int) -> dict[str, Any]:
    """Fuzz in a process of its own, whose end by a signal is a finding."""
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        command = [
            sys.executable,
            "-m",
            "aleator.benchmark.fuzzing",
            "--one",
            name,
            place,
            str(inputs),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            result = json.loads(done.stdout.splitlines()[-1])
        else:
            last = Path(place, "last")
            number = last.read_text() if last.exists() else "none"
            reason = f"the process ended with {done.returncode} after input {number}"
            result = {"inputs": inputs, "findings": [f"{reason}: {done.stderr[-300:]}"]}
        return {**result, "seconds": round(time.perf_counter() - start, 1)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loaders", nargs="*", metavar="LOADER", help=", ".join(LOADERS))
    parser.add_argument("--inputs", type=int, default=100_000, help="changed files per loader")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the results")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        name, place, inputs = options.one
        print(json.dumps(fuzz(name, range(int(inputs)), Path(place))))
        return 0
    failed = False
    for name in options.loaders or LOADERS:
        result = _in_a_process(name, options.inputs)
        failed |= bool(result["findings"])
        print(name, json.dumps(result, indent=1), flush=True)
        command = f"python -m aleator.benchmark.fuzzing {name} --inputs {options.inputs}"
        add_result(options.out, "fuzzing", name, result={"command": command, **result})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
