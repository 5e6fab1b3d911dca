"""How good is a recipe?  python -m aleator.benchmark.accuracy income --methods lfr --data FOLDER

Trains with the recipe, probes as the paper does, and prints one JSON line a run (also appended to
`--out`). The last epoch counts; the test part is looked at once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import product
from typing import Any

import aleator
from aleator.benchmark import datasets, recipes
from aleator.benchmark.cells import judged
from aleator.benchmark.datasets import Split
from aleator.benchmark.provenance import commit, device_name
from aleator.benchmark.recipes import Recipe


def run(recipe: Recipe, split: Split, seed: int, device: str) -> dict[str, Any]:
    """Train and probe once."""
    began = time.perf_counter()
    estimator = recipe.estimator(device, seed).fit(split.X_train, split.y_train)
    fitted = time.perf_counter() - began
    began = time.perf_counter()
    metrics = judged(recipe, estimator, split, device, seed, standardised=False)
    probing = time.perf_counter() - began
    kind = recipe.probe["kind"]
    protocol = "its own classifier" if kind == "own" else f"{kind} classifier on frozen embeddings"
    last: dict[str, Any] = next(
        (r for r in reversed(estimator.history_) if "effective_rank" in r), {}
    )
    return {
        "dataset": recipe.dataset,
        "method": recipe.method,
        "seed": seed,
        "protocol": f"paper: {protocol}, last epoch",
        "config_hash": recipe.config_hash,
        "version": aleator.__version__,
        "commit": commit(),
        "device": device_name(device),
        "metrics": {"accuracy": round(metrics["accuracy"], 5)},
        "embedding_std": last.get("embedding_std"),
        "effective_rank": last.get("effective_rank"),
        "seconds": round(fitted, 3),
        "probe_seconds": round(probing, 3),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.accuracy",
        description="Train a recipe, probe it as the paper does, print one JSON line a run.",
    )
    parser.add_argument(
        "datasets", nargs="+", metavar="DATASET", help="income, theorem, har, epilepsy"
    )
    parser.add_argument(
        "--methods", nargs="+", default=["lfr"], metavar="METHOD",
        help=f"{', '.join(recipes.METHODS)} (default: lfr), or all that have a recipe: all",
    )  # fmt: skip
    parser.add_argument("--data", help="folder of the data sets (default: $ALEATOR_DATA)")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED")
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default)")
    parser.add_argument("--out", help="append the lines to this file")
    options = parser.parse_args(arguments)
    try:
        for name in options.datasets:
            every = options.methods == ["all"]
            chosen = [
                recipes.read(name, method)
                for method in (recipes.methods_for(name) if every else options.methods)
            ]
            split = datasets.load(name, options.data)
            for recipe, seed in product(chosen, options.seeds):
                line = json.dumps(run(recipe, split, seed, options.device))
                print(line, flush=True)
                if options.out:
                    with open(options.out, "a", encoding="utf-8") as file:
                        file.write(line + "\n")
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
