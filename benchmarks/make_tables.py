"""Make every committed table and figure from the committed lines.

python benchmarks/make_tables.py          print the README's tables
python benchmarks/make_tables.py --write  write them into README.md, and all else under results/
python benchmarks/make_tables.py --differences  print the cells that differ from the paper's
"""

import sys
from pathlib import Path

from aleator import cli
from aleator.benchmark import command, presentation, recipes, runner
from aleator.benchmark.studies import STUDIES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FIRST_SCREEN = ("har", "epilepsy", "income", "theorem", "kvasir-v1")

# Seconds of the authors' own program on one H200, full recipe.
AUTHORS_SECONDS = {"income": 600, "theorem": 61, "har": 1384, "epilepsy": 1710, "kvasir": 2400}


def lines(name):
    return runner.read_lines(RESULTS / name)


def first_table():
    """Every method under both protocols, the paper's figure in brackets."""
    known = [x for x in lines("runs.jsonl") if x["dataset"] in FIRST_SCREEN]
    study = STUDIES["table1"]
    ((_, table),) = presentation.tables_of(study, command.studies_lines(study, known))
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
        name = presentation.SHORT[recipe]
        out.append(f"| {name} | {theirs} s | {seconds:.1f} s | {theirs / seconds:.0f} |")
    return "\n".join(out)


def cpu_table():
    out = [
        "| two CPU cores | Algorithm 1 written out | ours | times faster |",
        "| --- | --- | --- | --- |",
    ]
    for recipe in ("income", "har"):
        literal, engine = (
            next(
                r["seconds_per_epoch"]
                for r in lines("speed.jsonl")
                if r["recipe"] == recipe and r["device"] == "cpu" and r["reference"] is reference
            )
            for reference in (True, False)
        )
        name = presentation.SHORT[recipe]
        out.append(
            f"| {name} | {literal:.1f} s an epoch | {engine:.1f} s | {literal / engine:.1f} |"
        )
    return "\n".join(out)


def pass_table():
    """Seconds of an encoder pass on a GPU, and how many of LFR's that is."""
    rows = lines("passes.jsonl")
    names = [name for name in ("har", "income", "kvasir") if name in {r["recipe"] for r in rows}]
    seconds = {(r["recipe"], r["method"]): r["seconds_per_encoder_pass"] for r in rows}
    titles = " | ".join(presentation.SHORT[name] for name in names)
    out = [f"| | {titles} |", f"| --- |{' --- |' * len(names)}"]
    for method, estimator in recipes.METHODS.items():
        cells = []
        for name in names:
            own, lfr = seconds.get((name, method)), seconds.get((name, "lfr"))
            share = "" if method == "lfr" or not (own and lfr) else f" ({own / lfr:.1f})"
            cells.append(f"{1000 * own:.0f} ms{share}" if own else "–")
        if any(cell != "–" for cell in cells):
            out.append(f"| {estimator} | {' | '.join(cells)} |")
    return "\n".join(out)


def differences():
    """Cells more than two of the paper's deviations away from its figure, for benchmarks/README."""
    out = ["| data set, method | ours | paper |", "| --- | --- | --- |"]
    for study in ("table1", "finetune", "cifar10"):
        known = command.studies_lines(STUDIES[study], lines("runs.jsonl"))
        ((_, table),) = presentation.tables_of(STUDIES[study], known)
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
