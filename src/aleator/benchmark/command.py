"""`aleator bench NAME …`: run studies and show them."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from aleator.benchmark import runner
from aleator.benchmark.datasets import SOURCES, data_folder
from aleator.benchmark.protocols import TIMED
from aleator.benchmark.recipes import METHODS
from aleator.benchmark.studies import STUDIES, Study

_PICTURE = "neighbours"
_RUNS = "runs.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `aleator bench`."""
    parser.description = (
        "Run benchmarks of the paper, print their tables and write them, with figures, to --out. "
        "Every finished run is a JSON line in OUT/runs.jsonl and is never run again: an "
        "interrupted benchmark goes on where it stopped, and benchmarks share what they can."
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "benchmarks:\n" + "\n".join(
        [f"  {study.name:<17}{study.title}" for study in STUDIES.values()]
        + [f"  {_PICTURE:<17}Images that random projectors find alike", f"  {'all':<17}all of them"]
    )
    names = [*STUDIES, _PICTURE, "all"]
    parser.add_argument("names", nargs="+", choices=names, metavar="NAME", help="see below")
    parser.add_argument(
        "--datasets", nargs="+", metavar="NAME",
        help="default: those of the benchmark whose files are in the data folder",
    )  # fmt: skip
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", choices=list(METHODS),
        help=f"default: those of the benchmark. Known: {', '.join(METHODS)}",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", nargs="+", type=int, metavar="SEED",
        help="default, as in the paper: 0 to 4 for tables, 0 to 2 for others",
    )  # fmt: skip
    parser.add_argument("--data", help="folder of the data sets (default: $ALEATOR_DATA)")
    parser.add_argument("--out", default="bench-results", help="folder of results (bench-results)")
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default)")
    parser.add_argument("--jobs", type=int, help="runs at a time (default: 1, or as joblib is set)")
    parser.add_argument(
        "--epochs-scale", type=float, default=1.0, metavar="SHARE",
        help="share of each recipe's epochs, for a quick look; every output says so",
    )  # fmt: skip
    parser.add_argument(
        "--small", action="store_true",
        help="generated data of a few rows instead of files, to try the program",
    )  # fmt: skip
    parser.add_argument(
        "--tables-only", action="store_true", help="run nothing: tables of what is there"
    )


def run(options: argparse.Namespace) -> int:
    """Run what was asked for; the exit status says whether all of it worked."""
    if options.epochs_scale <= 0:
        raise ValueError("--epochs-scale must be above zero")
    names = [*STUDIES, _PICTURE] if "all" in options.names else options.names
    studies = [STUDIES[name] for name in dict.fromkeys(names) if name != _PICTURE]
    out = Path(options.out)
    if options.tables_only:
        known = runner.read_lines(out / _RUNS)
        _show({study.name: studies_lines(study, known) for study in studies}, out)
        if _PICTURE in names:
            from aleator.benchmark import neighbours

            print(neighbours.table(known, out))
        return 0
    if options.epochs_scale != 1:
        _say(f"a quick look: {100 * options.epochs_scale:g} % of the recipes' epochs")
    cells = {study.name: _cells(study, options) for study in studies}
    failed: list[runner.Line] = []
    # Times are taken alone, one run after the other, once all else is done.
    alone = [s for s in studies if TIMED in s.protocols]
    for some, jobs in (([s for s in studies if s not in alone], options.jobs), (alone, 1)):
        if todo := [cell for study in some for cell in cells[study.name]]:
            failed += runner.run(
                todo, out / _RUNS, data=options.data, device=options.device, jobs=jobs, say=_say
            )
    known = runner.read_lines(out / _RUNS)
    _show({name: runner.lines_of(own, known) for name, own in cells.items()}, out)
    if _PICTURE in names:
        print(f"\n{_look(options, out)}")
    if failed:
        _say(f"\n{len(failed)} results are missing; the same command tries them again:")
        reasons = Counter((line["dataset"], line["error"]) for line in failed)
        for (dataset, reason), count in reasons.items():
            _say(f"  {dataset} ({count}): {reason}")
    return 1 if failed else 0


def _show(lines: dict[str, list[runner.Line]], out: Path) -> None:
    from aleator.benchmark import presentation

    for name, own in lines.items():
        if own:
            text = presentation.write(STUDIES[name], own, out / "tables", out / "figures")
            print(f"\n{STUDIES[name].title} ({name})\n\n{text}")
        else:
            _say(f"{name}: there are no results")


def studies_lines(study: Study, known: list[runner.Line]) -> list[runner.Line]:
    """A study's lines among all that there are; on each data set, the fullest look at it.

    >>> studies_lines(STUDIES["loss"], [])
    []
    """
    done = [line for line in known if "error" not in line]
    seeds = sorted({line["seed"] for line in done})
    chosen: list[runner.Line] = []
    for dataset in study.datasets:
        looks = {(x["epochs_scale"], x["small"]) for x in done if x["dataset"] == dataset}
        found = [
            runner.lines_of(study.cells([dataset], None, seeds, *look), done)
            for look in sorted(looks, reverse=True)
        ]
        fullest: list[runner.Line] = max(found, key=len, default=[])
        # One variant alone is a run of another study, which this one shares.
        if not study.vary or len({line["variant"] for line in fullest}) > 1:
            chosen += fullest
    return chosen


def _cells(study: Study, options: argparse.Namespace) -> list[runner.Cell]:
    return study.cells(
        _datasets(study.datasets, options), options.methods, options.seeds, options.epochs_scale,
        options.small,
    )  # fmt: skip


def _datasets(usual: tuple[str, ...], options: argparse.Namespace) -> list[str]:
    """What was asked for, else what is there of a study's own data sets."""
    if options.datasets:
        return list(options.datasets)
    if options.small:
        return list(usual)
    try:
        folder = data_folder(options.data)
    except ValueError as error:
        raise ValueError(f"{error}, or try the program on generated data: --small") from None
    found = []
    for name in usual:
        try:
            SOURCES[name].paths(folder)
            found.append(name)
        except FileNotFoundError:
            _say(f"{name} is left out: its files are not in {folder}")
    return found


def _look(options: argparse.Namespace, out: Path) -> str:
    from aleator.benchmark import neighbours

    return neighbours.run(
        _datasets(("cifar10",), options), out, out / _RUNS,
        data=options.data, small=options.small, seeds=options.seeds or [0], device=options.device,
    )  # fmt: skip


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
