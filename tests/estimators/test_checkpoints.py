"""fit(checkpoint=…): a fit that stops continues bit for bit, or says in a sentence why not."""

import json
import os
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
from torch import nn

import aleator
from aleator.estimators import run_record
from aleator.evaluation import fine_tune
from aleator.exceptions import CheckpointError, CheckpointWarning, InterruptedTrainingWarning
from aleator.training.checkpoint import CheckpointFolder
from tests.small import ALL, TRAINED, small, small_lfr
from tests.training.saved_states import assert_same_fit

ROOT = Path(__file__).parents[2]


class StoppedError(Exception):
    pass


def stop_after(monkeypatch, writes):
    """Let the process fail after so many checkpoints were written."""
    write = CheckpointFolder.write
    left = writes

    def counted(self, *arguments, **named):
        nonlocal left
        write(self, *arguments, **named)
        left -= 1
        if left == 0:
            raise StoppedError

    monkeypatch.setattr(CheckpointFolder, "write", counted)


def stop(monkeypatch, model, X, y, folder, writes, every=1):
    with monkeypatch.context() as patch:
        stop_after(patch, writes)
        with pytest.raises(StoppedError):
            model.fit(X, y, checkpoint=folder, checkpoint_every=every)


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


LABELS = np.arange(60) % 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0.5}, "has learning_rate=0.001, but this one has learning_rate=0.5:"),
        ({"betas": (0.5, 0.9)}, r"has betas=\[0.9, 0.999\], but this one has betas=\[0.5, 0.9\]"),
        ({"random_state": 1}, "has random_state=0, but this one has random_state=1"),
        ({"encoder": nn.Linear(5, 8)}, "has encoder='auto', but this one has encoder="),
        ({"X": slice(0, 50)}, r"is of data of shape \(60, 5\), but X has shape \(50, 5\)"),
        ({"dtype": "float64"}, "is of data of type <f4, but X has type <f8"),
        ({"X": slice(None, None, -1)}, "is of other data than X"),
        ({"y": 1 - LABELS}, "is of other labels than y"),
        ({"sample_order": np.tile(np.arange(60), (2, 1))}, "is of another sample_order"),
        ({"estimator": "Autoencoder"}, "trains Supervised, but this is Autoencoder"),
    ],
)  # fmt: skip
def test_another_run_is_refused_by_name(change, message, table, tmp_path, monkeypatch):
    stop(monkeypatch, small("Supervised"), table, LABELS, tmp_path, writes=3)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    change = dict(change)
    X = table[change.pop("X", slice(None))].astype(change.pop("dtype", "float32"))
    y = change.pop("y", LABELS)[: len(X)]
    named = {"sample_order": change.pop("sample_order")} if "sample_order" in change else {}
    model = small(change.pop("estimator", "Supervised"), **change)
    with pytest.raises(CheckpointError, match=message) as caught:
        model.fit(X, y, checkpoint=tmp_path, **named)
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before
    assert not hasattr(model, "encoder_")


def test_modules_are_compared_by_their_weights(table, tmp_path):
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(5, 4), nn.Tanh())
    small_lfr(encoder=encoder).fit(table, checkpoint=tmp_path)
    small_lfr(encoder=encoder).fit(table, checkpoint=tmp_path)
    with torch.no_grad():
        encoder[0].weight[0, 0] += 1
    with pytest.raises(CheckpointError, match="has another encoder than this one"):
        small_lfr(encoder=encoder).fit(table, checkpoint=tmp_path)


def test_another_version_is_refused(table, tmp_path, monkeypatch):
    small_lfr().fit(table, checkpoint=tmp_path)
    monkeypatch.setattr(run_record, "__version__", "9.9")
    with pytest.raises(CheckpointError, match=r"is of aleator .*, but this is version 9.9"):
        small_lfr().fit(table, checkpoint=tmp_path)


def test_names_of_columns_are_compared(table, tmp_path):
    frame = pd.DataFrame(table, columns=list("abcde"))
    small_lfr().fit(frame, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="other data"):
        small_lfr().fit(frame.rename(columns={"a": "z"}), checkpoint=tmp_path)


def test_what_does_not_matter_may_differ(table, tmp_path, monkeypatch, capsys):
    stop(monkeypatch, small_lfr(), table, None, tmp_path, writes=3)
    resumed = small_lfr(verbose=2, progress=True, device="auto").fit(table, checkpoint=tmp_path)
    if not torch.cuda.is_available():
        assert_same_fit(resumed, small_lfr().fit(table))


def test_large_data_are_compared_by_rows_spread_over_them(monkeypatch, table, tmp_path):
    monkeypatch.setattr(run_record, "_VALUES_COMPARED", 50)  # ten rows
    path = tmp_path / "table.npy"
    np.save(path, table)
    small_lfr().fit(path, checkpoint=tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())["content"]
    assert record["data"]["rows_compared"] == 10
    changed = table.copy()
    changed[-1] += 1  # the last row is one of them
    np.save(path, changed)
    with pytest.raises(CheckpointError, match="other data"):
        small_lfr().fit(path, checkpoint=tmp_path / "run")


