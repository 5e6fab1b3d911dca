"""Run from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from aleator.atomic_io import write_file
from aleator.benchmark.datasets import data_folder
from aleator.benchmark.real_data.catalog import REAL_DATASETS
from aleator.benchmark.real_data.measuring import measure, models_of


def main(arguments: list[str] | None = None) -> int:
    """Measure the models on the chosen data sets; print and optionally keep a line per run."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.real_data",
        description="Fit models on public data as they are published, and evaluate them with 5 % "
        "of the labels and with all.",
    )
    parser.add_argument("datasets", nargs="+", choices=[*REAL_DATASETS, "all"], metavar="DATASET",
                        help=f"what to measure on: {', '.join(REAL_DATASETS)}, or all")  # fmt: skip
    parser.add_argument("--data", help="folder of the data sets; default: ALEATOR_DATA")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="default: all")
    parser.add_argument(
        "--seeds", nargs="+", type=int, metavar="SEED", help="default: 0 to 2; of MUTAG 0 to 29"
    )
    parser.add_argument("--out", type=Path, help="file to which lines are added")
    options = parser.parse_args(arguments)
    folder = data_folder(options.data)
    names = list(REAL_DATASETS) if "all" in options.datasets else options.datasets
    for name in names:
        dataset = REAL_DATASETS[name]
        for seed in options.seeds or dataset.seeds:
            folds = dataset.read(folder, seed)
            for model in options.models or models_of(folds[0]):
                line = {"dataset": name, **measure(model, folds, seed)}
                print(json.dumps(line), flush=True)
                if options.out is not None:
                    add_line(options.out, line)
    return 0


def add_line(path: Path, line: dict[str, object]) -> None:
    """Add a line to a file, in place of an earlier one of the same data set, model and seed."""
    key = ("dataset", "model", "seed")
    kept = [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []
    kept = [other for other in kept if any(other[name] != line[name] for name in key)]
    kept = sorted([*kept, line], key=lambda other: [str(other[name]) for name in key])
    write_file(path, "".join(json.dumps(other) + "\n" for other in kept).encode())


if __name__ == "__main__":
    sys.exit(main())
