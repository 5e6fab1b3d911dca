"""Measure the training time of a recipe.

For example ``python -m aleator.benchmark.speed income --method lfr --device cuda`` prints one JSON
line. `seconds_total` is the time of the first fit in the process: drawing and selecting projectors,
moving data, capturing graphs and training. `seconds_per_encoder_pass` is the part of an
epoch that trains the encoder: all of it, except for LFR, which trains its predictors in separate
passes. ``--reference`` times Algorithm 1 of the LFR paper as a plain PyTorch loop instead.

The recipes ``default-har`` and so on time `LFR` with its defaults; ``default-small`` fits 40 series
of 100 steps. For these, and for ``--method random-features``, `seconds_transform` is the time that
it takes to embed the training set and the test set after that.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import time
from typing import Any

import numpy as np

from aleator.benchmark import datasets, recipes
from aleator.benchmark.method_names import METHODS
from aleator.benchmark.timing import by_epoch, steady

_DEFAULT = "default-"
_SMALL = f"{_DEFAULT}small"
RECIPES = (
    "income", "theorem", "har", "epilepsy", "kvasir",
    "default-har", "default-income", "default-kvasir-v1", "default-cifar10", _SMALL,
)  # fmt: skip


def measure(
    name: str,
    device: str,
    *,
    method: str = "lfr",
    epochs: int | None = None,
    reference: bool = False,
    data: str | None = None,
) -> dict[str, Any]:
    """Time one fit of a recipe.

    Parameters
    ----------
    name : str
        Data set of the recipe.
    device : str
        Device for training.
    method : str, default="lfr"
        Method of the recipe.
    epochs : int or None, default=None
        Number of epochs; None uses the recipe's.
    reference : bool, default=False
        Time the plain PyTorch loop of `aleator.benchmark.reference` instead.
    data : str or None, default=None
        Folder of the data sets; None uses random data of the same shape.

    Returns
    -------
    line : dict
        The line to print.

    Examples
    --------
    >>> line = measure("theorem", "cpu", epochs=1)
    >>> line["epochs"], line["reference"], line["seconds_total"] > 0
    (1, False, True)
    """
    import torch

    from aleator.training.devices import resolve_device

    if name.startswith(_DEFAULT):
        method = "lfr-default"
    if reference and method != "lfr":
        raise ValueError(f"a reference program exists for method 'lfr' only, not for {method!r}")
    dataset = "har" if name == _SMALL else name.removeprefix(_DEFAULT)
    recipe = recipes.read(dataset, method)
    if name == _SMALL:
        split = datasets.Split(*_small_series())
    else:
        split = datasets.load(dataset, data) if data else datasets.generated(dataset)
    estimator = recipe.estimator(device, seed=0)
    if epochs is not None:
        estimator.set_params(epochs=epochs)
    resolved = resolve_device(device)
    start = time.perf_counter()
    if reference:
        from aleator.benchmark.reference import train_literally

        encoder_seconds, seconds = [], train_literally(estimator, split.X_train, resolved).seconds
    else:
        estimator.fit(split.X_train, split.y_train)
        history = getattr(estimator, "history_", [])
        untrained = method == "random-features"
        seconds = [] if untrained else by_epoch(history)
        trains_encoder = [record for record in history if "effective_rank" in record]
        encoder_seconds = [] if untrained else by_epoch(trains_encoder)
    total = time.perf_counter() - start
    embedding_seconds = None
    if method in ("lfr-default", "random-features"):
        start = time.perf_counter()
        estimator.transform(split.X_train)
        estimator.transform(split.X_test)
        embedding_seconds = round(time.perf_counter() - start, 3)
    if resolved.type == "cuda":
        peak, machine = torch.cuda.max_memory_allocated(), torch.cuda.get_device_name()
    else:
        peak, machine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, _processor()
    return {
        "recipe": name,
        "method": recipe.method,
        "device": resolved.type,
        "reference": reference,
        "epochs": len(seconds) if epochs is None else epochs,
        "seconds_total": round(total, 3),
        "seconds_per_epoch": steady(seconds) if seconds else None,
        "seconds_per_encoder_pass": steady(encoder_seconds) if encoder_seconds else None,
        "seconds_transform": embedding_seconds,
        "peak_memory_bytes": int(peak),
        "machine": machine,
        "threads": torch.get_num_threads(),
        "data": "real" if data else "generated",
        "precision": "32" if reference else _precision(estimator),
        "config_hash": recipe.config_hash,
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }


def _precision(estimator: Any) -> str:
    plan = getattr(estimator, "plan_", None)
    return "32" if plan is None else plan.precision


def _small_series() -> list[np.ndarray]:
    """Series and labels of a small training set and test set."""
    X = np.random.default_rng(0).normal(size=(80, 1, 100)).astype(np.float32).cumsum(-1)
    y = np.arange(80) % 2
    return [X[:40], y[:40], X[40:], y[40:]]


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Command-line arguments; None uses those of the process.

    Returns
    -------
    status : int
        Exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.speed",
        description="Time one fit of a recipe of the LFR paper, or of LFR with its defaults "
        "(default-...), and print one JSON line.",
    )
    parser.add_argument("recipe", choices=RECIPES, help="data set of the recipe")
    parser.add_argument(
        "--method", default="lfr", choices=list(METHODS), help="method (default: lfr)"
    )
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default: auto)")
    parser.add_argument("--epochs", type=int, help="number of epochs (default: the recipe's)")
    parser.add_argument(
        "--reference", action="store_true",
        help="time Algorithm 1 of the LFR paper as a plain PyTorch loop instead",
    )  # fmt: skip
    parser.add_argument(
        "--data", metavar="FOLDER",
        help="folder of the data sets (default: random data of the same shape)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    if options.epochs is not None and options.epochs < 1:
        parser.error("--epochs must be at least 1")
    try:
        line = measure(
            options.recipe,
            options.device,
            method=options.method,
            epochs=options.epochs,
            reference=options.reference,
            data=options.data,
        )
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
