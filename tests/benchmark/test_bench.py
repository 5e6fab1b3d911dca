"""aleator bench: cells, lines, resuming, failures, the command."""

import json
import subprocess
import sys

import joblib
import pytest

from aleator import Autoencoder, RandomEncoder, Supervised, cli
from aleator.benchmark import cells, datasets, neighbours, protocols, recipes, runner
from aleator.benchmark.cells import Cell
from aleator.benchmark.protocols import FINETUNED, PAPER, STANDARDIZED, TIMED
from aleator.benchmark.studies import STUDIES
from aleator.training.engine import Engine

BOTH = (PAPER, STANDARDIZED)


@pytest.fixture(autouse=True)
def fresh():
    """No data set of another test."""
    cells.loaded.cache_clear()


def quick(dataset="theorem", method="random", seed=0, protocols=BOTH, scale=0.01):
    return Cell(recipes.read(dataset, method), seed, protocols, scale, small=True)


def test_a_cell_is_trained_once_and_judged_under_every_protocol():
    cell = quick(method="lfr", protocols=(*BOTH, FINETUNED, TIMED))
    lines = cells.run(cell, None, "cpu")
    assert [line["protocol"] for line in lines] == [*BOTH, FINETUNED, TIMED]
    wanted = ("dataset dataset_sha256 method config_hash seed protocol version commit device "
              "metrics seconds epochs_scale small variant").split()  # fmt: skip
    for line in lines:
        assert set(wanted) <= set(line)
        assert cells.key_of(line) in cell.keys
    for line in lines[:3]:
        assert 0 <= line["metrics"]["accuracy"] <= 1
        assert set(line["metrics"]) > {"balanced_accuracy", "macro_f1", "auroc", "kappa"}
    assert lines[0]["config_hash"] == recipes.read("theorem").config_hash
    assert lines[2]["config_hash"] != lines[0]["config_hash"]  # it depends on how labels are used
    assert lines[3]["metrics"]["seconds_per_epoch"] > 0
    assert len({line["seconds"] for line in lines}) == 1
    (own,) = cells.run(quick(method="logreg", protocols=(PAPER,)), None, "cpu")
    assert own["metrics"]["accuracy"] > 0.3


def test_data_are_embedded_once_for_all_probes(monkeypatch):
    embedded, transform = [], RandomEncoder.transform
    monkeypatch.setattr(
        RandomEncoder, "transform", lambda self, X: embedded.append(len(X)) or transform(self, X)
    )
    lines = cells.run(quick(), None, "cpu")
    assert [line["protocol"] for line in lines] == [*BOTH]
    assert embedded == [96, 48]  # the training and the test part


def test_a_short_fit_warms_up_what_is_timed(monkeypatch):
    fits, estimator = [], recipes.Recipe.estimator

    def watched(self, device, seed):
        fits.append(self.parameters["epochs"])
        return estimator(self, device, seed)

    monkeypatch.setattr(recipes.Recipe, "estimator", watched)
    for protocol, expected in ((TIMED, [1, 3]), (PAPER, [3])):
        fits.clear()
        (line,) = cells.run(quick(method="lfr", protocols=(protocol,), scale=0.03), None, "cpu")
        assert "error" not in line
        assert fits == expected


def test_seconds_are_taken_again_on_another_device(tmp_path):
    out = tmp_path / "runs.jsonl"
    cell = quick(method="lfr", protocols=(TIMED,))
    for _ in range(2):
        runner.run([cell], out, device="cpu")
    (line,) = runner.read_lines(out)
    out.write_text(json.dumps({**line, "device": "Some GPU"}) + "\n")
    runner.run([cell], out, device="cpu")
    assert [row["device"] for row in runner.read_lines(out)] == ["Some GPU", "cpu"]
    assert [row["device"] for row in runner.lines_of([cell], runner.read_lines(out))] == ["cpu"]


def test_what_trains_nothing_cannot_be_timed():
    (line,) = cells.run(quick(protocols=(TIMED,)), None, "cpu")
    assert "trains nothing" in line["error"]


