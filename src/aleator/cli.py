"""The command line: aleator bench NAME."""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

import aleator


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="aleator", description="Representations without labels and without augmentations."
    )
    parser.add_argument("--version", action="version", version=f"aleator {aleator.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_bench(commands.add_parser("bench", help="run a benchmark of the paper"))
    options = parser.parse_args(arguments)
    try:
        return _bench(options)
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130


def _add_bench(parser: argparse.ArgumentParser) -> None:
    from aleator.benchmark.recipes import METHODS

    parser.description = (
        "Run a benchmark and print its tables. Every finished run is a JSON line in --out and is "
        "never run again: an interrupted benchmark goes on where it stopped."
    )
    parser.add_argument("name", choices=["table1"], help="table1: every method on every data set")
    parser.add_argument(
        "--datasets", nargs="+", metavar="NAME", help="default: har epilepsy income theorem"
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", choices=list(METHODS),
        help=f"default: all that have a recipe. Known: {', '.join(METHODS)}",
    )  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED")
    parser.add_argument("--data", help="folder of the data sets (default: $ALEATOR_DATA)")
    parser.add_argument("--out", default="bench-results", help="folder of results and tables")
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default)")
    parser.add_argument("--jobs", type=int, default=1, help="cells that run at a time")
    parser.add_argument(
        "--epochs-scale", type=float, default=1.0, metavar="SHARE",
        help="share of each recipe's epochs, for a quick look",
    )  # fmt: skip


def _bench(options: argparse.Namespace) -> int:
    from aleator.benchmark import paper, recipes, runner
    from aleator.benchmark.cells import PAPER, STANDARDISED, Cell
    from aleator.benchmark.tables import AccuracyTable

    if options.epochs_scale <= 0:
        raise ValueError("--epochs-scale must be above zero")
    chosen = []
    for dataset in options.datasets or list(paper.ACCURACY):
        known = recipes.methods_for(dataset)
        if not known:
            recipes.read(dataset)  # says which data sets there are
        chosen += [
            recipes.read(dataset, method)
            for method in known
            if options.methods is None or method in options.methods
        ]
    cells = [
        Cell(recipe, seed, options.epochs_scale) for recipe, seed in product(chosen, options.seeds)
    ]
    out = Path(options.out)
    lines = runner.run(
        cells, out / f"{options.name}.jsonl",
        data=options.data, device=options.device, jobs=options.jobs,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )  # fmt: skip
    for protocol in (PAPER, STANDARDISED):
        table = AccuracyTable(lines, protocol)
        (out / f"{options.name}-{protocol}.md").write_text(table.markdown() + "\n", "utf-8")
        (out / f"{options.name}-{protocol}.tex").write_text(table.latex() + "\n", "utf-8")
        print(f"\n{options.name}, {protocol} protocol: accuracy in per cent (the paper's)\n")
        print(table.markdown())
    failed = [line for line in lines if "error" in line]
    if failed:
        print(f"\n{len(failed)} cells failed; the same command tries them again", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
