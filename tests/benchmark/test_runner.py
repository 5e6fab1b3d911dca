"""Running cells: resuming, failures, parallel jobs."""

import json

import joblib
import pytest
import torch

from aleator.benchmark import cells, runner
from aleator.benchmark.protocols import PAPER, STANDARDIZED, TIMED
from aleator.training.trainer import Trainer
from tests.benchmark.helpers import BOTH, quick_cell


def test_finished_cells_are_not_run_again(tmp_path, monkeypatch):
    out = tmp_path / "results" / "runs.jsonl"
    assert runner.run([quick_cell(seed=0)], out, device="cpu") == []
    assert len(runner.read_lines(out)) == 2
    seeds, run = [], cells.run
    monkeypatch.setattr(
        cells, "run", lambda cell, *rest: seeds.append(cell.seed) or run(cell, *rest)
    )
    runner.run([quick_cell(seed=0), quick_cell(seed=1)], out, device="cpu")
    assert seeds == [1]
    lines = runner.lines_of([quick_cell(seed=1)], runner.read_lines(out))
    assert [(line["seed"], line["protocol"]) for line in lines] == [(1, PAPER), (1, STANDARDIZED)]
    # Another fraction of the epochs is another cell.
    runner.run([quick_cell(scale=0.02)], out, device="cpu")
    assert seeds == [1, 0]


def test_timings_are_repeated_on_another_device(tmp_path):
    out = tmp_path / "runs.jsonl"
    cell = quick_cell(method="lfr", protocols=(TIMED,))
    for _ in range(2):
        runner.run([cell], out, device="cpu")
    (line,) = runner.read_lines(out)
    out.write_text(json.dumps({**line, "device": "Some GPU"}) + "\n")
    runner.run([cell], out, device="cpu")
    assert [row["device"] for row in runner.read_lines(out)] == ["Some GPU", "cpu"]
    assert [row["device"] for row in runner.lines_of([cell], runner.read_lines(out))] == ["cpu"]


def test_truncated_line_is_run_again(tmp_path):
    out = tmp_path / "runs.jsonl"
    runner.run([quick_cell()], out, device="cpu")
    complete = out.read_text()
    out.write_text(complete[:-40])
    with pytest.warns(UserWarning, match="line 2 is truncated"):
        runner.run([quick_cell()], out, device="cpu")
    with pytest.warns(UserWarning, match="truncated"):
        lines = runner.lines_of([quick_cell()], runner.read_lines(out))
    assert {line["protocol"] for line in lines} == set(BOTH)


def test_interrupted_training_gives_no_result(tmp_path, monkeypatch):
    """Ctrl-C leaves a fitted estimator, which must not become a result."""
    fit = Trainer.fit

    def interrupted(self, progress):
        fit(self, progress)
        self.interrupted = True

    monkeypatch.setattr(Trainer, "fit", interrupted)
    out = tmp_path / "runs.jsonl"
    with pytest.raises(KeyboardInterrupt):
        runner.run([quick_cell(method="autoencoder")], out, device="cpu")
    assert runner.read_lines(out) == []


def test_interrupted_training_continues_from_its_checkpoint(tmp_path, monkeypatch):
    cell = quick_cell(method="lfr", protocols=(PAPER,), scale=0.05)
    whole, parts = tmp_path / "whole" / "runs.jsonl", tmp_path / "parts" / "runs.jsonl"
    steps, train_step = [], Trainer._train_step

    def interrupting(self, *arguments):
        if len(steps) == interrupted_after:
            raise KeyboardInterrupt
        steps.append(1)
        train_step(self, *arguments)

    monkeypatch.setattr(Trainer, "_train_step", interrupting)
    interrupted_after = None
    runner.run([cell], whole, device="cpu")
    in_whole = len(steps)
    steps.clear()
    interrupted_after = in_whole // 2
    with pytest.raises(KeyboardInterrupt):
        runner.run([cell], parts, device="cpu", checkpoint_every="0.001 s")
    assert len(list((parts.parent / "checkpoints").iterdir())) == 1
    interrupted_after = None
    runner.run([cell], parts, device="cpu", checkpoint_every="0.001 s")
    assert len(steps) == in_whole > 2
    (expected,), (found,) = runner.read_lines(whole), runner.read_lines(parts)
    assert found["metrics"] == expected["metrics"]
    assert found["seconds"] is None is not expected["seconds"]
    assert list((parts.parent / "checkpoints").iterdir()) == []


def test_failed_training_is_recorded_and_repeated(tmp_path, monkeypatch):
    out = tmp_path / "runs.jsonl"
    load = cells.loaded
    both = [quick_cell(seed=0), quick_cell("income", seed=1)]

    def failing(name, *rest):
        if name == "theorem":
            raise RuntimeError("a reason")
        return load(name, *rest)

    monkeypatch.setattr(cells, "loaded", failing)
    failed = runner.run(both, out, device="cpu")
    assert [line["error"] for line in failed] == ["RuntimeError: a reason"] * 2
    assert len(runner.read_lines(out)) == 4
    monkeypatch.setattr(cells, "loaded", load)
    assert runner.run(both, out, device="cpu") == []
    lines = runner.lines_of(both, runner.read_lines(out))
    assert sorted(line["seed"] for line in lines) == [0, 0, 1, 1]


@pytest.fixture
def one_thread(monkeypatch):
    """One thread here and in worker processes: rounding depends on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    yield
    torch.set_num_threads(threads)


def metrics_by_key(path):
    return {cells.key_of(line): line["metrics"] for line in runner.read_lines(path)}


@pytest.mark.usefixtures("one_thread")
def test_two_jobs_give_the_results_of_one(tmp_path):
    todo = [quick_cell(method="logreg", seed=seed, protocols=(PAPER,)) for seed in (0, 1)]
    serial, parallel = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    runner.run(todo, serial, device="cpu")
    runner.run(todo, parallel, device="cpu", jobs=2)
    expected, metrics = metrics_by_key(serial), metrics_by_key(parallel)
    assert len(expected) == 2
    assert metrics == {key: pytest.approx(values, abs=1e-4) for key, values in expected.items()}


def test_dask_runs_the_cells_in_its_workers(tmp_path):
    distributed = pytest.importorskip("distributed")
    todo = [quick_cell(method="logreg", seed=seed, protocols=(PAPER,)) for seed in range(4)]
    out = tmp_path / "runs.jsonl"
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client, joblib.parallel_config(backend="dask"):
        runner.run(todo, out, device="cpu")
        loads = client.run(lambda: cells.loaded.cache_info().misses)
    assert len(metrics_by_key(out)) == 4
    # A process that runs a cell loads the data set once.
    assert 1 <= sum(loads.values()) <= 2
    assert cells.loaded.cache_info().misses == 0
