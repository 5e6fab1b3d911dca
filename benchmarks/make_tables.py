"""Make all committed tables and figures from the committed result lines.

python benchmarks/make_tables.py                print the generated sections of all documents
python benchmarks/make_tables.py SECTION        print one of them, such as labels or table1
python benchmarks/make_tables.py --write        write them to the documents, the rest to results/
python benchmarks/make_tables.py --check        fail if a document is not what would be written
python benchmarks/make_tables.py --differences  print the results that differ from the paper's
"""

import json
import sys
from pathlib import Path

from aleator import cli
from aleator.benchmark import (
    command,
    label_tables,
    method_names,
    presentation,
    research_page,
    result_lines,
    runner,
    scaling,
)
from aleator.benchmark.real_data import report
from aleator.benchmark.research_studies import RESEARCH_STUDIES
from aleator.benchmark.studies import LABELS, STUDIES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
# Files with sections that begin and end with the comments in `filled`.
DOCUMENTS = (
    "README.md",
    "benchmarks/README.md",
    "docs/real-data.md",
    "docs/research.md",
    "docs/scaling.md",
)
README_DATASETS = ("har", "epilepsy", "income", "theorem", "kvasir-v1")

# Training time of the authors' program on one H200, full recipe.
AUTHORS_SECONDS = {"income": 600, "theorem": 61, "har": 1384, "epilepsy": 1710, "kvasir": 2400}

# Measurements of LFR's defaults, and of its random features alone, by recipe and method.
DEFAULTS = {
    ("default-small", "lfr-default"): "40 series of 100 steps",
    ("default-har", "lfr-default"): "HAR: 7352 series of 9 × 128",
    ("default-income", "lfr-default"): "Income: 30162 rows of 104 columns",
    ("default-kvasir-v1", "lfr-default"): "Kvasir v1: 3000 images of 3 × 80 × 100",
    ("default-cifar10", "lfr-default"): "CIFAR-10: 50000 images of 3 × 32 × 32",
    ("har", "random-features"): "HAR, 8192 features of `RandomFeatures`",
}


def lines(name):
    return runner.read_lines(RESULTS / name)


def label_section():
    """Figure and summary of label curves; nothing as long as there are no results."""
    study = STUDIES[LABELS]
    table = label_tables.summary(command.lines_of_study(study, lines("runs.jsonl")))
    figure = f"![{study.title}](benchmarks/results/figures/{LABELS}.svg)"
    return f"{figure}\n\n{table}" if table else ""


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


def defaults_table():
    """Time and memory of LFR with its defaults, and of its random features alone."""
    measured = {(r["recipe"], r["method"], r["device"]): r for r in lines("speed.jsonl")}
    out = [
        "| data | two CPU cores: fit | memory | embed | H200: fit | embed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for (recipe, method), name in DEFAULTS.items():
        cpu, gpu = (measured.get((recipe, method, device)) for device in ("cpu", "cuda"))
        cells = [
            f"{cpu['seconds_total']:.3g} s" if cpu else "–",
            f"{cpu['peak_memory_bytes'] / 1e9:.1f} GB" if cpu else "–",
            f"{cpu['seconds_transform']:.3g} s" if cpu else "–",
            f"{gpu['seconds_total']:.1f} s" if gpu else "–",
            f"{gpu['seconds_transform']:.1f} s" if gpu else "–",
        ]
        if cpu or gpu:
            out.append(f"| {name} | {' | '.join(cells)} |")
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
                if (r["recipe"], r["method"], r["device"]) == (recipe, "lfr", "cpu")
                and r["reference"] is is_reference
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
    for method in method_names.METHODS:
        cells = []
        for name in names:
            value, lfr = seconds.get((name, method)), seconds.get((name, "lfr"))
            ratio = "" if method == "lfr" or not (value and lfr) else f" ({value / lfr:.1f})"
            cells.append(f"{1000 * value:.0f} ms{ratio}" if value else "–")
        if any(cell != "–" for cell in cells):
            out.append(f"| {method_names.title_of(method)} | {' | '.join(cells)} |")
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


def research_lines():
    """Result lines of all studies of LFR, by name of the study."""
    stored = [x for x in lines("runs.jsonl") if x.get("held_out")]
    return {study.name: command.lines_of_study(study, stored) for study in RESEARCH_STUDIES}


def scaling_result():
    """The result of `python -m aleator.benchmark.scaling`."""
    return json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))[scaling.KEY]


SECTIONS = {
    LABELS: label_section,
    "table1": first_table,
    "seconds": speed_table,
    "defaults": defaults_table,
    "cpu": cpu_table,
    "passes": pass_table,
    "real-data": lambda: report.tables(lines("real_data.jsonl")),
    "research-summary": lambda: research_page.summary(research_lines()),
    "research-setup": lambda: research_page.setup(research_lines()),
    **{
        study.name: lambda study=study: research_page.section(study, research_lines()[study.name])
        for study in RESEARCH_STUDIES
    },
    **scaling.sections(scaling_result, lambda: lines("speed.jsonl")),
}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def filled(text):
    """A document with the sections that it has markers for, made anew."""
    for name, make in SECTIONS.items():
        begin, end = f"<!-- {name}: benchmarks/make_tables.py -->\n", f"<!-- end of {name} -->"
        if begin in text:
            before, rest = text.split(begin)
            content = f"{make()}\n".lstrip("\n")  # an empty section has no line
            text = f"{before}{begin}{content}{end}{rest.split(end)[1]}"
    return text


def main(arguments):
    if "--differences" in arguments:
        print(differences())
    elif "--check" in arguments:
        changed = [name for name in DOCUMENTS if filled(text := read(name)) != text]
        if changed:
            sys.exit(f"not generated from the results: {', '.join(changed)}")
    elif "--write" in arguments:
        cli.main(["bench", "all", "--tables-only", "--out", str(RESULTS)])
        for name in DOCUMENTS:
            (ROOT / name).write_text(filled(read(name)), encoding="utf-8")
    else:
        contents = [SECTIONS[name]() for name in arguments or SECTIONS]
        print("\n\n".join(content for content in contents if content))


if __name__ == "__main__":
    main(sys.argv[1:])
