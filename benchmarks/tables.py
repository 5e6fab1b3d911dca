"""Make the README's tables from the committed results.

python benchmarks/tables.py          print them
python benchmarks/tables.py --write  put them between the markers in README.md
"""

import json
import sys
from pathlib import Path
from statistics import mean, stdev

from aleator.benchmark import paper, recipes

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- results: benchmarks/tables.py -->", "<!-- end of results -->"

# Seconds of the authors' own program on one H200, full recipe.
AUTHORS_SECONDS = {"income": 600, "theorem": 61, "har": 1384, "epilepsy": 1710, "kvasir": 2400}


def lines(name):
    path = ROOT / "benchmarks" / "results" / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spoken(center, deviation):
    return f"{center:.1f}" if deviation is None else f"{center:.1f} ± {deviation:.1f}"


def ours(rows, dataset, method):
    """Mean ± standard deviation over seeds, in per cent."""
    scores = [
        100 * row["metrics"]["accuracy"]
        for row in rows
        if (row["dataset"], row["method"]) == (dataset, method) and "metrics" in row
    ]
    return spoken(mean(scores), stdev(scores)) if scores else "–"


def speed_table():
    rows = lines("lfr.jsonl")
    out = [
        "| recipe | accuracy, paper | accuracy, ours | authors' program | ours | times faster |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for recipe, theirs in AUTHORS_SECONDS.items():
        seconds = next(
            r["seconds_total"]
            for r in lines("speed.jsonl")
            if (r["recipe"], r["method"], r["device"]) == (recipe, "lfr", "cuda")
            and not r["reference"]
        )
        known = paper.ACCURACY.get(recipe)
        cells = [
            recipe,
            spoken(*known["lfr"]) if known else "–",
            ours(rows, recipe, "lfr"),
            f"{theirs} s",
            f"{seconds:.1f} s",
            f"{theirs / seconds:.0f}",
        ]
        out.append(f"| {' | '.join(cells)} |")
    return out


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
        out.append(
            f"| {recipe} | {literal:.1f} s an epoch | {engine:.1f} s | {literal / engine:.1f} |"
        )
    return out


def method_table():
    """Every method on every data set, the paper's figure in brackets."""
    rows = lines("lfr.jsonl") + lines("baselines.jsonl")
    names = list(paper.ACCURACY)
    out = [f"| | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for method, estimator in recipes.METHODS.items():
        cells = [
            f"{ours(rows, name, method)} ({spoken(*paper.ACCURACY[name][method])})"
            if method in paper.ACCURACY[name]
            else "–"
            for name in names
        ]
        out.append(f"| `{estimator}` | {' | '.join(cells)} |")
    return out


def pass_table():
    """Seconds of an encoder pass on a GPU, and how many of LFR's that is."""
    rows = lines("passes.jsonl")
    names = [name for name in ("har", "income", "kvasir") if name in {r["recipe"] for r in rows}]
    seconds = {(r["recipe"], r["method"]): r["seconds_per_encoder_pass"] for r in rows}
    out = [f"| | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for method, estimator in recipes.METHODS.items():
        cells = []
        for name in names:
            own, lfr = seconds.get((name, method)), seconds.get((name, "lfr"))
            share = "" if method == "lfr" or not (own and lfr) else f" ({own / lfr:.1f})"
            cells.append(f"{1000 * own:.0f} ms{share}" if own else "–")
        if any(cell != "–" for cell in cells):
            out.append(f"| `{estimator}` | {' | '.join(cells)} |")
    return out


def results():
    parts = [
        method_table(),
        ["Seconds of LFR's recipes, and its accuracy again:"],
        speed_table(),
        cpu_table(),
        [
            "One pass over the data that trains the encoder, on the H200 (in brackets: how many of",
            "LFR's that is):",
        ],
        pass_table(),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def main():
    if "--write" not in sys.argv[1:]:
        print(results())
        return
    path = ROOT / "README.md"
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{results()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
