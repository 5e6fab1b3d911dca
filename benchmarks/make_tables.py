"""Make all committed tables and figures from the committed result lines.

python benchmarks/make_tables.py                print the tables of README.md
python benchmarks/make_tables.py --write        write them to README.md, and the rest to results/
python benchmarks/make_tables.py --differences  print the results that differ from the paper's
"""

import sys
from pathlib import Path

from aleator import cli
from aleator.benchmark import command, presentation, recipes, result_lines, runner
from aleator.benchmark.studies import STUDIES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
README_DATASETS = ("har", "epilepsy", "income", "theorem", "kvasir-v1")

# Training time of the authors' program on one H200, full recipe.
AUTHORS_SECONDS = {"income": 600, "theorem": 61, "har": 1384, "epilepsy": 1710, "kvasir": 2400}


def lines(name):
    return runner.read_lines(RESULTS / name)


def first_table():
    """All methods under both protocols, with the paper's results in brackets."""
    stored = [x for x in lines("runs.jsonl") if x["dataset"] in README_DATASETS]
    study = STUDIES["table1"]
    ((_, table),) = presentation.tables_of(study, command.lines_of_study(study, stored))
    return table.markdown().split("\n\n")[0]


def speed_table():
    out = [
        "| recipe | authors' program | ours | times faster |",
        "| --- | --- | --- | --- |",
    ]
    for recipe, theirs in AUTHORS_SECONDS.items():
        seconds = next(
            r["seconds_total"]
            for r in lines("speed.jsonl")
            if (r["recipe"], r["method"], r["device"]) == (recipe, "lfr", "cuda")
            and not r["reference"]
        )
        name = result_lines.SHORT_NAMES[recipe]
        out.append(f"| {name} | {theirs} s | {seconds:.1f} s | {theirs / seconds:.0f} |")
    return "\n".join(out)


def cpu_table():
    out = [
        "| one epoch on two CPU cores | Algorithm 1 in plain PyTorch | ours | times faster |",
        "| --- | --- | --- | --- |",
    ]
    for recipe in ("income", "har"):
        reference, ours = (
            next(
                r["seconds_per_epoch"]
                for r in lines("speed.jsonl")
                if r["recipe"] == recipe and r["device"] == "cpu" and r["reference"] is is_reference
            )
            for is_reference in (True, False)
        )
        name = result_lines.SHORT_NAMES[recipe]
        out.append(f"| {name} | {reference:.1f} s | {ours:.1f} s | {reference / ours:.1f} |")
    return "\n".join(out)


def pass_table():
    """Time of an encoder pass on a GPU, and its ratio to that of LFR."""
    rows = lines("passes.jsonl")
    names = [name for name in ("har", "income", "kvasir") if name in {r["recipe"] for r in rows}]
    seconds = {(r["recipe"], r["method"]): r["seconds_per_encoder_pass"] for r in rows}
    titles = " | ".join(result_lines.SHORT_NAMES[name] for name in names)
    out = [f"| | {titles} |", f"| --- |{' --- |' * len(names)}"]
    for method, estimator in recipes.METHODS.items():
        cells = []
        for name in names:
            value, lfr = seconds.get((name, method)), seconds.get((name, "lfr"))
            ratio = "" if method == "lfr" or not (value and lfr) else f" ({value / lfr:.1f})"
            cells.append(f"{1000 * value:.0f} ms{ratio}" if value else "–")
        if any(cell != "–" for cell in cells):
            out.append(f"| {estimator} | {' | '.join(cells)} |")
    return "\n".join(out)


def differences():
    """Results more than two of the paper's standard deviations away from its mean."""
    out = ["| data set, method | ours | paper |", "| --- | --- | --- |"]
    for study in ("table1", "finetune", "cifar10"):
        stored = command.lines_of_study(STUDIES[study], lines("runs.jsonl"))
        ((_, table),) = presentation.tables_of(STUDIES[study], stored)
        for (row, column), (mean, deviation) in table.known.items():
            values = table.values[row, column]
            ours = sum(values) / len(values)
            if abs(ours - mean) > 2 * (deviation or 0) + 0.05:
                theirs = f"{mean}" if deviation is None else f"{mean} ± {deviation}"
                out.append(f"| {study}: {column}, {row} | {ours:.1f} | {theirs} |")
    return "\n".join(out)


SECTIONS = {"table1": first_table, "seconds": speed_table, "cpu": cpu_table, "passes": pass_table}


def main():
    if "--differences" in sys.argv[1:]:
        print(differences())
        return
    if "--write" not in sys.argv[1:]:
        print("\n\n".join(make() for make in SECTIONS.values()))
        return
    cli.main(["bench", "all", "--tables-only", "--out", str(RESULTS)])
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    for name, make in SECTIONS.items():
        begin, end = f"<!-- {name}: benchmarks/make_tables.py -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{make()}\n{end}{rest.split(end)[1]}"
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
