"""Several processes train what one would: gradients, layers, random numbers, checkpoints, ends."""

import multiprocessing
import os
import signal
import sys
import warnings

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from aleator import DIET, LFR, SimCLR, Supervised, open_table
from aleator.benchmark import rank_cases as proofs
from aleator.estimators.fit_context import Seeds, root_seed
from aleator.evaluation import fine_tune
from aleator.exceptions import CheckpointError, CheckpointWarning, InterruptedTrainingWarning
from aleator.inputs.table_files import TableFiles
from aleator.training.collectives import Collectives
from aleator.training.head_bank import HeadBank
from aleator.training.method import Method
from aleator.training.owners import PieceOwners
from aleator.training.piece_sampler import DividedPieceSampler, PieceSampler
from aleator.training.ranks import Ranks
from aleator.training.trainer import Trainer
from aleator.training.whole_batch import gather_rows
from tests.training.process_pool import ProcessPool

CPU = torch.device("cpu")
SETTINGS = {"rows": 50, "batch": 30, "steps": 5}  # passes end with a batch of 20 rows


@pytest.fixture(scope="module")
def pool():
    pool = ProcessPool(3)
    yield pool
    pool.close()


def fit_together(name, size, named):
    assert "lightning_fabric" not in sys.modules, "an existing group needs no launcher"
    return proofs.fit_case(name, size, **SETTINGS, **named)


# Three processes for methods that have every kind of layer; two for the others.
@pytest.mark.parametrize(
    ("name", "size"),
    [
        (name, 3 if name in ("LFR.paper, series", "TSTCC, series", "DACL, table") else 2)
        for name in proofs.CASES
    ],
)
def test_processes_train_what_one_would(pool, name, size):
    alone = proofs.fit_case(name, 1, **SETTINGS)
    start = proofs.fit_case(name, 1, **{**SETTINGS, "steps": 1})
    results = pool.run(size, fit_together, name, size, {})
    weights, losses = proofs.difference(alone, results[0])
    assert proofs.largest_move(start, alone) > 1e-3, "or the comparison would say nothing"
    assert weights < 1e-5
    assert losses < 1e-5
    for other in results[1:]:
        assert proofs.difference(results[0], other) == (0, 0), "all have the same model"


# Batches of which a process has no row, one row, and all rows.
UNEVEN = [[0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11, 12, 13, 14, 16, 18, 20]]


@pytest.mark.parametrize("name", ["LFR.paper, series", "SimCLR, series", "Supervised, series"])
def test_a_process_may_have_no_row_of_a_batch(pool, name):
    named = {"rows": 24, "batch": 6, "steps": 3, "sample_order": UNEVEN * 9}
    alone = proofs.fit_case(name, 1, **named)
    results = pool.run(2, fit_uneven, name, named)
    weights, losses = proofs.difference(alone, results[0])
    assert weights < 1e-5
    assert losses < 1e-5


def fit_uneven(name, named):
    return proofs.fit_case(name, 2, **named)


def test_fine_tuning(pool):
    alone = tune(1)
    assert pool.run(2, tune, 2) == [pytest.approx(alone, rel=1e-4)] * 2


