"""fit(checkpoint=…): what is refused, and what is never written."""

import json
import os

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from aleator.estimators import run_record
from aleator.exceptions import CheckpointError
from aleator.inputs import checksum
from aleator.training.checkpoint import CheckpointFolder
from tests.estimators.stopped_fits import stop
from tests.small import small, small_lfr
from tests.training.saved_states import assert_same_fit

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


def test_large_data_are_compared_by_rows_spread_over_them(monkeypatch, table, tmp_path):
    monkeypatch.setattr(checksum, "_VALUES_COMPARED", 50)  # ten rows
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


def test_a_fit_does_not_begin_anew_by_itself(table, tmp_path, monkeypatch):
    stop(monkeypatch, small_lfr(), table, None, tmp_path, writes=3)
    for file in tmp_path.glob("checkpoint-*/tensors.safetensors"):
        file.write_bytes(file.read_bytes()[:-1])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    with pytest.raises(CheckpointError, match="to start anew, delete this folder"):
        small_lfr().fit(table, checkpoint=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


class TurnsNaN:
    """A loss that is NaN from the n-th call on."""

    def __init__(self, at, value=float("nan")):
        self.left, self.value = at, value

    def __call__(self, prediction, target):
        self.left -= 1
        loss = ((prediction - target) ** 2).mean()
        return loss if self.left > 0 else loss + self.value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_loss_that_is_not_finite_is_an_error_with_its_step(table, value):
    # Four steps per pass: four of the encoder, four of the predictors; then the encoder's sixth.
    with pytest.raises(FloatingPointError) as caught:
        small_lfr(loss=TurnsNaN(10, value), epochs=3).fit(table)
    expected = (
        "at step 6 of phase 'encoder', in epoch 2: try a smaller learning_rate (it was 0.001)"
    )
    assert expected in str(caught.value)


def test_training_stops_soon_after_a_loss_that_is_not_finite(table):
    """Not at the end of a pass, which may take hours; and the rate is that of the step."""
    rows = np.concatenate([table] * 30)
    loss = TurnsNaN(3)
    lfr = small_lfr(loss=loss, batch_size=2, schedule="cosine", training="joint", epochs=1)
    expected = r"at step 3 of phase 'joint', in epoch 1: .* \(it was 0.00(1|0999)"
    with pytest.raises(FloatingPointError, match=expected):
        lfr.fit(rows)
    assert 100 <= 3 - loss.left <= 101 < len(rows) // 2


class NaNGradient(torch.autograd.Function):
    """The identity, whose gradient is NaN."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * float("nan")


def loss_with_nan_gradient(prediction, target):
    return NaNGradient.apply(((prediction - target) ** 2).mean())


def test_weights_that_the_last_step_spoils_are_an_error(table):
    """The loss of the last step is still finite; without a checkpoint it is an error too."""
    lfr = small_lfr(loss=loss_with_nan_gradient, training="joint", steps=1)
    with pytest.raises(FloatingPointError, match="the weights are not finite at step 1 of phase"):
        lfr.fit(table)
    assert not hasattr(lfr, "encoder_")


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
    with pytest.raises(FloatingPointError, match="the weights are not finite at step 1 of phase"):
        small_lfr(loss=loss_with_nan_gradient).fit(table, checkpoint=tmp_path, checkpoint_every=1)
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


def test_a_fit_that_fails_before_training_leaves_the_folder_empty(table, tmp_path):
    """The user corrects the parameter, and the same folder can be used."""
    with pytest.raises(ValueError, match="n_projectors=9 is larger than n_candidates=4"):
        small_lfr(n_projectors=9).fit(table, checkpoint=tmp_path)
    assert list(tmp_path.iterdir()) == []
    small_lfr().fit(table, checkpoint=tmp_path)
