"""aleator bench: cells, lines, resuming, failures, tables."""

import json

import numpy as np
import pytest
from scipy import stats

from aleator import cli
from aleator.benchmark import cells, datasets, recipes, runner
from aleator.benchmark.cells import Cell
from aleator.benchmark.datasets import Split
from aleator.benchmark.tables import AccuracyTable


@pytest.fixture
def small_data(monkeypatch, random):
    """Data sets of a few rows in the place of real ones."""
    loads = []

    def load(name, folder=None):
        loads.append(name)
        shape = datasets.SOURCES[name].shape
        X = random.random((80, *shape), dtype=np.float32)
        y = (X.reshape(80, -1)[:, 0] * 3).astype(np.int64)
        return Split(X[:60], y[:60], X[60:], y[60:])

    monkeypatch.setattr(datasets, "load", load)
    cells._loaded.cache_clear()
    yield loads
    cells._loaded.cache_clear()


def quick(dataset="theorem", method="lfr", seed=0):
    return Cell(recipes.read(dataset, method), seed, epochs_scale=0.01)


def test_a_cell_is_trained_once_and_judged_under_both_protocols(small_data):
    lines = cells.run(quick(), None, "cpu")
    assert [line["protocol"] for line in lines] == ["paper", "standardised"]
    wanted = ("dataset dataset_sha256 method config_hash seed protocol version commit device "
              "metrics seconds epochs_scale").split()  # fmt: skip
    for line in lines:
        assert set(wanted) <= set(line)
        assert 0 <= line["metrics"]["accuracy"] <= 1
        assert set(line["metrics"]) > {"balanced_accuracy", "macro_f1", "auroc", "kappa"}
        assert line["config_hash"] == recipes.read("theorem").config_hash
        assert cells.key_of(line) in quick().keys
    (own,) = cells.run(quick(method="supervised"), None, "cpu")
    assert own["protocol"] == "paper"


def test_what_is_finished_is_never_run_again(small_data, tmp_path, monkeypatch):
    out = tmp_path / "results" / "lines.jsonl"
    first = runner.run([quick(seed=0)], out, device="cpu")
    assert len(first) == len(runner.read_lines(out)) == 2
    ran = []
    run = cells.run
    monkeypatch.setattr(cells, "run", lambda cell, *rest: ran.append(cell.seed) or run(cell, *rest))
    both = runner.run([quick(seed=0), quick(seed=1)], out, device="cpu")
    assert ran == [1]
    assert [line["seed"] for line in both] == [0, 0, 1, 1]
    # Another recipe, or another share of its epochs, is another cell.
    other = Cell(recipes.read("theorem"), 0, epochs_scale=0.02)
    assert runner.unfinished([quick(), other], runner.read_lines(out)) == [other]


def test_an_interruption_costs_one_line_at_most(small_data, tmp_path):
    out = tmp_path / "lines.jsonl"
    runner.run([quick()], out, device="cpu")
    whole = out.read_text()
    out.write_text(whole[:-40])
    with pytest.warns(UserWarning, match="line 2 is cut short"):
        lines = runner.run([quick()], out, device="cpu")
    assert {line["protocol"] for line in lines} == {"paper", "standardised"}
    with pytest.warns(UserWarning, match="cut short"):
        assert runner.unfinished([quick()], runner.read_lines(out)) == []


def test_a_failed_cell_is_recorded_and_the_rest_goes_on(small_data, tmp_path, monkeypatch):
    out = tmp_path / "lines.jsonl"
    run = cells.run

    def moody(cell, *rest):
        if cell.seed == 0:
            raise RuntimeError("no such luck")
        return run(cell, *rest)

    monkeypatch.setattr(cells, "run", moody)
    lines = runner.run([quick(seed=0), quick(seed=1)], out, device="cpu")
    errors = [line for line in lines if "error" in line]
    assert [line["error"] for line in errors] == ["RuntimeError: no such luck"]
    assert len(lines) == 3
    monkeypatch.setattr(cells, "run", run)
    again = runner.run([quick(seed=0), quick(seed=1)], out, device="cpu")
    assert sorted(line["seed"] for line in again) == [0, 0, 1, 1]
    assert not any("error" in line for line in again)


def lines_of(scores, dataset="har", protocol="paper", scale=1.0):
    return [
        {"dataset": dataset, "method": method, "protocol": protocol, "epochs_scale": scale,
         "metrics": {"accuracy": value}}
        for method, values in scores.items()
        for value in values
    ]  # fmt: skip


