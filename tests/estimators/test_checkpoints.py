"""fit(checkpoint=…): a fit that stops continues bit for bit."""

import os
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import aleator
from aleator.evaluation import fine_tune
from aleator.exceptions import (
    CheckpointError,
    CheckpointWarning,
    InterruptedTrainingWarning,
    LessMemoryWarning,
)
from aleator.training import continuation
from aleator.training.checkpoint import CheckpointFolder
from tests.estimators.stopped_fits import StoppedError, stop, stop_after
from tests.small import ALL, TRAINED, small, small_lfr
from tests.training.saved_states import assert_same_fit

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", TRAINED)
def test_every_method_continues_bit_for_bit(name, table, series, monkeypatch, tmp_path):
    """Stopped before the first step, in mid-pass, and once more."""
    X = series if name == "TSTCC" else table
    y = np.arange(len(X)) % 2
    model = small(name, batch_size=12)
    whole = clone(model).fit(X, y)
    for writes in (1, 3, 2):  # the states at the start, and after steps 3 and 5
        stop(monkeypatch, clone(model), X, y, tmp_path, writes)
    assert_same_fit(clone(model).fit(X, y, checkpoint=tmp_path, checkpoint_every=3), whole)


def test_two_phases_continue_in_any_of_them(series, monkeypatch, tmp_path):
    model = small_lfr(predictor_epochs=2, schedule="cosine", warmup_epochs=1, batch_size=12)
    whole = clone(model).fit(series)
    for _ in range(8):  # each time two steps further, through both phases and both epochs
        stop(monkeypatch, clone(model), series, None, tmp_path, writes=2)
    resumed = clone(model).fit(series, checkpoint=tmp_path, checkpoint_every=1)
    assert_same_fit(resumed, whole)
    np.testing.assert_array_equal(resumed.transform(series), whole.transform(series))


def test_files_that_are_read_in_pieces_continue_in_mid_pass(random, monkeypatch, tmp_path):
    frame = pd.DataFrame(random.normal(size=(400, 5)), columns=list("abcde"))
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=40)
    opened = aleator.open_table(path, buffer_size=100 * 5 * 8)  # two row groups and a half
    assert not opened.fits_buffer
    model = small("SimCLR", batch_size=32, epochs=2)
    whole = clone(model).fit(opened)
    folder = tmp_path / "checkpoints"
    for writes in (3, 5, 4):
        stop(monkeypatch, clone(model), opened, None, folder, writes)
    assert_same_fit(clone(model).fit(opened, checkpoint=folder, checkpoint_every=2), whole)
    frame.iloc[::-1].to_parquet(path, row_group_size=40)
    with pytest.raises(CheckpointError, match="is of other data than X"):
        clone(model).fit(aleator.open_table(path, buffer_size=4000), checkpoint=folder)


def test_a_finished_run_is_returned_without_training(table, tmp_path, monkeypatch):
    first = small_lfr().fit(table, checkpoint=tmp_path)

    def forbidden(*arguments):
        raise AssertionError("trained")

    monkeypatch.setattr("aleator.training.phase_state.PhaseState.train_batch", forbidden)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = small_lfr().fit(table, checkpoint=tmp_path)
    assert again.history_ == first.history_
    assert_same_fit(again, first)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_seed_that_was_drawn_is_recorded(table, tmp_path, monkeypatch):
    stop(monkeypatch, small_lfr(random_state=None), table, None, tmp_path, writes=4)
    resumed = small_lfr(random_state=None).fit(table, checkpoint=tmp_path)
    assert isinstance(resumed.random_state_, int)
    assert_same_fit(small_lfr(random_state=resumed.random_state_).fit(table), resumed)
    other = small_lfr(random_state=None).fit(table)
    assert other.random_state_ != resumed.random_state_
    other.save(tmp_path / "model")
    assert aleator.load(tmp_path / "model").random_state_ == other.random_state_
    assert small_lfr(random_state=7).fit(table).random_state_ == 7


def test_an_instance_of_random_state_continues(table, tmp_path, monkeypatch):
    whole = small_lfr(random_state=np.random.RandomState(3)).fit(table)
    instance = np.random.RandomState(3)
    stop(monkeypatch, small_lfr(random_state=instance), table, None, tmp_path, writes=3)
    resumed = small_lfr(random_state=instance).fit(table, checkpoint=tmp_path)
    assert_same_fit(resumed, whole)
    assert resumed.random_state_ is None


@pytest.mark.parametrize("name", sorted(set(ALL) - set(TRAINED)))
def test_estimators_that_make_no_steps_keep_their_seed(name, table, tmp_path):
    y = np.arange(len(table)) % 2
    first = small(name, random_state=None).fit(table, y, checkpoint=tmp_path)
    again = small(name, random_state=None).fit(table, y, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.transform(table), first.transform(table))


def test_what_does_not_matter_may_differ(table, tmp_path, monkeypatch, capsys):
    stop(monkeypatch, small_lfr(), table, None, tmp_path, writes=3)
    resumed = small_lfr(verbose=2, progress=True, device="auto").fit(table, checkpoint=tmp_path)
    if not torch.cuda.is_available():
        assert_same_fit(resumed, small_lfr().fit(table))


def test_other_conditions_are_a_warning(table, tmp_path, monkeypatch):
    stop(monkeypatch, small_lfr(), table, None, tmp_path, writes=3)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        with pytest.warns(
            CheckpointWarning, match=rf"threads {threads} → {threads + 1}\), so that"
        ):
            small_lfr().fit(table, checkpoint=tmp_path)
    finally:
        torch.set_num_threads(threads)


