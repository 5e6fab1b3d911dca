"""Kill fits and let them continue: ``python -m aleator.benchmark.kills --kills 50``.

Every case is fitted once in a process that is left alone, without checkpoints, and once in
processes that are killed (SIGKILL), some at a random moment and some at a random operation inside
the writing of a checkpoint. After every kill a new process continues from the checkpoint folder. At
the end the weights of all saved networks must be the same bit for bit, and the history the same but
for times.
"""

from __future__ import annotations

import argparse
import builtins
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from aleator.benchmark.kill_cases import CASES, data_of
from aleator.benchmark.reliability import RESULTS, add_result

_THREADS = 1  # of a fit on a CPU
_CHECKPOINT_EVERY = 7  # steps, so that most checkpoints are in mid-epoch
_MOST_OPERATIONS = 150  # of a checkpoint being written; a random one of them is the last


def fit_case(
    name: str, folder: Path | None, out: Path, device: str, kill_at: int | None = None
) -> None:
    """Fit a case in this process, save the model, and print when fit and training begin, and end.

    Parameters
    ----------
    name : str
        Name of the case.
    folder : Path or None
        Checkpoint folder.
    out : Path
        Folder of the saved model.
    device : str
        Device of the fit.
    kill_at : int, default=None
        End this process at so many operations inside the writing of checkpoints.
    """
    import torch

    import aleator

    if device == "cpu":
        torch.set_num_threads(_THREADS)
    case = CASES[name]
    X, y = data_of(case, out.parent)
    make: Any = aleator
    for part in case.estimator.split("."):
        make = getattr(make, part)
    settings = {"batch_size": 32, "random_state": 0, "progress": False, "device": device}
    model = make(**{**settings, **case.parameters})
    if kill_at is not None:
        _kill_inside_writes(kill_at)
    _print_when_training_begins()
    print("fit", flush=True)
    model.fit(X, y, checkpoint=folder, checkpoint_every=_CHECKPOINT_EVERY)
    print("fitted", flush=True)
    model.save(out)


def _print_when_training_begins() -> None:
    from aleator.training.trainer import Trainer

    train = Trainer.fit

    def announced(self: Trainer, *arguments: Any, **named: Any) -> None:
        print("training", flush=True)
        train(self, *arguments, **named)

    Trainer.fit = announced  # type: ignore[method-assign]


