"""The command `aleator bench`."""

import json
import subprocess
import sys

import pytest

from aleator import __version__, cli
from aleator.benchmark import nearest_neighbors_figure, runner
from aleator.benchmark.cells import identity_fields
from aleator.benchmark.command import lines_of_study
from aleator.benchmark.studies import STUDIES


def bench(tmp_path, *arguments):
    return cli.main(["bench", *arguments, "--out", str(tmp_path), "--device", "cpu"])


def test_table1_is_printed_stored_and_not_repeated(tmp_path, capsys):
    command = ("table1", "--datasets", "theorem", "--methods", "logreg", "random", "--seeds",
               "0", "1", "--small")  # fmt: skip
    assert bench(tmp_path, *command) == 0
    out, err = capsys.readouterr()
    assert "| RandomEncoder |" in out
    assert "Theorem, standardized" in out
    assert "Small synthetic data" in out
    assert "6 results: 0 stored, 6 missing (4 runs)" in err
    written = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert len(written) == 6  # a classifier has one protocol, an embedding two
    assert all(line["small"] for line in written)
    assert "RandomEncoder" in (tmp_path / "tables" / "table1.tex").read_text()
    assert bench(tmp_path, *command) == 0
    again, err = capsys.readouterr()
    assert "6 stored, 0 missing" in err
    assert again == out
    assert bench(tmp_path, *command, "--tables-only") == 0
    assert capsys.readouterr().out == out


def test_varied_study_draws_a_figure(tmp_path, capsys):
    command = ("stab-dropout", "--datasets", "theorem", "--seeds", "0", "--small",
               "--epochs-scale", "0.01")  # fmt: skip
    assert bench(tmp_path, *command) == 0
    assert "Shortened runs: 1 % of the recipes' epochs" in capsys.readouterr().out
    figures = tmp_path / "figures"
    assert (figures / "stab-dropout-theorem.png").read_bytes()[:4] == b"\x89PNG"
    svg = (figures / "stab-dropout-theorem.svg").read_bytes()
    assert b"<svg" in svg
    assert bench(tmp_path, *command) == 0
    assert (figures / "stab-dropout-theorem.svg").read_bytes() == svg


def test_neighbors(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(nearest_neighbors_figure, "_N_CANDIDATES", 8)
    command = ("neighbors", "--small")
    assert bench(tmp_path, *command) == 0
    out = capsys.readouterr().out
    assert "cifar10, seed 0" in out
    assert (tmp_path / "figures" / "neighbors-cifar10-0.png").exists()
    (line,) = runner.read_lines(tmp_path / "runs.jsonl")
    assert line["protocol"] == "neighbours"  # as committed results store it
    metrics = line["metrics"]
    assert metrics["similarity_diverse"] < metrics["similarity_similar"]
    assert bench(tmp_path, *command) == 0
    assert len(runner.read_lines(tmp_path / "runs.jsonl")) == 1
    assert bench(tmp_path, *command, "--datasets", "har") == 2
    assert "the modality of har is 'series'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("study", "variant", "expected"),
    [("cifar10", None, {"lfr": 1.0, "random": 0.1}), ("loss", "bbt", {"lfr": 0.1})],
)
def test_shortened_runs(study, variant, expected):
    """Tables use the longest runs of each method, ablations those of most variants."""
    dataset = STUDIES[study].datasets[0]
    stored = []
    short, long = (0.1, ("lfr", "random"), [0], 4), (1.0, ("lfr",), range(9), 1)
    for scale, methods, seeds, n_variants in (short, long):
        cells = STUDIES[study].cells([dataset], methods, seeds, scale)
        kept = {cell.recipe.variant for cell in cells[: n_variants * len(seeds)]}
        for cell in [c for c in cells if c.recipe.variant in kept]:
            stored += [{**identity_fields(cell, name), "metrics": {}} for name in cell.protocols]
    found = lines_of_study(STUDIES[study], stored)
    assert {line["method"]: line["epochs_scale"] for line in found} == expected
    assert variant is None or {line["variant"] for line in found} >= {variant, "mse"}


def test_wrong_options_are_explained(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ALEATOR_DATA", raising=False)
    assert bench(tmp_path, "table1", "--datasets", "iris") == 2
    assert "no recipe for data set 'iris'; known: cifar10" in capsys.readouterr().err
    assert bench(tmp_path, "table1", "--epochs-scale", "0") == 2
    assert "greater than 0" in capsys.readouterr().err
    assert bench(tmp_path, "table1", "--small", "--checkpoint-every", "often") == 2
    assert "checkpoint_every must be a number of steps" in capsys.readouterr().err
    assert bench(tmp_path, "table1") == 2
    assert "--small" in capsys.readouterr().err
    for wrong in (["table9"], []):
        with pytest.raises(SystemExit):
            bench(tmp_path, *wrong)


def test_help_imports_no_large_library():
    """Libraries that take seconds to import are imported when something is run."""
    program = (
        "import sys, aleator.cli\n"
        "try: aleator.cli.main(['bench', '--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('torch', 'sklearn', 'matplotlib', 'scipy') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[-1] == "[]"
    assert "stab-dropout" in run.stdout


def test_data_sets_without_files_are_skipped(tmp_path, capsys):
    assert bench(tmp_path, "table1", "--data", str(tmp_path)) == 0
    err = capsys.readouterr().err
    assert "har is skipped: its files are not in" in err
    assert "table1: no results" in err


def test_requested_data_set_without_files_fails(tmp_path, capsys):
    command = ("table1", "--datasets", "theorem", "--methods", "random", "--seeds", "0",
               "--data", str(tmp_path))  # fmt: skip
    assert bench(tmp_path, *command) == 1
    err = capsys.readouterr().err
    assert "FileNotFoundError: First-order theorem proving is not in" in err
    assert "archive.ics.uci.edu" in err


def test_the_package_can_be_run_as_a_command():
    command = [sys.executable, "-m", "aleator", "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["aleator", __version__]