def tune(size):
    X, y = proofs.data_of(proofs.CASES["LFR, table"], 60)
    model = LFR(steps=2, n_projectors=2, embedding_dim=8, random_state=0, progress=False).fit(X)
    training = {"epochs": 3, "batch_size": 20 // size, "devices": size, "device": "cpu"}
    return fine_tune(model, X, y, X, y, **training).metrics["auroc"][0]


# ------------------------------------------------------------------ layers


def in_step(function):
    """Call a function of (ranks, own rows of a batch, the batch) in a step of two processes."""
    torch.manual_seed(0)
    batch = torch.randn(7, 4, 3)
    ranks = Ranks(CPU, 2)
    order = torch.tensor([8, 1, 3, 0, 4, 7, 2])  # rows that this process has: four, or three
    own = batch[order % 2 == ranks.rank]
    ranks.share(order)
    return function(ranks, own, batch, order % 2 == ranks.rank)


def normalized(ranks, own, batch, mine, make, copies):
    """Outputs, gradients and averages of a layer, on one process and on two."""
    found = []
    for x in (batch, own):
        torch.manual_seed(1)
        layer = make()
        x = torch.cat([x + k for k in range(copies)]).requires_grad_()
        method = Method({"layer": layer}, [])
        if len(x) == len(batch) * copies:
            out = layer(x)
            (out.pow(3).sum() / 100).backward()
        else:
            with ranks.connected(method):
                out = layer(x)
                (out.pow(3).sum() / 100).backward()
            ranks.finish_backward(layer.parameters(), torch.zeros(()))
        found.append((out, x.grad, [p.grad for p in layer.parameters()], list(layer.buffers())))
    whole, part = found
    rows = mine.repeat(copies)
    for expected, got in zip(whole[:2], part[:2], strict=True):
        torch.testing.assert_close(got, expected[rows], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(part[2], whole[2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(part[3], whole[3], rtol=1e-5, atol=1e-6)


def norm_1d():
    return nn.BatchNorm1d(4)


def norm_cumulative():
    return nn.BatchNorm1d(4, momentum=None, affine=False)


def norm_without_averages():
    return nn.BatchNorm1d(4, track_running_stats=False).eval()


def norm_bank():
    heads = [nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.BatchNorm1d(5)) for _ in range(3)]
    for head in heads:
        nn.init.normal_(head[2].weight)
    return nn.Sequential(nn.Flatten(), HeadBank([head[1:] for head in heads]))


def check_norm(make, copies):
    in_step(lambda *parts: normalized(*parts, make, copies))


@pytest.mark.parametrize("make", [norm_1d, norm_cumulative, norm_without_averages, norm_bank])
def test_batch_norm_is_that_of_the_whole_batch(pool, make):
    for copies in (1, 2):
        pool.run(2, check_norm, make, copies)


def check_dropout():
    def compare(ranks, own, batch, mine):
        for layer in (nn.Dropout(0.4), nn.Dropout1d(0.4), nn.AlphaDropout(0.4)):
            for change in (lambda x: x, lambda x: x.mT, lambda x: torch.cat([x, x])):
                torch.manual_seed(3)
                whole = layer(change(batch))
                after = torch.rand(())
                torch.manual_seed(3)
                with ranks.connected(Method({"layer": layer}, [])):
                    part = layer(change(own))
                assert torch.equal(part, whole[mine.repeat(len(whole) // len(batch))])
                assert torch.rand(()) == after, "all processes have drawn the same"

    in_step(compare)


def test_dropout_is_that_of_the_whole_batch(pool):
    pool.run(2, check_dropout)


def check_gather():
    def compare(ranks, own, batch, mine):
        x = own.clone().requires_grad_()
        whole, weights = gather_rows([x, own[:, 0, 0].double()], ranks._share, Collectives(CPU))
        assert torch.equal(whole, batch)
        assert torch.equal(weights, batch[:, 0, 0].double())
        (whole.pow(2).sum() * 3).backward()
        # Not twice as large: every process differentiates the same loss.
        torch.testing.assert_close(x.grad, 6 * own)

    in_step(compare)


def test_gathered_rows_are_in_order_and_gradients_are_not_counted_twice(pool):
    pool.run(2, check_gather)


# ------------------------------------------------------------------ runs


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (3, 2)])
def test_a_run_continues_on_another_number_of_processes(pool, tmp_path, before, after):
    name, settings = "LFR.paper, series", {**SETTINGS, "steps": 8}
    whole = proofs.fit_case(name, 1, **settings)
    if before == 1:
        messages = [proofs.fit_and_stop(name, 1, settings, tmp_path)]
    else:
        messages = pool.run(before, proofs.fit_and_stop, name, before, settings, tmp_path)
    assert messages[0] == "RuntimeError: stopped"
    for message in messages[1:]:
        assert message.startswith(
            f"ProcessError: process 0 of {before} has ended (RuntimeError: stopped)"
        )
    if after == 1:
        resumed = proofs.fit_case(name, 1, **settings, checkpoint=tmp_path)
    else:
        resumed = pool.run(after, resume, name, after, settings, tmp_path)[0]
    assert max(proofs.difference(whole, resumed)) < 1e-4


def resume(name, size, settings, folder):
    return proofs.fit_case(name, size, **settings, checkpoint=folder)


def test_another_number_of_rows_per_step_is_another_run(pool, tmp_path):
    proofs.fit_case("DIET, table", 1, **SETTINGS, checkpoint=tmp_path)
    answers = pool.try_run(2, resume, "DIET, table", 2, {**SETTINGS, "batch": 20}, tmp_path)
    assert answers[0][1][0] == "CheckpointError"
    assert "batch_size=30, but this one has batch_size=20" in answers[0][1][1]
    assert answers[1][1][0] == "ProcessError"
    assert "process 0 of 2 has ended (CheckpointError: the run in" in answers[1][1][1]


def fit_table(size, seed, change=None, **named):
    X, _ = proofs.data_of(proofs.CASES["LFR, table"], 40)
    if change is not None:
        X[0] += change[dist.get_rank()]
    settings = {"embedding_dim": 4, "steps": 3, "batch_size": 8, "progress": False, **named}
    model = SimCLR(devices=size, device="cpu", random_state=seed, **settings).fit(X)
    return model.random_state_, proofs.weights_of(model), model.history_


@pytest.mark.parametrize("seed", [None, "instance"])
def test_all_processes_have_the_seed_of_the_first(pool, seed):
    first, second = pool.run(2, fit_drawn, seed)
    assert first[0] == second[0]
    assert first[2] == second[2], "also the times in the history"
    assert proofs.difference(*({"weights": fit[1], "losses": []} | {"losses": [0]}
                               for fit in (first, second)))[0] == 0  # fmt: skip


def fit_drawn(seed):
    return fit_table(2, np.random.RandomState(dist.get_rank()) if seed == "instance" else None)


def test_processes_must_be_given_the_same(pool):
    for change in ((0, 0, 1), (1, 0, 0)):
        for succeeded, error in pool.try_run(3, fit_table, 3, 0, change):
            assert not succeeded
            assert error[0] == "ValueError"
            assert "process" in error[1]
            assert "was given other data, labels or parameters than process 0" in error[1]
    answers = pool.try_run(2, fit_table, 3, 0)
    assert "ask for 3 processes, but 2 were started" in answers[0][1][1]


def fit_with_failure(error):
    step = Trainer._train_step

    def failing(self, *arguments):
        step(self, *arguments)
        if dist.get_rank() == 1 and self.steps == 2:
            raise error

    Trainer._train_step = failing
    try:
        fit_table(2, 0)
    finally:
        Trainer._train_step = step


def test_an_error_ends_all_processes_and_names_the_first_of_them(pool):
    answers = pool.try_run(2, fit_with_failure, ValueError("no good"))
    assert answers[1][1][:2] == ("ValueError", "no good")
    assert answers[0][1][:2] == (
        "ProcessError",
        "process 1 of 2 has ended (ValueError: no good), so that training ends",
    )


def test_memory_that_does_not_suffice_ends_all_processes(pool):
    answers = pool.try_run(2, fit_with_failure, torch.OutOfMemoryError("tried to allocate"))
    assert answers[1][1][0] == "MemoryError"
    assert "memory does not suffice on cpu for batches of 16 rows" in answers[1][1][1]
    assert "process 1 of 2 has ended (MemoryError: memory" in answers[0][1][1]


def test_a_loss_that_is_not_finite_ends_all_processes(pool):
    for _, error in pool.try_run(2, fit_to_infinity):
        assert error[0] == "FloatingPointError"
        assert "try a smaller learning_rate" in error[1]


def fit_to_infinity():
    fit_table(2, 0, optimizer="sgd", learning_rate=1e30, steps=6)


def fit_with_interrupt():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    step = Trainer._train_step

    def interrupted(self, *arguments):
        if dist.get_rank() == 1 and self.steps == 2:
            os.kill(os.getpid(), signal.SIGINT)
        step(self, *arguments)

    Trainer._train_step = interrupted
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _, weights, history = fit_table(2, 0, steps=30)
    finally:
        Trainer._train_step = step
    kinds = [warning.category for warning in caught]
    return weights, sum(record["steps"] for record in history), InterruptedTrainingWarning in kinds


def test_an_interrupt_of_one_process_stops_all_after_the_same_step(pool):
    first, second = pool.run(2, fit_with_interrupt)
    assert first[1] == second[1] == 3
    assert all(np.array_equal(first[0][key], second[0][key]) for key in first[0])
    assert (first[2], second[2]) == (True, False), "the first process warns for all"


def plan_of_fit():
    X, y = proofs.data_of(proofs.CASES["LFR, table"], 41)
    model = Supervised(devices=2, device="cpu", steps=2, batch_size=8, progress=False)
    ranks = Ranks(CPU, 2)
    return str(model.fit(X, y).plan_), {p.name: p.bytes for p in model.plan_.placements}, ranks.size


def test_a_process_keeps_its_share_of_the_data(pool):
    for text, placed, _ in pool.run(2, plan_of_fit):
        assert "batches of 16 on 2 processes" in text
        assert placed["input"] == 21 * 6 * 4


def test_a_function_as_loss_gets_the_whole_batch(pool):
    alone = rows_seen(1)
    assert alone == {20}
    assert pool.run(2, rows_seen, 2) == [{20}, {20}]


def rows_seen(size):
    seen = set()

    def loss(prediction, target):
        seen.add(prediction.shape[1])
        return F.mse_loss(prediction, target)

    X, _ = proofs.data_of(proofs.CASES["LFR, table"], 40)
    LFR(
        steps=2, n_projectors=2, embedding_dim=8, loss=loss, batch_size=20 // size, devices=size,
        device="cpu", progress=False,
    ).fit(X)  # fmt: skip
    return seen


# ------------------------------------------------------------------ files


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    import pyarrow.parquet

    X, _ = proofs.data_of(proofs.CASES["LFR, table"], 90)
    path = tmp_path_factory.mktemp("files") / "table.parquet"
    table = pyarrow.table({f"c{k}": X[:, k] for k in range(X.shape[1])})
    pyarrow.parquet.write_table(table, path, row_group_size=10)
    return path


def fit_file(path, size, buffer_size=500, **named):
    """Fit on a file of nine row groups with a buffer of two; return also who read what."""
    read = []
    read_piece = TableFiles.read_piece

    def counted(self, piece):
        read.append(piece)
        return read_piece(self, piece)

    train = Trainer.fit

    def fit(self, progress):
        read.clear()
        train(self, progress)

    source = open_table(path, buffer_size=buffer_size)
    settings = {"embedding_dim": 4, "epochs": 2, "batch_size": 30 // size, "optimizer": "sgd",
                "learning_rate": 0.1, "random_state": 0, "progress": False}  # fmt: skip
    TableFiles.read_piece, Trainer.fit = counted, fit
    try:
        model = DIET(devices=size, device="cpu", **settings).fit(source, **named)
    finally:
        TableFiles.read_piece, Trainer.fit = read_piece, train
    result = {"weights": proofs.weights_of(model), "losses": [r["loss"] for r in model.history_]}
    return result, read, settings


def test_a_process_reads_only_its_own_row_groups(pool, file):
    answers = pool.run(2, fit_file, file, 2)
    pieces = [sorted(set(read)) for _, read, _ in answers]
    assert sorted(pieces[0] + pieces[1]) == list(range(9)), "each is read by one process"
    for _, read, _ in answers:
        assert len(read) == 2 * len(set(read)), "and once per pass"
    # The same rows in the same order from memory, in one process.
    whole = PieceSampler(np.arange(0, 91, 10), 2, Seeds.from_root(root_seed(0)).order)
    sampler = DividedPieceSampler(whole, PieceOwners(whole.starts, 2))
    orders = torch.stack([sampler.next_pass(), sampler.next_pass()])
    settings = {**answers[0][2], "batch_size": 30}
    X, _ = proofs.data_of(proofs.CASES["LFR, table"], 90)
    model = DIET(device="cpu", **settings).fit(X, sample_order=orders)
    alone = {"weights": proofs.weights_of(model), "losses": [r["loss"] for r in model.history_]}
    assert max(proofs.difference(alone, answers[0][0])) < 1e-5
    assert proofs.difference(answers[0][0], answers[1][0]) == (0, 0)


def stop_on_file(path, size, folder):
    proofs.stop_after(2)
    try:
        fit_file(path, size, checkpoint=folder, checkpoint_every=2)
    except Exception as error:
        return str(error)


def continue_on_file(path, size, folder):
    return fit_file(path, size, checkpoint=folder, checkpoint_every=2)[0]


@pytest.mark.parametrize(("before", "after"), [(2, 3), (2, 1), (1, 2)])
def test_files_are_read_further_by_the_same_number_of_processes(
    pool, file, tmp_path, before, after
):
    def run(size, function):
        if size == 1:
            return [function(file, 1, tmp_path)]
        return pool.run(size, function, file, size, tmp_path)

    run(before, stop_on_file)
    message = f"it was trained on {before} processes, but now there are {after}"
    if after == 1:
        with (
            pytest.warns(CheckpointWarning, match="processes 2 → 1"),
            pytest.raises(CheckpointError, match=message),
        ):
            continue_on_file(file, 1, tmp_path)
    else:
        for _, error in pool.try_run(after, continue_on_file, file, after, tmp_path):
            assert error[0] == "CheckpointError"
            assert message in error[1]
    whole = run(before, continue_on_file)[0]
    other = run(before, fit_without_stop)[0]
    assert proofs.difference(whole, other) == (0, 0)


def fit_without_stop(path, size, folder):
    return fit_file(path, size)[0]


def test_few_row_groups_are_read_by_all_processes(pool, file):
    alone = fit_few_groups(file, 1)
    assert proofs.difference(alone, pool.run(3, fit_few_groups, file, 3)[0])[0] < 1e-5


def fit_few_groups(path, size):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    few = path.with_name(f"few-{size}-{os.getpid()}.parquet")
    pyarrow.parquet.write_table(table, few, row_group_size=45)
    return fit_file(few, size, buffer_size=1200)[0]


def test_slurm(pool):
    """Last, since it imports what starts processes."""
    alone = proofs.fit_case("DIET, table", 1, **SETTINGS)
    results = pool.run(2, fit_in_slurm, group=False)
    assert proofs.difference(alone, results[0])[0] < 1e-5
    assert proofs.difference(*results) == (0, 0)


def fit_in_slurm():
    rank = multiprocessing.current_process().name.rpartition("-")[2]
    variables = {
        "SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "2", "SLURM_JOB_ID": "17",
        "SLURM_JOB_NAME": "train", "SLURM_NODELIST": "127.0.0.1", "SLURM_NODEID": "0",
        "SLURM_PROCID": rank, "SLURM_LOCALID": rank,
    }  # fmt: skip
    os.environ.update(variables)
    try:
        return proofs.fit_case("DIET, table", 2, **SETTINGS)
    finally:
        assert "lightning_fabric" in sys.modules
        for name in variables:
            del os.environ[name]
