"""Make the README's tables from the committed results.

python benchmarks/tables.py          print them
python benchmarks/tables.py --write  put them between the markers in README.md
"""

import json
import sys
from pathlib import Path
from statistics import mean, stdev

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- results: benchmarks/tables.py -->", "<!-- end of results -->"

# From the paper's table 'Performance comparison' (mean ± sd over its seeds), in per cent.
PAPER_ACCURACY = {"income": "85.2 ± 0.1", "theorem": "51.6 ± 0.7", "har": "93.1 ± 0.5",
                  "epilepsy": "97.9 ± 0.2"}  # fmt: skip
# Seconds of the authors' own program on one H200, full recipe.
AUTHORS_SECONDS = {"income": 600, "theorem": 61, "har": 1384, "epilepsy": 1710, "kvasir": 2400}


def lines(name):
    path = ROOT / "benchmarks" / "results" / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def results():
    accuracy = lines("lfr.jsonl")
    speed = lines("speed.jsonl")
    out = [
        "| recipe | accuracy, paper | accuracy, ours | authors' program | ours | times faster |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for recipe, theirs in AUTHORS_SECONDS.items():
        scores = [100 * r["metrics"]["accuracy"] for r in accuracy if r["dataset"] == recipe]
        ours = f"{mean(scores):.1f} ± {stdev(scores):.1f}" if scores else "–"
        seconds = next(
            r["seconds_total"]
            for r in speed
            if r["recipe"] == recipe and r["device"] == "cuda" and not r["reference"]
        )
        paper = PAPER_ACCURACY.get(recipe, "–")
        cells = [recipe, paper, ours, f"{theirs} s", f"{seconds:.1f} s", f"{theirs / seconds:.0f}"]
        out.append(f"| {' | '.join(cells)} |")
    out += [
        "",
        "| two CPU cores | Algorithm 1 written out | ours | times faster |",
        "| --- | --- | --- | --- |",
    ]
    for recipe in ("income", "har"):
        literal, engine = (
            next(
                r["seconds_per_epoch"]
                for r in speed
                if r["recipe"] == recipe and r["device"] == "cpu" and r["reference"] is reference
            )
            for reference in (True, False)
        )
        out.append(
            f"| {recipe} | {literal:.1f} s an epoch | {engine:.1f} s | {literal / engine:.1f} |"
        )
    return "\n".join(out)


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