def test_transfer_is_judged_on_the_other_domain(monkeypatch):
    asked = []
    real = datasets.small
    monkeypatch.setattr(datasets, "small", lambda name: asked.append(name) or real(name))
    embedded, transform = [], RandomEncoder.transform
    monkeypatch.setattr(
        RandomEncoder, "transform", lambda self, X: embedded.append(len(X)) or transform(self, X)
    )
    there = tuple(protocols.transfer_to("fault-b", standardised=s) for s in (False, True))
    lines = cells.run(quick("fault-a", protocols=there), None, "cpu")
    assert asked == ["fault-a", "fault-b"]
    assert len(embedded) == 2  # the other domain's two parts, once for both probes
    assert tuple(line["protocol"] for line in lines) == there
    for line in lines:
        assert 0 <= line["metrics"]["accuracy"] <= 1


def test_transfer_has_both_probes_and_every_other_domain():
    lfr, supervised = (
        next(iter(STUDIES["transfer"].cells(["fault-a"], [method], [0])))
        for method in ("lfr", "supervised")
    )
    plain = tuple(f"transfer to fault-{domain}" for domain in "bcd")
    assert lfr.protocols == (*plain, *(f"{name}, standardised" for name in plain))
    assert supervised.protocols == plain  # it is judged by its own predictions


def test_samples_without_labels_are_learnt_from_and_not_judged(monkeypatch):
    whole = datasets.small("theorem")
    labels = whole.y_train.copy()
    labels[-30:] = -1  # as MIMIC-III has it: at the end
    partly = datasets.Split(whole.X_train, labels, whole.X_test, whole.y_test)
    monkeypatch.setattr(datasets, "small", lambda name: partly)
    seen = []
    for kind in (Autoencoder, Supervised):
        fit = kind.fit
        monkeypatch.setattr(
            kind, "fit", lambda self, X, y, fit=fit: seen.append(len(X)) or fit(self, X, y)
        )
    lines = cells.run(quick(method="autoencoder", protocols=BOTH), None, "cpu")
    lines += cells.run(quick(method="supervised", protocols=(PAPER,)), None, "cpu")
    assert seen == [96, 66]
    assert not any("error" in line for line in lines)


def test_studies_share_a_training():
    one, other = quick(protocols=BOTH), quick(protocols=(FINETUNED, PAPER))
    (both,) = cells.merged([one, other], done=set())
    assert both.protocols == (PAPER, STANDARDIZED, FINETUNED)
    (rest,) = cells.merged([one, other], done={one.key(PAPER), one.key(FINETUNED)})
    assert rest.protocols == (STANDARDIZED,)
    assert cells.merged([one], done=one.keys) == []
    assert len(cells.merged([one, quick(seed=1)], done=set())) == 2


def test_what_is_finished_is_never_run_again(tmp_path, monkeypatch):
    out = tmp_path / "results" / "runs.jsonl"
    assert runner.run([quick(seed=0)], out, device="cpu") == []
    assert len(runner.read_lines(out)) == 2
    ran, run = [], cells.run
    monkeypatch.setattr(cells, "run", lambda cell, *rest: ran.append(cell.seed) or run(cell, *rest))
    runner.run([quick(seed=0), quick(seed=1)], out, device="cpu")
    assert ran == [1]
    found = runner.lines_of([quick(seed=1)], runner.read_lines(out))
    assert [(line["seed"], line["protocol"]) for line in found] == [(1, PAPER), (1, STANDARDIZED)]
    # Another recipe, or another share of its epochs, is another cell.
    runner.run([quick(scale=0.02)], out, device="cpu")
    assert ran == [1, 0]


def test_an_interruption_costs_one_line_at_most(tmp_path):
    out = tmp_path / "runs.jsonl"
    runner.run([quick()], out, device="cpu")
    whole = out.read_text()
    out.write_text(whole[:-40])
    with pytest.warns(UserWarning, match="line 2 is cut short"):
        runner.run([quick()], out, device="cpu")
    with pytest.warns(UserWarning, match="cut short"):
        found = runner.lines_of([quick()], runner.read_lines(out))
    assert {line["protocol"] for line in found} == set(BOTH)


