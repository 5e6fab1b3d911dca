"""Access to the committed results."""

import subprocess
import sys
from functools import cache
from pathlib import Path

from aleator.benchmark import command, runner
from aleator.benchmark.studies import STUDIES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


@cache
def lines(name):
    """The lines of a results file, read once; a truncated line is an error."""
    path = RESULTS / name
    rows = runner.read_lines(path)
    assert len(rows) == len(path.read_text(encoding="utf-8").splitlines())
    return rows


@cache
def held_out_lines_of(study):
    """The lines of a study of LFR, which uses no test set."""
    held_out = [line for line in lines("runs.jsonl") if line.get("held_out")]
    return command.lines_of_study(STUDIES[study], held_out)


def make_tables(*options):
    """The output of benchmarks/make_tables.py."""
    command = [sys.executable, str(ROOT / "benchmarks" / "make_tables.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def text_of(path):
    """A Markdown file with all white space replaced by single spaces."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())