def test_resume_false_never_touches_a_run(table, tmp_path):
    small_lfr().fit(table, checkpoint=tmp_path, resume=False)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    with pytest.raises(CheckpointError, match="is not empty: resume=True continues"):
        small_lfr().fit(table, checkpoint=tmp_path, resume=False)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


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


def test_a_run_keeps_its_plan(table, tmp_path, monkeypatch):
    """Less memory is free when it continues: what is kept and what is computed stays the same."""
    stop(monkeypatch, small_lfr(), table, None, tmp_path, writes=3)
    with monkeypatch.context() as patch:
        patch.setattr("aleator.training.plan.free_memory", lambda device: 0)
        resumed = small_lfr().fit(table, checkpoint=tmp_path)
    assert resumed.plan_.where("targets") == "device"
    assert_same_fit(resumed, small_lfr().fit(table))
    assert small_lfr(memory_limit=0).fit(table).plan_.where("targets") == "recomputed"


def test_a_state_that_does_not_fit_is_refused(table, tmp_path, monkeypatch):
    """With a valid checksum, but other shapes; none of them is repeated or cut to fit."""
    stop(monkeypatch, small_lfr(), table, None, tmp_path, writes=3)
    with CheckpointFolder(tmp_path, None) as folder:
        state = folder.latest().state
        moments = state["phases"][0]["optimizer"]["groups"][0]["first"]
        moments[0] = moments[0][:1]
        folder.write(state, steps=3)
    with pytest.raises(CheckpointError, match="does not fit this run: expected the shape"):
        small_lfr().fit(table, checkpoint=tmp_path)


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


class TurnsNaN:
    """A loss that is NaN from the n-th call on."""

    def __init__(self, at, value=float("nan")):
        self.left, self.value = at, value

    def __call__(self, prediction, target):
        self.left -= 1
        loss = ((prediction - target) ** 2).mean()
        return loss if self.left > 0 else loss + self.value


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_an_error_with_its_step(table, value):
    # Four steps per pass: four of the encoder, four of the predictors; then the encoder's sixth.
    with pytest.raises(FloatingPointError) as caught:
        small_lfr(loss=TurnsNaN(10, value), epochs=3).fit(table)
    expected = (
        "at step 6 of phase 'encoder', in epoch 2: try a smaller learning_rate (it was 0.001)"
    )
    assert expected in str(caught.value)


def test_a_state_that_is_not_finite_is_never_written(table, tmp_path):
    with pytest.raises(FloatingPointError, match="at step 3 of phase 'encoder'"):
        small_lfr(loss=TurnsNaN(3)).fit(table, checkpoint=tmp_path, checkpoint_every=1)
    with CheckpointFolder(tmp_path, None) as folder:
        last = folder.latest()
    assert last.steps == 2
    tensors = [t for t in last.state["modules"]["encoder"].values() if t.is_floating_point()]
    assert all(t.isfinite().all() for t in tensors)


def test_weights_that_are_not_finite_are_never_written(table, tmp_path):
    """The loss is still finite, but its gradient is not."""

    class InfiniteGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    def loss(prediction, target):
        return InfiniteGradient.apply(((prediction - target) ** 2).mean())

    with pytest.raises(FloatingPointError, match="the weights are not finite at step 1 of phase"):
        small_lfr(loss=loss).fit(table, checkpoint=tmp_path, checkpoint_every=1)
    with CheckpointFolder(tmp_path, None) as folder:
        assert folder.latest().steps == 0


def test_a_full_disk_ends_the_fit_and_leaves_the_estimator(table, tmp_path, monkeypatch):
    model = small_lfr().fit(table)
    before = model.transform(table)
    calls = 0
    fsync = os.fsync

    def full(handle):
        nonlocal calls
        calls += 1
        if calls > 20:
            raise OSError(28, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"No space left on device.*call fit again"):
            model.fit(table, checkpoint=tmp_path, checkpoint_every=1)
    np.testing.assert_array_equal(model.transform(table), before)
    assert_same_fit(small_lfr().fit(table, checkpoint=tmp_path), small_lfr().fit(table))


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


def test_a_fit_that_fails_before_training_leaves_the_folder_empty(table, tmp_path):
    """The user corrects the parameter, and the same folder can be used."""
    with pytest.raises(ValueError, match="n_projectors=9 is larger than n_candidates=4"):
        small_lfr(n_projectors=9).fit(table, checkpoint=tmp_path)
    assert list(tmp_path.iterdir()) == []
    small_lfr().fit(table, checkpoint=tmp_path)