def test_half_a_training_does_not_pass_for_a_whole_one(tmp_path, monkeypatch):
    """Ctrl-C leaves a fitted estimator, which is right for a user and wrong for a result."""
    stop = Engine.train

    def interrupted(self, progress):
        stop(self, progress)
        self.interrupted = True

    monkeypatch.setattr(Engine, "train", interrupted)
    out = tmp_path / "runs.jsonl"
    with pytest.raises(KeyboardInterrupt):
        runner.run([quick(method="autoencoder")], out, device="cpu")
    assert runner.read_lines(out) == []


def test_a_failed_training_is_recorded_and_the_rest_goes_on(tmp_path, monkeypatch):
    out = tmp_path / "runs.jsonl"
    trained = cells._trained

    def moody(cell, *rest):
        if cell.seed == 0:
            raise RuntimeError("no such luck")
        return trained(cell, *rest)

    monkeypatch.setattr(cells, "_trained", moody)
    failed = runner.run([quick(seed=0), quick(seed=1)], out, device="cpu")
    assert [line["error"] for line in failed] == ["RuntimeError: no such luck"] * 2
    assert len(runner.read_lines(out)) == 4
    monkeypatch.setattr(cells, "_trained", trained)
    assert runner.run([quick(seed=0), quick(seed=1)], out, device="cpu") == []
    found = runner.lines_of([quick(seed=0), quick(seed=1)], runner.read_lines(out))
    assert sorted(line["seed"] for line in found) == [0, 0, 1, 1]


def test_a_failed_protocol_does_not_cost_the_others(monkeypatch):
    judge = protocols.judge

    def moody(protocol, case):
        if protocol == PAPER:
            raise ValueError("too hard")
        return judge(protocol, case)

    monkeypatch.setattr(protocols, "judge", moody)
    first, second = cells.run(quick(), None, "cpu")
    assert first["error"] == "ValueError: too hard"
    assert second["metrics"]["accuracy"] > 0


def found(path):
    return {cells.key_of(line): line["metrics"]["accuracy"] for line in runner.read_lines(path)}


def test_two_jobs_give_what_one_gives(tmp_path):
    todo = [quick(method="logreg", seed=seed, protocols=(PAPER,)) for seed in (0, 1)]
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    runner.run(todo, one, device="cpu")
    runner.run(todo, two, device="cpu", jobs=2)
    # Two processes on two cores have one thread each, which rounds otherwise.
    assert found(one) == pytest.approx(found(two), abs=0.01)


def test_dask_carries_the_grid_to_its_workers(tmp_path):
    distributed = pytest.importorskip("distributed")
    todo = [quick(method="logreg", seed=seed, protocols=(PAPER,)) for seed in range(4)]
    out = tmp_path / "runs.jsonl"
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client, joblib.parallel_config(backend="dask"):
        runner.run(todo, out, device="cpu")
        ran = client.run(
            lambda: len(cells.loaded.cache_info()) and cells.loaded.cache_info().misses
        )
    assert len(found(out)) == 4
    assert sum(ran.values()) >= 1  # the workers, not this process, read the data
    assert cells.loaded.cache_info().misses == 0


