"""Measure peak memory: ``python -m aleator.benchmark.memory images series transform map``.

Prints one JSON line per case. Every case runs in a process of its own on generated data:

- images: `LFR.paper().fit` for one epoch on 1000 images of 3 × 96 × 96;
- series: `LFR.paper().fit` for one epoch on 2000 series of 5000 steps;
- transform: `transform` of a table of 1 000 000 × 27;
- map: `LFR.paper().fit` for 300 steps on a memory-mapped table of 4 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_INTERVAL = 0.005  # seconds between two readings
_MAP_COLUMNS = 256


class PeakMemory:
    """Peak of the resident memory of this process while a block runs.

    Attributes
    ----------
    resident : int
        Largest number of resident bytes.
    anonymous : int
        Largest number of resident bytes that are not backed by a file.
    added : int
        `anonymous` minus the anonymous memory at the start of the block.

    Examples
    --------
    >>> import time
    >>> with PeakMemory() as peak:
    ...     array = np.ones(40_000_000)
    ...     time.sleep(0.3)
    >>> peak.added > 200_000_000
    True
    """

    def __enter__(self) -> PeakMemory:
        self._stop = threading.Event()
        self.resident, start = _read_memory()
        self.anonymous, self._start = start, start
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def added(self) -> int:
        """Anonymous memory that the block added, at most."""
        return self.anonymous - self._start

    def _sample(self) -> None:
        while not self._stop.wait(_INTERVAL):
            resident, anonymous = _read_memory()
            self.resident = max(self.resident, resident)
            self.anonymous = max(self.anonymous, anonymous)


def measure_images(scale: float) -> dict[str, Any]:
    """Measure LFR on images."""
    shape = (max(20, round(1000 * scale)), 3, 96, 96)
    return _measure_fit(np.random.default_rng(0).random(shape, dtype=np.float32))


def measure_series(scale: float) -> dict[str, Any]:
    """Measure LFR on long series."""
    shape = (max(20, round(2000 * scale)), 1, 5000)
    return _measure_fit(np.random.default_rng(0).standard_normal(shape, dtype=np.float32))


def measure_transform(scale: float) -> dict[str, Any]:
    """Measure the transformation of a large table."""
    from aleator import LFR

    X = np.random.default_rng(0).standard_normal((round(1e6 * scale), 27), dtype=np.float32)
    lfr = LFR.paper(epochs=1, random_state=0, device="cpu", progress=False).fit(X[:1000])
    with PeakMemory() as peak:
        result = lfr.transform(X)
    return {"shape": list(X.shape), "result_bytes": result.nbytes, **_describe(peak)}


def measure_map(scale: float) -> dict[str, Any]:
    """Measure LFR on a memory map."""
    from aleator import LFR

    rows = round(4e9 * scale) // (4 * _MAP_COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        _write_table(path, rows)
        lfr = LFR.paper(steps=300, random_state=0, device="cpu", progress=False)
        with PeakMemory() as peak:
            lfr.fit(np.load(path, mmap_mode="r"))
        assert lfr.plan_ is not None
        targets = lfr.plan_.where("targets")
        size = path.stat().st_size
    return {"shape": [rows, _MAP_COLUMNS], "data_bytes": size, "targets": targets,
            **_describe(peak)}  # fmt: skip


CASES: dict[str, Callable[[float], dict[str, Any]]] = {
    "images": measure_images,
    "series": measure_series,
    "transform": measure_transform,
    "map": measure_map,
}


def measure(case: str, scale: float = 1.0) -> dict[str, Any]:
    """Measure one case in a process of its own.

    Parameters
    ----------
    case : {"images", "series", "transform", "map"}
        What to measure.
    scale : float, default=1.0
        Share of the rows, for a quick test.

    Returns
    -------
    dict
        The line that is printed.
    """
    command = [
        sys.executable,
        "-m",
        "aleator.benchmark.memory",
        case,
        "--scale",
        str(scale),
        "--in-process",
    ]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def _measure_fit(X: np.ndarray) -> dict[str, Any]:
    from aleator import LFR

    lfr = LFR.paper(epochs=1, random_state=0, device="cpu", progress=False)
    with PeakMemory() as peak:
        lfr.fit(X)
    return {"shape": list(X.shape), "data_bytes": X.nbytes, **_describe(peak)}


def _describe(peak: PeakMemory) -> dict[str, int]:
    return {
        "resident_bytes": peak.resident,
        "anonymous_bytes": peak.anonymous,
        "added_bytes": peak.added,
    }


def _write_table(path: Path, rows: int) -> None:
    """Write a table of random rows that repeat, in pieces."""
    table = np.lib.format.open_memmap(path, "w+", np.float32, (rows, _MAP_COLUMNS))
    block = np.random.default_rng(0).standard_normal((1 << 16, _MAP_COLUMNS), dtype=np.float32)
    for start in range(0, rows, len(block)):
        part = table[start : start + len(block)]
        part[:] = block[: len(part)]
    table.flush()


def _read_memory() -> tuple[int, int]:
    """Return the resident and the anonymous bytes of this process."""
    fields = {}
    with open("/proc/self/status") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            fields[name] = value
    return int(fields["VmRSS"].split()[0]) * 1024, int(fields["RssAnon"].split()[0]) * 1024


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.memory",
        description="Measure peak memory on a CPU and print one JSON line per case (Linux).",
    )
    parser.add_argument("cases", nargs="+", choices=list(CASES), metavar="CASE",
                        help=f"what to measure: {', '.join(CASES)}")  # fmt: skip
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows; default: 1")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for case in options.cases:
        if options.in_process:
            import torch

            from aleator.benchmark.provenance import stamp

            line = {"case": case, **CASES[case](options.scale), "scale": options.scale,
                    **stamp("cpu"), "torch": str(torch.__version__)}  # fmt: skip
        else:
            line = measure(case, options.scale)
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
