"""Measure and simulate training on several processes: ``python -m aleator.benchmark.scaling``.

Steps of one process, messages and the program's own time are measured. From these alone, steps of
two and three processes are simulated and compared with measured ones, and runs on many GPUs are
predicted. ``docs/scaling.md`` is made from the result. Other programs must not disturb it: it takes
half a minute, and a priority such as that of ``chrt -f 5`` helps.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aleator.benchmark import scaling_projection as projection
from aleator.benchmark.reliability import RESULTS, add_result
from aleator.training.plan import format_bytes

KEY = "scaling"
# The line of speed.jsonl that is nearest to a table of 100 columns: 104 columns.
GPU_LINE = {"recipe": "default-income", "device": "cuda", "reference": False}
_TRAINING_ROWS, _TEST_ROWS = 30162, 15060


def gpu_rates(lines: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return seconds per row on one GPU from the lines of `speed.jsonl`."""
    (line,) = [x for x in lines if all(x[key] == value for key, value in GPU_LINE.items())]
    return projection.gpu_rates(line, _TRAINING_ROWS, _TRAINING_ROWS + _TEST_ROWS)


def error_of(point: Mapping[str, Any]) -> float:
    """Return by how much a simulated step is longer than the measured one, relatively.

    Examples
    --------
    >>> error_of({"simulated_seconds": 1.5, "measured_seconds": 2.0})
    -0.25
    """
    return float(point["simulated_seconds"] / point["measured_seconds"] - 1)


def points_table(result: Mapping[str, Any]) -> str:
    """Return measured and simulated steps as a table in Markdown."""
    out = [
        "| loss | processes | rows per step | sent, summed | sent, gathered | measured | simulated "
        "| error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = {"mse": "row by row", "bbt": "compares rows"}
    for point in result["points"]:
        gathered = 4 * point["gathered_values_per_row"] * point["batch"] / point["processes"]
        out.append(
            f"| {names[point['loss']]} | {point['processes']} | {point['batch']} "
            f"| {format_bytes(point['summed_bytes'])} | {format_bytes(round(gathered))} "
            f"| {1e3 * point['measured_seconds']:.1f} ms "
            f"| {1e3 * point['simulated_seconds']:.1f} ms | {100 * error_of(point):+.0f} % |"
        )
    worst = max(abs(error_of(point)) for point in result["points"])
    mean = sum(abs(error_of(point)) for point in result["points"]) / len(result["points"])
    out += ["", f"Largest error {100 * worst:.0f} %, mean {100 * mean:.0f} %."]
    return "\n".join(out)


def memory_table(result: Mapping[str, Any]) -> str:
    """Return the memory of the large run as a table in Markdown."""
    found = projection.memory(result["host"]["sizes"])
    places = {"device": "GPU", "host": "host", "streamed": "file",
              "recomputed": "nowhere: computed again for every batch"}  # fmt: skip
    out = ["| what | per process | where |", "| --- | --- | --- |"]
    for name, column in found["columns"].items():
        out.append(f"| {name} | {format_bytes(column['bytes'])} | {places[column['where']]} |")
    out.append(
        f"| weights, gradients, Adam's moments | {format_bytes(found['weights'])} | GPU |",
    )
    out.append(f"| order of samples | {format_bytes(found['order'])} | host |")
    out.append(f"| … while it is divided | {format_bytes(found['order_peak'])} | host |")
    return "\n".join(out)


def time_table(result: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the times of the large run as tables in Markdown."""
    rates = gpu_rates(lines)
    out = [
        "| `batch_size` | steps | GPU | host | messages | step | rows/s | epoch | slow network |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for rows in projection.ROWS_PER_GPU:
        fast, slow = (
            projection.project(result["host"], rates, rows, network)
            for network in projection.networks().values()
        )
        out.append(
            f"| {rows} | {fast['steps']} | {_ms(fast['gpu'])} | {_ms(fast['host'])} "
            f"| {_ms(fast['network'])} | {_ms(fast['step'])} "
            f"| {fast['rows_per_second'] / 1e6:.1f} M "
            f"| {_minutes(fast['epoch'])} | {_minutes(slow['epoch'])} |"
        )
    before = {
        "scale of the columns, by every process": fast["scale"],
        "random order, every epoch": fast["order"],
        "features of the own rows, on the GPU": fast["features"],
    }
    out += ["", "| besides the steps | time |", "| --- | --- |"]
    out += [f"| {name} | {_minutes(seconds)} |" for name, seconds in before.items()]
    return "\n".join(out)


def assumption_table() -> str:
    """Return what was not measured as a table in Markdown."""
    out = ["| assumed | value | source |", "| --- | --- | --- |"]
    out += [
        f"| {name} | {assumed.value:.3g} {assumed.unit} | {assumed.source} |"
        for name, assumed in projection.ASSUMPTIONS.items()
    ]
    return "\n".join(out)


def sections(
    result: Callable[[], Mapping[str, Any]], lines: Callable[[], Sequence[Mapping[str, Any]]]
) -> dict[str, Callable[[], str]]:
    """Return functions that make the tables of ``docs/scaling.md``, by name."""
    return {
        "scaling-points": lambda: points_table(result()),
        "scaling-memory": lambda: memory_table(result()),
        "scaling-time": lambda: time_table(result(), lines()),
        "scaling-assumptions": assumption_table,
    }


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.scaling",
        description="Measure steps of one, two and three processes, and compare a simulation.",
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    options = parser.parse_args(arguments)
    from aleator.benchmark.provenance import stamp
    from aleator.benchmark.scaling_measure import measure

    result = {
        "command": "python -m aleator.benchmark.scaling",
        **stamp("cpu"),
        **measure(len(os.sched_getaffinity(0))),
        "host": projection.measure_host(),
    }
    add_result(options.out, KEY, result=json.loads(json.dumps(result)))
    print(points_table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