class TestCommand:
    def bench(self, tmp_path, *arguments):
        return cli.main(["bench", *arguments, "--out", str(tmp_path), "--device", "cpu"])

    def test_table1(self, tmp_path, capsys):
        command = ("table1", "--datasets", "theorem", "--methods", "logreg", "random", "--seeds",
                   "0", "1", "--small")  # fmt: skip
        assert self.bench(tmp_path, *command) == 0
        out, err = capsys.readouterr()
        assert "| RandomEncoder |" in out
        assert "Theorem, standardised" in out
        assert "Small generated data" in out
        assert "6 results, 0 there already, 6 to come from 4 runs" in err
        written = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
        assert len(written) == 6  # a classifier has one protocol, an embedding two
        assert all(line["small"] for line in written)
        assert "RandomEncoder" in (tmp_path / "tables" / "table1.tex").read_text()
        assert self.bench(tmp_path, *command) == 0
        again, err = capsys.readouterr()
        assert "6 there already, 0 to come" in err
        assert again == out
        assert self.bench(tmp_path, *command, "--tables-only") == 0
        assert capsys.readouterr().out == out

    def test_a_varied_study_draws_a_figure(self, tmp_path, capsys):
        command = ("stab-dropout", "--datasets", "theorem", "--seeds", "0", "--small",
                   "--epochs-scale", "0.01")  # fmt: skip
        assert self.bench(tmp_path, *command) == 0
        assert "A quick look: trained for 1 % of the recipes' epochs" in capsys.readouterr().out
        figures = tmp_path / "figures"
        assert (figures / "stab-dropout-theorem.png").read_bytes()[:4] == b"\x89PNG"
        svg = (figures / "stab-dropout-theorem.svg").read_bytes()
        assert b"<svg" in svg
        assert self.bench(tmp_path, *command) == 0
        assert (figures / "stab-dropout-theorem.svg").read_bytes() == svg

    def test_neighbours(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(neighbours, "_CANDIDATES", 8)
        command = ("neighbours", "--small")
        assert self.bench(tmp_path, *command) == 0
        out = capsys.readouterr().out
        assert "cifar10, seed 0" in out
        assert (tmp_path / "figures" / "neighbours-cifar10-0-1.png").exists()
        (line,) = runner.read_lines(tmp_path / "runs.jsonl")
        metrics = line["metrics"]
        assert metrics["similarity_diverse"] < metrics["similarity_similar"]
        assert self.bench(tmp_path, *command) == 0
        assert len(runner.read_lines(tmp_path / "runs.jsonl")) == 1
        assert self.bench(tmp_path, *command, "--datasets", "har") == 2
        assert "har has none" in capsys.readouterr().err

    def test_wrong_commands_are_explained(self, tmp_path, capsys, monkeypatch):
        monkeypatch.delenv("ALEATOR_DATA", raising=False)
        assert self.bench(tmp_path, "table1", "--datasets", "iris") == 2
        assert "no recipe 'iris'; known: cifar10" in capsys.readouterr().err
        assert self.bench(tmp_path, "table1", "--epochs-scale", "0") == 2
        assert "above zero" in capsys.readouterr().err
        assert self.bench(tmp_path, "table1") == 2
        assert "--small" in capsys.readouterr().err
        for wrong in (["table9"], []):
            with pytest.raises(SystemExit):
                self.bench(tmp_path, *wrong)

    def test_help_comes_at_once(self):
        """What takes seconds to import is imported when something is run."""
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

    def test_what_is_not_at_hand_is_left_out(self, tmp_path, capsys):
        assert self.bench(tmp_path, "table1", "--data", str(tmp_path)) == 0
        err = capsys.readouterr().err
        assert "har is left out: its files are not in" in err
        assert "table1: there are no results" in err

    def test_a_data_set_asked_for_but_missing_fails_with_a_reason(self, tmp_path, capsys):
        command = ("table1", "--datasets", "theorem", "--methods", "random", "--seeds", "0",
                   "--data", str(tmp_path))  # fmt: skip
        assert self.bench(tmp_path, *command) == 1
        err = capsys.readouterr().err
        assert "FileNotFoundError: First-order theorem proving is not in" in err
        assert "archive.ics.uci.edu" in err


def test_a_study_takes_no_method_that_lacks_what_it_looks_at():
    wanted = ["logreg", "random", "lfr"]
    assert STUDIES["efficiency"].methods_on("har", wanted) == ["lfr"]
    assert STUDIES["loss"].methods_on("kvasir-v1", wanted) == ["lfr"]
    assert STUDIES["table1"].methods_on("har", wanted) == wanted


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_study_has_valid_recipes(name):
    """Every variant constructs, whatever data are at hand."""
    study = STUDIES[name]
    todo = study.cells(seeds=[0])
    assert todo
    assert len({cell.key(cell.protocols[0]) for cell in todo}) == len(todo)
    for cell in todo:
        cell.recipe.estimator("cpu", 0)._check_parameters()
        assert (cell.recipe.variant is not None) == (study.vary is not None)
