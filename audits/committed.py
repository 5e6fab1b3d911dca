"""Access to the committed results."""

import subprocess
import sys
from pathlib import Path

from aleator.benchmark import runner

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def lines(name):
    """The lines of a results file; a truncated line is an error."""
    path = RESULTS / name
    rows = runner.read_lines(path)
    assert len(rows) == len(path.read_text(encoding="utf-8").splitlines())
    return rows


def make_tables(*options):
    """The output of benchmarks/make_tables.py."""
    command = [sys.executable, str(ROOT / "benchmarks" / "make_tables.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def text_of(path):
    """A Markdown file with all white space replaced by single spaces."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())
