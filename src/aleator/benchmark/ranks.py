"""Train on several processes and on one: ``python -m aleator.benchmark.ranks``.

Three proofs. Every method is trained on one process, and on two and three with the same rows per
step; the weights must be the same but for rounding. Runs are stopped on one number of processes and
continued on another, and must end with the weights of a run that was not stopped. And processes of
real runs, started by Lightning Fabric, are killed (SIGKILL) at random moments: the others must end
soon, name the one that was killed, and the run must continue from its checkpoint.

Plain gradient descent shows every error of a gradient, which Adam's division by its size would
hide. It also does without Adam's steps along gradients that are zero but for rounding, such as
those of a bias before batch normalization, which differ between any two machines.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from aleator.atomic_io import write_file
from aleator.benchmark.kills import RESULTS
from aleator.benchmark.rank_kills import fit_for_kills, kill_processes

_SERIES, _TABLE, _IMAGES = (2, 24), (6,), (3, 12, 10)
_FEW = {"n_projectors": 3, "target_dim": 16, "learning_rate": 0.5}
_PAPER = {"n_projectors": 2, "n_candidates": 4, "predictor_epochs": 2}


@dataclass(frozen=True)
class Case:
    """A method that is trained: an estimator, the shape of a sample, and parameters."""

    estimator: str
    shape: tuple[int, ...]
    parameters: dict[str, Any]


CASES = {
    "LFR, table": Case("LFR", _TABLE, _FEW),
    "LFR, series": Case("LFR", _SERIES, _FEW),
    # Encoder and predictors in turns, dropout, batch normalization, and a loss over pairs of rows.
    "LFR.paper, series": Case("LFR.paper", _SERIES, _PAPER),
    "LFR.paper, mlp and InfoNCE": Case(
        "LFR.paper", _TABLE, {**_PAPER, "predictor": "mlp", "loss": "infonce"}
    ),
    "LFR.paper, cosine": Case("LFR.paper", _TABLE, {**_PAPER, "loss": "cosine"}),
    "LFR.paper, function": Case("LFR.paper", _TABLE, {**_PAPER, "loss": F.mse_loss}),
    "Autoencoder, series": Case("Autoencoder", _SERIES, {}),
    "DIET, table": Case("DIET", _TABLE, {"learning_rate": 0.5}),
    "SimSiam, series": Case("SimSiam", _SERIES, {}),
    "BYOL, table": Case("BYOL", _TABLE, {}),
    "SimCLR, series": Case("SimCLR", _SERIES, {}),
    "SimCLR, images": Case("SimCLR", _IMAGES, {"encoder": "mlp", "learning_rate": 1e-4}),
    "SCARF, table": Case("SCARF", _TABLE, {"learning_rate": 0.5}),
    "STab, table": Case("STab", _TABLE, {}),
    "TSTCC, series": Case("TSTCC", _SERIES, {}),
    "DACL, table": Case("DACL", _TABLE, {"mixing": ("linear", "binary")}),
    "Supervised, series": Case("Supervised", _SERIES, {}),
    "Supervised, transformer": Case("Supervised", _SERIES, {"encoder": "transformer"}),
    "Supervised, images": Case("Supervised", _IMAGES, {"encoder": "mlp", "views": "auto"}),
}  # fmt: skip

_RESUMED = ("LFR.paper, series", "SimCLR, series", "BYOL, table", "Supervised, series")
# Processes before the stop, and after it.
_CHANGES = ((2, 1), (1, 2), (2, 3))


def data_of(case: Case, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw samples and labels.

    Parameters
    ----------
    case : Case
        What is trained.
    rows : int
        Number of samples.

    Returns
    -------
    X : ndarray of shape (rows, ...)
    y : ndarray of shape (rows,)
    """
    y = np.arange(rows) % 3
    X = np.random.default_rng(0).normal(size=(rows, *case.shape)).astype(np.float32)
    X[..., 0] += y.reshape(-1, *[1] * (len(case.shape) - 1))
    return X, y


