"""How long does a recipe take?  python -m aleator.benchmark.speed income --method lfr --device cuda

Prints one JSON line. `seconds_total` is a cold fit: drawing and selecting projectors, moving data,
capturing graphs, training. `seconds_per_encoder_pass` is what an epoch spends on training the
encoder: all of it, but for LFR, whose heads have passes of their own. `--reference` times LFR's
Algorithm 1 written out literally instead.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import time
from typing import Any

from aleator.benchmark import datasets, recipes
from aleator.benchmark.timing import by_epoch, steady

RECIPES = ("income", "theorem", "har", "epilepsy", "kvasir")


def measure(
    name: str,
    device: str,
    *,
    method: str = "lfr",
    epochs: int | None = None,
    reference: bool = False,
    data: str | None = None,
) -> dict[str, Any]:
    """Time one cold fit of a recipe.

    >>> line = measure("theorem", "cpu", epochs=1)
    >>> line["epochs"], line["reference"], line["seconds_total"] > 0
    (1, False, True)
    """
    import torch

    from aleator.training.devices import resolve_device

    recipe = recipes.read(name, method)
    if reference and method != "lfr":
        raise ValueError("only LFR has a literal reference to be timed")
    split = datasets.load(name, data) if data else datasets.generated(name)
    estimator = recipe.estimator(device, seed=0)
    if epochs is not None:
        estimator.set_params(epochs=epochs)
    place = resolve_device(device)
    began = time.perf_counter()
    if reference:
        from aleator.benchmark.reference import train_literally

        encoder_seconds = seconds = train_literally(estimator, split.X_train, place).seconds
    else:
        estimator.fit(split.X_train, split.y_train)
        seconds = by_epoch(estimator.history_)
        encoder_seconds = by_epoch([r for r in estimator.history_ if "effective_rank" in r])
    total = time.perf_counter() - began
    if place.type == "cuda":
        peak, machine = torch.cuda.max_memory_allocated(), torch.cuda.get_device_name()
    else:
        peak, machine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, _processor()
    return {
        "recipe": name,
        "method": recipe.method,
        "device": place.type,
        "reference": reference,
        "epochs": estimator.epochs,
        "seconds_total": round(total, 3),
        "seconds_per_epoch": steady(seconds),
        "seconds_per_encoder_pass": None if reference else steady(encoder_seconds),
        "peak_memory_bytes": int(peak),
        "machine": machine,
        "threads": torch.get_num_threads(),
        "data": "real" if data else "generated",
        "precision": "32" if reference else estimator.plan_.precision,
        "config_hash": recipe.config_hash,
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.speed",
        description="Time a cold fit of one of the paper's recipes and print one JSON line.",
    )
    parser.add_argument("recipe", choices=RECIPES, help="which recipe to time")
    parser.add_argument(
        "--method", default="lfr", choices=list(recipes.METHODS), help="default: lfr"
    )
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default)")
    parser.add_argument("--epochs", type=int, help="fewer epochs than the recipe's")
    parser.add_argument(
        "--reference", action="store_true", help="time LFR's Algorithm 1 written out instead"
    )
    parser.add_argument("--data", help="folder of real data; without it, data are generated")
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
