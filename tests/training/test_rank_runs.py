"""Runs of several processes: how they begin, agree, end, fail and continue."""

import contextlib
import io
import os
import signal
import time
import warnings

import numpy as np
import pytest
import torch
import torch.distributed as dist

from aleator import SimCLR, Supervised
from aleator.benchmark import rank_cases as proofs
from aleator.exceptions import InterruptedTrainingWarning
from aleator.training import watch
from aleator.training.ranks import Ranks
from aleator.training.trainer import Trainer
from tests.training.process_pool import ProcessPool

CPU = torch.device("cpu")
SETTINGS = {"rows": 50, "batch": 30, "steps": 5}


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


def progress_of_fit():
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        fit_table(2, 0, verbose=2)
    return shown.getvalue()


def test_only_the_first_process_shows_progress(pool):
    first, second = pool.run(2, progress_of_fit)
    assert first.count("[SimCLR]") == 1, "one pass"
    assert second == ""


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


def fit_until_killed(size, victim, folder):
    step = Trainer._train_step

    def killed(self, *arguments):
        step(self, *arguments)
        if dist.get_rank() == victim and self.steps == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    Trainer._train_step = killed
    proofs.fit_case("DIET, table", size, **SETTINGS, checkpoint=folder, checkpoint_every=2)


@pytest.mark.parametrize(("size", "victim"), [(2, 1), (3, 0), (3, 1), (3, 2)])
def test_a_run_continues_after_one_of_its_processes_was_killed(tmp_path, size, victim):
    """`python -m aleator.benchmark.ranks kills` does so with two processes that Fabric starts."""
    pool = ProcessPool(size)
    began = time.monotonic()
    answers = pool.try_run(size, fit_until_killed, size, victim, tmp_path)
    assert time.monotonic() - began < 30
    pool.close()
    assert answers.pop(victim)[1][0] == "killed"
    for _, error in answers:
        assert error[:2] == (
            "ProcessError",
            f"process {victim} of {size} has ended (it was killed, or its machine failed), "
            "so that training ends",
        )
    whole = proofs.fit_case("DIET, table", 1, **SETTINGS)
    again = proofs.fit_case("DIET, table", 1, **SETTINGS, checkpoint=tmp_path)
    assert max(proofs.difference(whole, again)) < 1e-5


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


def fit_killed_before_the_watch(size, victim):
    def killed(*arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    watch._SECONDS_TO_CONNECT = 3.0
    if dist.get_rank() == victim and victim == 0:
        watch._address = killed
    elif dist.get_rank() == victim:
        watch.socket.create_connection = killed
    fit_table(size, 0)


@pytest.mark.parametrize(
    ("size", "victim", "news"),
    [
        (3, 1, "process 1 of 3 did not come (killed, ended, "),
        (2, 0, "process 0 of 2 cannot be reached"),
    ],
)
def test_a_process_that_is_killed_while_all_connect_is_named(size, victim, news):
    pool = ProcessPool(size)
    answers = pool.try_run(size, fit_killed_before_the_watch, size, victim)
    pool.close()
    assert answers.pop(victim)[1][0] == "killed"
    for _, error in answers:
        assert error[0] == "ProcessError"
        assert error[1].startswith(news)
