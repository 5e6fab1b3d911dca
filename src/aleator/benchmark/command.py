"""The command `aleator bench`: run studies, print and write their tables and figures."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from aleator.benchmark import runner
from aleator.benchmark.datasets import DATASETS, data_folder
from aleator.benchmark.method_names import METHODS
from aleator.benchmark.protocols import TIMED
from aleator.benchmark.research_studies import RESEARCH_STUDIES
from aleator.benchmark.studies import STUDIES
from aleator.benchmark.study import Study

_NEIGHBORS = "neighbors"
_RUNS_FILE = "runs.jsonl"
# Names that stand for several benchmarks.
_GROUPS = {
    "research": [study.name for study in RESEARCH_STUDIES],
    "all": [*STUDIES, _NEIGHBORS],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `aleator bench`.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser to extend.
    """
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Run benchmarks of the LFR paper, print their tables, and write tables and figures to the\n"
        "output folder. Every finished run is stored as a line of OUT/runs.jsonl and is not\n"
        "repeated: an interrupted benchmark continues where it stopped, and benchmarks share runs."
    )
    titles = {study.name: study.title for study in STUDIES.values()}
    titles[_NEIGHBORS] = "Nearest neighbors under pairs of random projectors"
    titles["research"] = "All whose name begins with research; they do not use test sets"
    titles["all"] = "All of the above"
    width = 2 + max(map(len, titles))
    parser.epilog = "benchmarks:\n" + "\n".join(
        f"  {name:<{width}}{title}" for name, title in titles.items()
    )
    parser.add_argument(
        "names", nargs="+", choices=list(titles), metavar="NAME",
        help="one or more of the benchmarks listed below",
    )  # fmt: skip
    parser.add_argument(
        "--datasets", nargs="+", metavar="NAME",
        help="data sets to use (default: those of the benchmark that are in the data folder)",
    )  # fmt: skip
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", choices=list(METHODS),
        help=f"methods to run, out of {', '.join(METHODS)} (default: those of the benchmark)",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", nargs="+", type=int, metavar="SEED",
        help="random seeds (default: 0 to 4 for tabular data, as in the paper, and 0 to 2 for "
        "other data and for research)",
    )  # fmt: skip
    parser.add_argument(
        "--data", metavar="FOLDER", help="folder of the data sets (default: $ALEATOR_DATA)"
    )
    parser.add_argument(
        "--out", default="bench-results", metavar="FOLDER",
        help="output folder (default: bench-results)",
    )  # fmt: skip
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default: auto)")
    parser.add_argument(
        "--jobs", type=int, metavar="N",
        help="number of runs in parallel (default: 1, or as configured in joblib)",
    )  # fmt: skip
    parser.add_argument(
        "--checkpoint-every", metavar="TIME",
        help='write checkpoints to OUT/checkpoints, for example every "5 min", so that a training '
        "that is interrupted continues where it stopped (default: only whole runs are kept)",
    )  # fmt: skip
    parser.add_argument(
        "--epochs-scale", type=float, default=1.0, metavar="FRACTION",
        help="train for this fraction of the epochs of each recipe, for a quick test; tables and "
        "figures are marked accordingly (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--small", action="store_true",
        help="use small synthetic data sets instead of files, to test the program",
    )  # fmt: skip
    parser.add_argument(
        "--tables-only", action="store_true",
        help="run nothing; make tables and figures from the stored results",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run `aleator bench` with parsed options.

    Parameters
    ----------
    options : argparse.Namespace
        Options of the parser extended by `add_arguments`.

    Returns
    -------
    status : int
        0, or 1 if a run failed.
    """
    if options.epochs_scale <= 0:
        raise ValueError(f"--epochs-scale must be greater than 0, got {options.epochs_scale:g}")
    if options.checkpoint_every is not None:
        from aleator.training.checkpoint import Interval

        Interval.parse(options.checkpoint_every)  # an error now, not one per run
    names = [name for given in options.names for name in _GROUPS.get(given, [given])]
    studies = [STUDIES[name] for name in dict.fromkeys(names) if name != _NEIGHBORS]
    out = Path(options.out)
    if options.tables_only:
        stored = runner.read_lines(out / _RUNS_FILE)
        _show({study.name: lines_of_study(study, stored) for study in studies}, out)
        if _NEIGHBORS in names:
            from aleator.benchmark import nearest_neighbors_figure

            print(nearest_neighbors_figure.write_table(stored, out))
        return 0
    if options.epochs_scale != 1:
        _log(f"shortened runs: {100 * options.epochs_scale:g} % of the recipes' epochs")
    cells = {study.name: _cells(study, options) for study in studies}
    failed: list[runner.Line] = []
    # Timed runs come last, one at a time, so that nothing else competes for the machine.
    timed = [study for study in studies if TIMED in study.protocols]
    untimed = [study for study in studies if study not in timed]
    for group, jobs in ((untimed, options.jobs), (timed, 1)):
        if todo := [cell for study in group for cell in cells[study.name]]:
            failed += runner.run(
                todo, out / _RUNS_FILE,
                data=options.data, device=options.device, jobs=jobs,
                checkpoint_every=options.checkpoint_every, log=_log,
            )  # fmt: skip
    stored = runner.read_lines(out / _RUNS_FILE)
    _show({name: runner.lines_of(wanted, stored) for name, wanted in cells.items()}, out)
    if _NEIGHBORS in names:
        print(f"\n{_run_neighbors(options, out)}")
    if failed:
        _log(f"\n{len(failed)} results are missing; run the same command to try again:")
        reasons = Counter((line["dataset"], line["error"]) for line in failed)
        for (dataset, reason), count in reasons.items():
            _log(f"  {dataset} ({count}): {reason}")
    return 1 if failed else 0


def _show(lines_by_study: dict[str, list[runner.Line]], out: Path) -> None:
    from aleator.benchmark import presentation

    for name, lines in lines_by_study.items():
        if lines:
            text = presentation.write(STUDIES[name], lines, out / "tables", out / "figures")
            print(f"\n{STUDIES[name].title} ({name})\n\n{text}")
        else:
            _log(f"{name}: no results")


def lines_of_study(study: Study, stored: list[runner.Line]) -> list[runner.Line]:
    """Return the lines of a study among stored results.

    If runs were shortened, an ablation uses the fraction of epochs with the most variants on a data
    set, so that they are comparable. Other studies use the largest one of each method.

    Parameters
    ----------
    study : Study
        The study.
    stored : list of dict
        Result lines of any studies.

    Returns
    -------
    lines : list of dict
        The lines of the study.

    Examples
    --------
    >>> lines_of_study(STUDIES["loss"], [])
    []
    """
    done = [line for line in stored if "error" not in line]
    seeds = sorted({line["seed"] for line in done})
    lines: list[runner.Line] = []
    for dataset in study.datasets:
        scales = {(x["epochs_scale"], x["small"]) for x in done if x["dataset"] == dataset}
        candidates = [
            runner.lines_of(study.cells([dataset], None, seeds, *scale), done)
            for scale in sorted(scales, reverse=True)
        ]
        if not study.vary:
            lines += _largest_scale_of_each_method(candidates)
            continue
        longest: list[runner.Line] = max(candidates, key=_n_variants, default=[])
        # A single variant is a run of another study that happens to have the same settings.
        if _n_variants(longest)[0] > 1:
            lines += longest
    return lines


def _n_variants(lines: list[runner.Line]) -> tuple[int, int]:
    """Return the number of variants and, to decide between equals, that of all lines."""
    return len({line["variant"] for line in lines}), len(lines)


def _largest_scale_of_each_method(candidates: list[list[runner.Line]]) -> list[runner.Line]:
    """Lines of the first of several lists that has the method, for each method."""
    chosen: dict[str, list[runner.Line]] = {}
    for lines in candidates:
        for method in {line["method"] for line in lines} - set(chosen):
            chosen[method] = [line for line in lines if line["method"] == method]
    return [line for method in sorted(chosen) for line in chosen[method]]


def _cells(study: Study, options: argparse.Namespace) -> list[runner.Cell]:
    return study.cells(
        _datasets(study.datasets, options), options.methods, options.seeds, options.epochs_scale,
        options.small,
    )  # fmt: skip


def _datasets(default: tuple[str, ...], options: argparse.Namespace) -> list[str]:
    """Return the data sets of the user, or those of the study whose files exist."""
    if options.datasets:
        return list(options.datasets)
    if options.small:
        return list(default)
    try:
        folder = data_folder(options.data)
    except ValueError as error:
        raise ValueError(f"{error}; --small uses synthetic data instead") from None
    available = []
    for name in default:
        try:
            DATASETS[name].paths(folder)
            available.append(name)
        except FileNotFoundError:
            _log(f"{name} is skipped: its files are not in {folder}")
    return available


def _run_neighbors(options: argparse.Namespace, out: Path) -> str:
    from aleator.benchmark import nearest_neighbors_figure

    return nearest_neighbors_figure.run(
        _datasets(("cifar10",), options), out, out / _RUNS_FILE,
        data=options.data, small=options.small, seeds=options.seeds or [0], device=options.device,
    )  # fmt: skip


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