def fit_case(
    name: str, processes: int, *, rows: int, batch: int, steps: int, **fit: Any
) -> dict[str, Any]:
    """Fit a case as one of `processes`, whose group exists if there are several.

    Parameters
    ----------
    name : str
        Name of the case.
    processes : int
        Number of processes.
    rows : int
        Number of samples.
    batch : int
        Rows per step of all processes together.
    steps : int
        Number of steps.
    **fit : object
        Further arguments of `fit`.

    Returns
    -------
    dict
        Weights of all networks by name, and the losses.
    """
    import aleator

    case = CASES[name]
    X, y = data_of(case, rows)
    make: Any = aleator
    for part in case.estimator.split("."):
        make = getattr(make, part)
    settings = {
        "embedding_dim": 128 if case.parameters.get("encoder") == "transformer" else 8,
        "steps": steps,
        "batch_size": batch // processes,
        "devices": processes,
        "device": "cpu",
        "optimizer": "sgd",
        "learning_rate": 1e-3,
        "random_state": 0,
        "progress": False,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of collapse, after so few steps
        model = make(**{**settings, **case.parameters}).fit(X, y, **fit)
    return {"weights": weights_of(model), "losses": [r["loss"] for r in model.history_]}


def weights_of(model: Any) -> dict[str, np.ndarray]:
    """Return the weights and buffers of all trained networks of a fitted estimator by name."""
    found: dict[str, np.ndarray] = {}
    for attribute, value in vars(model).items():
        modules = value if isinstance(value, list) else [value]
        for k, module in enumerate(modules):
            if isinstance(module, torch.nn.Module) and attribute != "projectors_":
                for key, tensor in module.state_dict().items():
                    found[f"{attribute} {k} {key}"] = tensor.detach().numpy().copy()
    return found


def difference(first: dict[str, Any], second: dict[str, Any]) -> tuple[float, float]:
    """Return the largest difference of the weights, and of the losses relative to their size.

    Examples
    --------
    >>> one = {"weights": {"a": np.ones(2)}, "losses": [2.0]}
    >>> difference(one, {"weights": {"a": np.array([1.0, 1.5])}, "losses": [2.2]})
    (0.5, 0.1)
    """
    assert first["weights"].keys() == second["weights"].keys()
    weights = max(
        float(np.abs(value.astype(np.float64) - second["weights"][key]).max())
        for key, value in first["weights"].items()
    )
    losses = max(
        abs(a - b) / max(abs(a), 1e-12)
        for a, b in zip(first["losses"], second["losses"], strict=True)
    )
    return weights, round(losses, 9)


def largest_move(start: dict[str, Any], end: dict[str, Any]) -> float:
    """Return by how much training has moved the weights, with which differences are compared."""
    parts = [
        {"weights": {k: v for k, v in fit["weights"].items() if v.dtype.kind == "f"}, "losses": [0]}
        for fit in (start, end)
    ]
    return difference(*parts)[0]


def in_group(size: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call a function in new processes that are one group, and return their results.

    Parameters
    ----------
    size : int
        Number of processes.
    function : callable
        A function of a module.
    *arguments : object
        Its arguments.

    Returns
    -------
    list
        One result per process.
    """
    import torch.multiprocessing as processes

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = processes.get_context("spawn")
    queue = context.SimpleQueue()
    started = [
        context.Process(target=_in_process, args=(rank, size, port, queue, function, arguments))
        for rank in range(size)
    ]
    for process in started:
        process.start()
    answers = dict(queue.get() for _ in started)
    for process in started:
        process.join()
    for rank in range(size):
        if isinstance(answers[rank], str):
            raise RuntimeError(f"process {rank}: {answers[rank]}")
    return [answers[rank] for rank in range(size)]


def _in_process(
    rank: int, size: int, port: int, queue: Any, function: Callable[..., Any], arguments: Any
) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    if size > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    try:
        answer = function(*arguments)
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    queue.put((rank, answer))
    if size > 1:
        torch.distributed.destroy_process_group()


def _fit_all(size: int, settings: dict[str, int]) -> dict[str, Any]:
    return {name: fit_case(name, size, **settings) for name in CASES}


def compare_methods(sizes: tuple[int, ...], settings: dict[str, int]) -> list[dict[str, Any]]:
    """Train every case on one process and on several, and compare.

    Parameters
    ----------
    sizes : tuple of int
        Numbers of processes.
    settings : dict of str to int
        rows, batch and steps.

    Returns
    -------
    list of dict
    """
    (start,) = in_group(1, _fit_all, 1, {**settings, "steps": 1})
    (alone,) = in_group(1, _fit_all, 1, settings)
    together = {size: in_group(size, _fit_all, size, settings) for size in sizes}
    found = []
    for name in CASES:
        for size in sizes:
            results = [result[name] for result in together[size]]
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


def stop_after(checkpoints: int) -> None:
    """Let the first process fail after it has written so many checkpoints."""
    from aleator.training.checkpoint import CheckpointFolder

    write = CheckpointFolder.write
    left = checkpoints

    def write_or_fail(self: CheckpointFolder, *arguments: Any) -> None:
        nonlocal left
        write(self, *arguments)
        left -= 1
        if left == 0:
            CheckpointFolder.write = write  # type: ignore[method-assign]
            raise RuntimeError("stopped")

    CheckpointFolder.write = write_or_fail  # type: ignore[method-assign, assignment]


def fit_and_stop(name: str, processes: int, settings: dict[str, int], folder: Path) -> str:
    """Fit a case, but stop it in the middle; return the message of the error."""
    stop_after(3)
    try:
        fit_case(name, processes, **settings, checkpoint=folder, checkpoint_every=5)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("the fit was not stopped")


def _stop_all(size: int, settings: dict[str, int], folder: Path) -> dict[str, str]:
    return {name: fit_and_stop(name, size, settings, folder / name) for name in _RESUMED}


def _resume_all(size: int, settings: dict[str, int], folder: Path) -> dict[str, Any]:
    return {name: fit_case(name, size, **settings, checkpoint=folder / name) for name in _RESUMED}


def compare_resumed(settings: dict[str, int]) -> list[dict[str, Any]]:
    """Stop runs, continue them on another number of processes, and compare with whole runs."""
    (alone,) = in_group(1, _fit_all, 1, settings)
    found = []
    for before, after in _CHANGES:
        with tempfile.TemporaryDirectory() as place:
            in_group(before, _stop_all, before, settings, Path(place))
            resumed = in_group(after, _resume_all, after, settings, Path(place))[0]
        for name in _RESUMED:
            weights, losses = difference(alone[name], resumed[name])
            found.append(
                {"case": name, "from": before, "to": after, "difference_of_weights": weights,
                 "difference_of_losses": losses}
            )  # fmt: skip
            print(json.dumps(found[-1]), flush=True)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.ranks",
        description="Compare training on several processes with training on one, and kill some.",
    )
    parser.add_argument("--kills", type=int, default=10, help="default: 10")
    parser.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    parser.add_argument("--results", type=Path, help=f"write into this file, such as {RESULTS}")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.fit:
        fit_for_kills(options.fit, options.folder)
        return 0
    from aleator.benchmark.provenance import stamp

    settings = {"rows": 600, "batch": 128, "steps": 20}
    methods = compare_methods((2,), settings)
    methods += compare_methods((3,), {**settings, "batch": 126})
    resumed = compare_resumed({**settings, "batch": 126})
    kills = kill_processes(options.kills, options.seed)
    result = {
        "command": f"python -m aleator.benchmark.ranks --kills {options.kills} "
        f"--seed {options.seed}",
        **stamp("cpu"),
        "methods": methods,
        "resumed": resumed,
        "kills": kills[:-1],
        "difference_after_kills": kills[-1]["difference_of_weights"],
    }
    if options.results:
        there = json.loads(options.results.read_text()) if options.results.exists() else {}
        content = json.dumps({**there, "ranks": result}, indent=1) + "\n"
        write_file(options.results, content.encode())
    worst = max(record["difference_of_weights"] for record in methods)
    worst_resumed = max(record["difference_of_weights"] for record in resumed)
    slowest = max(record["others_ended_after"] for record in kills[:-1])
    print(f"methods {worst:.1e}, resumed {worst_resumed:.1e}, kills {slowest:.1f} s")
    good = worst <= 1e-5 and worst_resumed <= 1e-4 and slowest <= 30
    return 0 if good and all(record["named"] for record in kills[:-1]) else 1


if __name__ == "__main__":
    sys.exit(main())