def free(patch, found):
    for user in ("training.plan", "estimators.trained"):
        patch.setattr(f"aleator.{user}.free_memory", lambda device: found)


def test_a_run_keeps_its_plan(table, tmp_path, monkeypatch):
    """Less memory is free when it continues: what is kept and what is computed stays the same."""
    stop(monkeypatch, small_lfr(), table, None, tmp_path, writes=3)
    with monkeypatch.context() as patch:
        free(patch, 0)
        resumed = small_lfr().fit(table, checkpoint=tmp_path)
    assert resumed.plan_.where("targets") == "device"
    assert_same_fit(resumed, small_lfr().fit(table))
    assert small_lfr(memory_limit=0).fit(table).plan_.where("targets") == "recomputed"


def test_a_run_that_would_be_killed_for_its_plan_changes_it(table, tmp_path, monkeypatch):
    """Targets have 3840 bytes, the embedding has 1920."""
    whole = small_lfr(epochs=3).fit(table)
    folder = tmp_path / "run"
    stop(monkeypatch, small_lfr(epochs=3), table, None, folder, writes=3)
    monkeypatch.setattr(continuation, "_LITTLE", 0)
    with monkeypatch.context() as patch:
        free(patch, 6500)  # too little to begin with, but enough to continue
        assert small_lfr(epochs=3).fit(table).plan_.where("embedding") == "recomputed"
        copy = shutil.copytree(folder, tmp_path / "copy")
        assert_same_fit(small_lfr(epochs=3).fit(table, checkpoint=copy), whole)
        free(patch, 5000)
        with pytest.warns(LessMemoryWarning, match="'targets' is now computed again"):
            changed = small_lfr(epochs=3).fit(table, checkpoint=folder)
        free(patch, 0)
        finished = small_lfr(epochs=3).fit(table, checkpoint=folder)  # needs no memory
    assert changed.plan_.where("targets") == "recomputed"
    assert changed.plan_.where("embedding") == "device"
    assert finished.plan_ == changed.plan_, "the changed plan was saved"
    ours, theirs = ([r["loss"] for r in run.history_] for run in (changed, whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.fixture
def ctrl_c():
    """Handle Ctrl-C as Python does, which a process in the background need not."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_writes_a_last_checkpoint(table, tmp_path):
    """The signal arrives in the middle of a step, which is finished first."""
    calls = 0

    def loss(prediction, target):
        nonlocal calls
        calls += 1
        if calls == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return ((prediction - target) ** 2).mean()

    model = small_lfr(loss=loss, epochs=3)
    calls = -(10**6)
    whole = clone(model).fit(table)
    calls = 0
    with pytest.warns(InterruptedTrainingWarning):
        early = clone(model).fit(table, checkpoint=tmp_path)
    assert sum(record["steps"] for record in early.history_) == 5
    assert early.transform(table).shape == (60, 8)
    with CheckpointFolder(tmp_path, None) as folder:
        assert folder.latest().steps == 5
    assert_same_fit(clone(model).fit(table, checkpoint=tmp_path), whole)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_within_a_step_leaves_the_last_whole_checkpoint(table, tmp_path):
    """A second Ctrl-C: weights may be half updated, so that they are not written."""
    calls = 0

    def loss(prediction, target):
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return ((prediction - target) ** 2).mean()

    with pytest.warns(InterruptedTrainingWarning):
        small_lfr(loss=loss).fit(table, checkpoint=tmp_path, checkpoint_every=2)
    with CheckpointFolder(tmp_path, None) as folder:
        assert folder.latest().steps == 4
    whole = small_lfr(loss=loss).fit(table)
    assert_same_fit(small_lfr(loss=loss).fit(table, checkpoint=tmp_path), whole)


def test_fine_tuning_continues(table, tmp_path, monkeypatch):
    y = (table[:, 0] > 0).astype(int)
    lfr = small_lfr().fit(table)
    arguments = {"epochs": 3, "batch_size": 16, "seeds": [0, 1]}
    whole = fine_tune(lfr, table, y, table, y, **arguments)
    with monkeypatch.context() as patch:
        stop_after(patch, writes=18)  # in the run of the second seed
        with pytest.raises(StoppedError):
            fine_tune(lfr, table, y, table, y, checkpoint=tmp_path, checkpoint_every=1, **arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-0", "seed-1"]
    again = fine_tune(lfr, table, y, table, y, checkpoint=tmp_path, **arguments)
    assert again.metrics == whole.metrics


def test_the_folder_holds_data_only(table, tmp_path):
    small_lfr().fit(table, checkpoint=tmp_path)
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_process_can_be_followed_by_another(table, tmp_path):
    """The lock of a process that was killed is gone with it."""
    code = f"""
import os, signal, numpy as np
from tests.small import small_lfr
from aleator.training.checkpoint import CheckpointFolder
write = CheckpointFolder.write
def killed(self, *arguments, **named):
    write(self, *arguments, **named)
    if arguments[1] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
CheckpointFolder.write = killed
small_lfr().fit(np.load({str(tmp_path / "X.npy")!r}), checkpoint={str(tmp_path / "run")!r},
                checkpoint_every=1)
"""
    np.save(tmp_path / "X.npy", table)
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=False)
    assert process.returncode == -signal.SIGKILL
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)
        resumed = small_lfr().fit(table, checkpoint=tmp_path / "run")
    assert_same_fit(resumed, small_lfr().fit(table))
