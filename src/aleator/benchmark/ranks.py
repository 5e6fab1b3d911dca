"""Train on several processes and on one: ``python -m aleator.benchmark.ranks``.

Three proofs. Every method is trained on one process, and on two and three with the same rows per
step; the weights must be the same but for rounding. Runs are stopped on one number of processes and
continued on another, and must end with the weights of a run that was not stopped. And processes of
real runs, started by Lightning Fabric, are killed (SIGKILL) at random moments: the others must end
soon, name the one that was killed, and the run must continue from its checkpoint.

In double precision the weights must agree after 20 steps. In single precision they do so after few
steps; then rounding errors grow. What they have grown to after 20 steps is recorded, and beside it
by how much the weights of one process differ from those of another run of it, on data whose last
bits are others: that is what rounding does to a method, whatever the number of processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from aleator.benchmark.process_group import in_group
from aleator.benchmark.rank_cases import CASES, difference, fit_and_stop, fit_case, largest_move
from aleator.benchmark.rank_kills import fit_for_kills, kill_processes
from aleator.benchmark.reliability import RESULTS, add_result

KEY = "ranks"
PROOFS = ("methods", "resumed", "kills")

# Numbers of processes, with rows per step of all of them together.
BATCHES = {2: 128, 3: 126}
# Processes before the stop, and after it.
CHANGES = ((2, 1), (1, 2), (2, 3))

# Largest differences of weights that a comparison allows; None: they are only recorded.
COMPARISONS: dict[str, tuple[dict[str, Any], float | None]] = {
    "double": ({"precision": "64", "steps": 20}, 1e-5),
    "double, Adam": ({"precision": "64", "steps": 20, "optimizer": "adam"}, 1e-5),
    "single, 5 steps": ({"precision": "32", "steps": 5}, 1e-4),
    "single, 20 steps": ({"precision": "32", "steps": 20}, None),
}
# The comparison beside which it is recorded what rounding does to one process.
ROUNDED, ROUNDINGS = "single, 20 steps", 8
RESUMED, RESUMED_BOUND = {"precision": "64", "steps": 20, "batch": 126}, 1e-4
_ROWS = 600


def _fit_all(size: int, settings: dict[str, Any]) -> dict[str, Any]:
    return {name: fit_case(name, size, **settings) for name in CASES}


def _start_and_end(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return _fit_all(1, {**settings, "steps": 1}), _fit_all(1, settings)


def compare_methods(size: int, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Train every case on one process and on several, and compare.

    Parameters
    ----------
    size : int
        Number of processes.
    settings : dict
        Arguments of `fit_case`.

    Returns
    -------
    list of dict
        Differences of weights, the largest, and of losses, relative; and by how much training has
        moved the weights.
    """
    ((start, alone),) = in_group(1, _start_and_end, settings)
    together = in_group(size, _fit_all, size, settings)
    found = []
    for name in CASES:
        results = [result[name] for result in together]
        weights, losses = difference(alone[name], results[0])
        equal = all(difference(results[0], other) == (0.0, 0.0) for other in results[1:])
        moved = largest_move(start[name], alone[name])
        found.append(
            {"case": name, "processes": size, "difference_of_weights": weights,
             "difference_of_losses": losses, "weights_moved_by": moved,
             "same_in_all_processes": equal}
        )  # fmt: skip
        print(json.dumps(found[-1]), flush=True)
    return found


def compare_rounding(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Train every case on one process, on data and on data with other last bits, and compare.

    Parameters
    ----------
    settings : dict
        Arguments of `fit_case`.

    Returns
    -------
    list of dict
        Differences of weights, the largest of all draws.
    """
    (plain, *rounded) = (
        in_group(1, _fit_all, 1, {**settings, "last_bits": draw})[0]
        for draw in (None, *range(ROUNDINGS))
    )
    found = [
        {
            "case": name,
            "difference_of_weights": max(difference(plain[name], r[name])[0] for r in rounded),
        }
        for name in CASES
    ]
    for record in found:
        print(json.dumps(record), flush=True)
    return found


def _resume_all(size: int, settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {name: fit_case(name, size, **settings, checkpoint=folder / name) for name in CASES}


def compare_resumed(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Stop runs, continue them on another number of processes, and compare with whole runs."""
    (alone,) = in_group(1, _fit_all, 1, settings)
    found = []
    for before, after in CHANGES:
        with tempfile.TemporaryDirectory() as place:
            for name in CASES:  # a group of which a process has failed is of no more use
                in_group(before, fit_and_stop, name, before, settings, Path(place) / name)
            resumed = in_group(after, _resume_all, after, settings, Path(place))[0]
        for name in CASES:
            weights, losses = difference(alone[name], resumed[name])
            found.append(
                {"case": name, "from": before, "to": after, "difference_of_weights": weights,
                 "difference_of_losses": losses}
            )  # fmt: skip
            print(json.dumps(found[-1]), flush=True)
    return found


def _print_largest(records: list[dict[str, Any]]) -> float:
    worst = max(records, key=lambda record: record["difference_of_weights"])
    print(f"largest difference {worst['difference_of_weights']:.1e}, {worst['case']}", flush=True)
    return float(worst["difference_of_weights"])


def prove_methods() -> tuple[dict[str, Any], bool]:
    """Make all comparisons of methods; return them, and whether all are within their bounds."""
    found, good = {}, True
    for name, (settings, bound) in COMPARISONS.items():
        print(name)
        found[name] = [
            record
            for size, batch in BATCHES.items()
            for record in compare_methods(size, {"rows": _ROWS, "batch": batch, **settings})
        ]
        largest = _print_largest(found[name])
        good &= bound is None or largest <= bound
    print("rounding")
    settings = {"rows": _ROWS, "batch": BATCHES[2], **COMPARISONS[ROUNDED][0]}
    rounding = compare_rounding(settings)
    _print_largest(rounding)
    return {"comparisons": found, "rounding": rounding}, good


def prove_resumed() -> tuple[dict[str, Any], bool]:
    """Continue runs on other numbers of processes."""
    found = compare_resumed({"rows": _ROWS, **RESUMED})
    return {"runs": found}, _print_largest(found) <= RESUMED_BOUND


def prove_kills(kills: int, seed: int) -> tuple[dict[str, Any], bool]:
    """Kill processes, and continue."""
    *found, last = kill_processes(kills, seed)
    slowest = max(record["others_ended_after"] for record in found)
    print(f"others ended {slowest:.1f} s after a kill")
    difference = last["difference_of_weights"]
    good = slowest <= 30 and all(record["named"] for record in found) and difference == 0
    return {"kills": found, "difference_of_weights": difference}, good


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.ranks",
        description="Compare training on several processes with training on one, and kill some.",
    )
    parser.add_argument(
        "proofs",
        nargs="*",
        metavar="PROOF",
        choices=[*PROOFS, []],
        help="methods, resumed, kills; default: all",
    )
    parser.add_argument("--kills", type=int, default=10, help="default: 10")
    parser.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    parser.add_argument("--out", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.fit:
        fit_for_kills(options.fit, options.folder)
        return 0
    from aleator.benchmark.provenance import stamp

    good = True
    for name in options.proofs or PROOFS:
        command = f"python -m aleator.benchmark.ranks {name}"
        if name == "kills":
            command += f" --kills {options.kills} --seed {options.seed}"
            found, within = prove_kills(options.kills, options.seed)
        else:
            found, within = prove_methods() if name == "methods" else prove_resumed()
        add_result(options.out, KEY, name, result={"command": command, **stamp("cpu"), **found})
        good &= within
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