SCORES = {"supervised": [0.99], "dacl": [0.90, 0.91, 0.92], "lfr": [0.94, 0.95, 0.93]}


class TestTables:
    def test_markdown(self):
        text = AccuracyTable(lines_of(SCORES), "paper").markdown()
        assert text.splitlines() == [
            "| | har |",
            "| --- | --- |",
            "| Supervised | 99.0 (96.0 ± 0.6) |",
            "| DACL | 91.0 ± 1.0 (90.7 ± 0.4) |",
            "| LFR | **94.0 ± 1.0** (93.1 ± 0.5) |",
            "",
            "har: LFR against DACL, Welch's test p = 0.021",
        ]
        p = stats.ttest_ind([94, 95, 93], [90, 91, 92], equal_var=False).pvalue
        assert round(p, 3) == 0.021

    def test_latex(self):
        text = AccuracyTable(lines_of(SCORES), "paper").latex()
        assert r"LFR & \textbf{94.0 $\pm$ 1.0} (93.1 $\pm$ 0.5) \\" in text
        assert text.startswith(r"\begin{tabular}{lc}")
        assert text.count(r"\\") == 4

    def test_protocols_stand_apart_and_failures_out(self):
        lines = lines_of({"lfr": [0.5]}, protocol="standardised") + lines_of({"lfr": [0.9]})
        lines.append({"dataset": "har", "method": "dacl", "error": "oh", "epochs_scale": 1.0})
        assert AccuracyTable(lines, "paper").cells["lfr", "har"].values == (90.0,)
        assert AccuracyTable(lines, "standardised").cells["lfr", "har"].values == (50.0,)

    def test_a_quick_look_says_so(self):
        table = AccuracyTable(lines_of({"lfr": [0.5]}, scale=0.1), "paper")
        assert "A quick look" in table.markdown()
        assert "A quick look" in table.latex()


class TestCommand:
    def test_table1(self, small_data, tmp_path, capsys):
        command = ["bench", "table1", "--datasets", "theorem", "--methods", "logreg", "random",
                   "--seeds", "0", "1", "--device", "cpu", "--out", str(tmp_path)]  # fmt: skip
        assert cli.main(command) == 0
        out, err = capsys.readouterr()
        assert "| RandomEncoder |" in out
        assert "standardised protocol" in out
        assert "4 cells, 0 finished before, 4 to run" in err
        written = [
            json.loads(line) for line in (tmp_path / "table1.jsonl").read_text().splitlines()
        ]
        assert len(written) == 6  # a classifier has one protocol, an embedding two
        assert "RandomEncoder" in (tmp_path / "table1-paper.tex").read_text()
        assert cli.main(command) == 0
        assert "4 finished before, 0 to run" in capsys.readouterr().err
        assert len(small_data) == 1  # the data are read once

    def test_wrong_commands_are_explained(self, tmp_path, capsys):
        out = ["--out", str(tmp_path)]
        assert cli.main(["bench", "table1", "--datasets", "iris", *out]) == 2
        assert "no recipe 'iris'; known: epilepsy" in capsys.readouterr().err
        assert cli.main(["bench", "table1", "--epochs-scale", "0", *out]) == 2
        assert "above zero" in capsys.readouterr().err
        with pytest.raises(SystemExit):
            cli.main(["bench", "table9"])
        with pytest.raises(SystemExit):
            cli.main([])

    def test_a_missing_data_set_fails_its_cells_with_a_reason(self, tmp_path, capsys):
        cells._loaded.cache_clear()
        command = ["bench", "table1", "--datasets", "theorem", "--methods", "random", "--seeds",
                   "0", "--data", str(tmp_path), "--out", str(tmp_path / "out")]  # fmt: skip
        assert cli.main(command) == 1
        err = capsys.readouterr().err
        assert "failed, FileNotFoundError: First-order theorem proving is not in" in err
        assert "archive.ics.uci.edu" in err


def test_two_jobs_give_what_one_gives(data_folder, tmp_path):
    todo = [Cell(recipes.read("theorem", "logreg"), seed) for seed in (0, 1)]
    alone = runner.run(todo, tmp_path / "1.jsonl", data=str(data_folder), device="cpu")
    together = runner.run(todo, tmp_path / "2.jsonl", data=str(data_folder), device="cpu", jobs=2)

    def found(lines):
        return {cells.key_of(line): line["metrics"]["accuracy"] for line in lines}

    # Two processes on two cores have one thread each, which rounds otherwise.
    assert found(alone).keys() == found(together).keys()
    for key, value in found(alone).items():
        assert found(together)[key] == pytest.approx(value, abs=0.01)