def _kill_inside_writes(operations: int) -> None:
    """Replace what writes checkpoints by what ends the process at the n-th operation."""
    from aleator import atomic_io
    from aleator.training.checkpoint import CheckpointFolder

    inside, left = False, operations

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= inside
            if inside and left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return call

    def opened(path: Any, mode: str = "r") -> Any:
        file = builtins.open(path, mode)  # noqa: SIM115 - whoever calls it closes it
        write = file.write

        def half(data: bytes) -> int:
            nonlocal left
            left -= inside
            if inside and left <= 0:
                write(data[: len(data) // 2])
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            return write(data)

        return _Written(file, half)

    write = CheckpointFolder.write

    def watched(self: CheckpointFolder, *arguments: Any, **named: Any) -> None:
        nonlocal inside
        inside = True
        write(self, *arguments, **named)
        inside = False

    CheckpointFolder.write = watched  # type: ignore[method-assign]
    atomic_io.open = counted(opened)  # type: ignore[attr-defined]
    for name in ("fsync", "replace", "mkdir", "rmdir", "unlink"):
        setattr(os, name, counted(getattr(os, name)))


class _Written:
    """A file whose method `write` is another."""

    def __init__(self, file: Any, write: Callable[[bytes], int]) -> None:
        self._file = file
        self.write = write

    def __enter__(self) -> _Written:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def kill_case(name: str, kills: int, device: str, seed: int) -> dict[str, Any]:
    """Fit a case undisturbed and killed, and compare.

    Parameters
    ----------
    name : str
        Name of the case.
    kills : int
        How often it is killed. If it ends before, a new run begins.
    device : str
        Device of the fits.
    seed : int
        Seed of the moments.

    Returns
    -------
    dict
        The kills, and whether weights and history are the same.
    """
    drawn = random.Random(f"{seed} {name}")
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        seconds = _left_alone(name, None, here / "whole", device)
        done: list[dict[str, Any]] = []
        same_weights, same_history, runs = True, True, 0
        while len(done) < kills:
            folder, out = here / f"checkpoints-{runs}", here / f"model-{runs}"
            while len(done) < kills and not out.exists():
                kill_at = drawn.randint(1, _MOST_OPERATIONS) if drawn.random() < 0.4 else None
                trained = drawn.random() < 0.5  # else it may still be preparing
                if not any(kill["steps"] for kill in done):
                    kill_at, trained = None, True  # at least one in the middle of training
                wait = drawn.uniform(0, (0.3 if trained else 0.5) * seconds)
                kill = _kill_once(name, folder, out, device, wait, kill_at, trained=trained)
                if kill is not None:
                    done.append(kill)
            if not out.exists():
                _left_alone(name, folder, out, device)
            weights, history = _compare(here / "whole", out)
            same_weights, same_history, runs = (
                same_weights and weights,
                same_history and history,
                runs + 1,
            )
    return {
        "case": name,
        "seconds": round(seconds, 2),
        "runs": runs,
        "kills": len(done),
        "inside_a_write": sum(kill["inside_a_write"] for kill in done),
        "before_training": sum(kill["before_training"] for kill in done),
        "after_steps": [kill["steps"] for kill in done],
        "same_weights": same_weights,
        "same_history": same_history,
    }


def _command(name: str, folder: Path | None, out: Path, device: str) -> list[str]:
    command = [sys.executable, "-m", "aleator.benchmark.kills", "--fit", name, "--out", str(out)]
    command += ["--device", device]
    return command if folder is None else [*command, "--folder", str(folder)]


def _left_alone(name: str, folder: Path | None, out: Path, device: str) -> float:
    """Fit in a process that is not killed, and return the seconds of the fit."""
    command = _command(name, folder, out, device)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "fit\n"
        began = time.monotonic()
        while process.stdout.readline() not in ("fitted\n", ""):
            pass
        seconds = time.monotonic() - began
    if process.returncode:
        raise RuntimeError(f"the fit of {name} ended with {process.returncode}")
    return seconds


def _kill_once(
    name: str,
    folder: Path,
    out: Path,
    device: str,
    wait: float,
    kill_at: int | None,
    *,
    trained: bool,
) -> dict[str, Any] | None:
    """Fit in a process that is killed; None if it ended before."""
    command = _command(name, folder, out, device)
    if kill_at is not None:
        command += ["--kill-at", str(kill_at)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        before = _checkpoints_in(folder)
        while trained and kill_at is None and process.poll() is None:
            if _checkpoints_in(folder) != before:
                break
            time.sleep(0.01)
        try:
            # One that kills itself is waited for: it may end before, and then writes a last line.
            process.wait(wait if kill_at is None else None)
        except subprocess.TimeoutExpired:
            process.kill()
        before_training = "training\n" not in process.stdout.readlines()
    if process.returncode == 0:
        return None
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the fit of {name} ended with {process.returncode}")
    whole = _checkpoints_in(folder)
    steps = 0
    if whole:
        state = json.loads((folder / whole[-1] / "state.json").read_text())
        steps = state["content"]["steps"]
    half_written = any(folder.glob(".checkpoint-*"))
    inside = kill_at is not None or half_written
    return {"steps": steps, "inside_a_write": inside, "before_training": before_training}


def _checkpoints_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("checkpoint-*"))


def _compare(first: Path, second: Path) -> tuple[bool, bool]:
    """Whether two saved models have the same weights, and the same history but for times."""
    contents = [json.loads((f / "aleator.json").read_text())["content"] for f in (first, second)]
    # The checksum of the file that holds the weights of all networks and the scale of the data.
    weights = [content["weights"]["sha256"] for content in contents]
    histories = [
        [{k: v for k, v in record.items() if k != "seconds"} for record in content["history"]]
        for content in contents
    ]
    return weights[0] == weights[1], histories[0] == histories[1]


def _command_line(options: argparse.Namespace) -> str:
    """Return the command that repeats a proof, without where it is written."""
    words = ["python -m aleator.benchmark.kills"]
    if options.cases != list(CASES):
        words += ["--cases", *(f'"{name}"' for name in options.cases)]
    return " ".join([*words, f"--kills {options.kills} --seed {options.seed}"]) + (
        "" if options.device == "cpu" else f" --device {options.device}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.kills",
        description="Kill fits at random moments, continue them, and compare with fits left alone.",
    )
    parser.add_argument("--kills", type=int, default=50, help="in all; default: 50")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES),
                        metavar="CASE", help=f"default: all of {', '.join(CASES)}")  # fmt: skip
    parser.add_argument("--device", default="cpu", help="default: cpu")
    parser.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time; default: 1")
    parser.add_argument("--results", type=Path, help=f"write into this file, such as {RESULTS}")
    for hidden in ("--fit", "--folder", "--out"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--kill-at", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.fit:
        folder = None if options.folder is None else Path(options.folder)
        fit_case(options.fit, folder, Path(options.out), options.device, options.kill_at)
        return 0
    from aleator.benchmark.provenance import stamp

    # As even as possible, and as many in all as were asked for.
    counts = [(options.kills + position) // len(options.cases)
              for position in range(len(options.cases))]  # fmt: skip
    with ThreadPoolExecutor(options.jobs) as threads:  # which wait for processes
        proofs = threads.map(
            lambda name, kills: kill_case(name, kills, options.device, options.seed),
            options.cases,
            counts,
        )
        cases = []
        for proof in proofs:
            cases.append(proof)
            print(json.dumps(proof), flush=True)
    result = {
        "command": _command_line(options),
        **stamp(options.device),
        **({"threads": _THREADS} if options.device == "cpu" else {}),
        "kills": sum(case["kills"] for case in cases),
        "inside_a_write": sum(case["inside_a_write"] for case in cases),
        "before_training": sum(case["before_training"] for case in cases),
        "same": all(case["same_weights"] and case["same_history"] for case in cases),
        "cases": cases,
    }
    if options.results:
        key = "kills" if options.device == "cpu" else f"kills, {options.device}"
        add_result(options.results, key, result=result)
    print(f"{result['kills']} kills, {result['inside_a_write']} of them inside a write: "
          f"{'all runs are the same' if result['same'] else 'RUNS DIFFER'}")  # fmt: skip
    return 0 if result["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
