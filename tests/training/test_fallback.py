"""Memory that does not suffice: less is kept, networks run on fewer rows, or an error says why.

Running out of memory is simulated by errors like those of torch; on a GPU it is real (test_gpu.py).
"""

import numpy as np
import pytest
import torch
from torch import nn

from aleator.exceptions import LessMemoryWarning
from aleator.training import columns, trainer
from aleator.training.fallback import less_resident
from aleator.training.micro_batches import micro_batches
from aleator.training.plan import Placement, Plan
from aleator.training.steps import Step
from tests.small import small, small_lfr
from tests.training.saved_states import assert_same_fit

GPU_ERROR = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nmore")
CPU_ERROR = RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate")


def messages(caught):
    return [str(w.message) for w in caught if issubclass(w.category, LessMemoryWarning)]


def losses(model):
    return [record["loss"] for record in model.history_]


def fail_before_update(patch, fails, error=GPU_ERROR):
    """Let steps run out of memory between forward and update, as long as `fails(step)` says so."""
    call = Step.__call__

    def limited(self, index):
        if fails(self):
            with torch.enable_grad():  # what a failing step has done: noise and averages have moved
                self.phase.loss(*self._columns.gather(self.phase.columns, index))
            raise error
        call(self, index)

    patch.setattr(Step, "__call__", limited)


def test_the_order_in_which_columns_move():
    places = [("layer", "device", 500), ("input", "device", 50), ("targets", "device", 90),
              ("embedding", "device", 40)]  # fmt: skip
    origins = {"input": "streamed", "targets": None, "embedding": None}

    def moves(device):
        plan = Plan(device, "32", False, 8, tuple(Placement(*place) for place in places), 1000)
        while (found := less_resident(plan, origins)) is not None:
            plan, moved = found
            yield moved.name, moved.where

    assert list(moves("cuda:0")) == [
        ("targets", "host"), ("input", "streamed"), ("embedding", "host"),
        ("targets", "recomputed"), ("embedding", "recomputed"),
    ]  # fmt: skip
    assert list(moves("cpu")) == [("targets", "recomputed"), ("embedding", "recomputed")]


@pytest.mark.parametrize("error", [GPU_ERROR, CPU_ERROR, MemoryError("no memory")])
def test_a_column_that_does_not_fit_is_computed_again(table, monkeypatch, error):
    whole = small_lfr().fit(table)
    empty = torch.empty

    def small_only(*shape, **named):
        if shape == ((60, 2, 8),):  # the targets
            raise error
        return empty(*shape, **named)

    monkeypatch.setattr(columns.torch, "empty", small_only)
    with pytest.warns(LessMemoryWarning) as caught:
        lfr = small_lfr().fit(table)
    assert messages(caught) == [
        "memory did not suffice on cpu: the column 'targets' is now computed again for every "
        "batch, and training continues"
    ]
    assert lfr.plan_.where("targets") == "recomputed"
    np.testing.assert_allclose(losses(lfr), losses(whole), rtol=1e-5)


@pytest.mark.parametrize("name", ["LFR", "BYOL", "TSTCC", "SCARF", "Supervised"])
def test_a_step_that_failed_is_made_again_as_if_it_had_not(name, table, series, monkeypatch):
    """Noise, the averages of batch normalization and the order of samples are set back."""
    X = series if name == "TSTCC" else table
    y = np.arange(len(X)) % 2
    whole = small(name).fit(X, y)
    # Nothing can be moved for most methods: only that the step is made again is tested here.
    monkeypatch.setattr(trainer, "plan_for_less", lambda plan, *rest: plan)
    failed = []

    def fails_once(step):
        failed.append(step.phase.name)
        return len(failed) == 1

    with monkeypatch.context() as patch:
        fail_before_update(patch, fails_once)
        again = small(name).fit(X, y)
    assert len(failed) > 1
    assert_same_fit(again, whole)


def test_batch_norm_and_dropout_are_set_back(series, monkeypatch):
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    whole = small_lfr(encoder=encoder).fit(series)
    monkeypatch.setattr(trainer, "plan_for_less", lambda plan, *rest: plan)
    failed = set()

    def fails_once_per_phase(step):
        first = step.phase.name not in failed
        failed.add(step.phase.name)
        return first

    with monkeypatch.context() as patch:
        fail_before_update(patch, fails_once_per_phase)
        again = small_lfr(encoder=encoder).fit(series)
    assert failed == {"encoder", "predictors"}
    assert_same_fit(again, whole)


@pytest.mark.parametrize(
    "name", ["LFR", "SimCLR", "BYOL", "SimSiam", "Autoencoder", "DIET", "SCARF"]
)
def test_micro_batches_keep_the_loss_of_the_whole_batch(name, table, monkeypatch):
    """The loss of most of these compares the rows of a batch."""
    # Adam would amplify rounding where gradients are small.
    changes = {"optimizer": "sgd", "learning_rate": 0.01}
    if name in ("BYOL", "SimSiam"):
        changes |= {"projector_norm": "none", "predictor": "linear"}
    if name == "LFR":
        changes |= {"loss": "bbt", "encoder": "mlp"}
    whole = small(name, **changes).fit(table)
    rows = []
    linear = nn.Linear.forward

    def watched(self, x):
        rows.append(len(x))
        return linear(self, x)

    with monkeypatch.context() as patch:
        fail_before_update(patch, lambda step: step._micro_batch not in (4, 2))
        patch.setattr(nn.Linear, "forward", watched)
        with pytest.warns(LessMemoryWarning) as caught:
            divided = small(name, **changes).fit(table)
    assert "networks now run on 8 rows at a time" in messages(caught)[-2]
    assert "networks now run on 4 rows at a time" in messages(caught)[-1]
    assert divided.plan_.micro_batch == 4
    assert "of which 4 rows at a time" in str(divided.plan_)
    assert 4 in rows
    np.testing.assert_allclose(losses(divided), losses(whole), rtol=1e-4)
    np.testing.assert_allclose(divided.transform(table), whole.transform(table), atol=1e-5)
    assert "forward" not in vars(divided.encoder_), "networks are left as they were"


def test_the_gradient_of_a_divided_network_is_that_of_the_whole():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    x = torch.randn(7, 3, dtype=torch.float64)

    def gradients():
        network.zero_grad()
        out = network(x)
        (out @ out.T).logsumexp(1).sum().backward()  # all rows with all rows
        return [parameter.grad.clone() for parameter in network.parameters()]

    expected = gradients()
    with micro_batches([network], 3):
        divided = gradients()
    for ours, theirs in zip(divided, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_dropout_is_drawn_once_for_each_piece():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
    x = torch.randn(6, 3, requires_grad=True)
    with micro_batches([network], 2):
        out = network(x)
    kept = out != 0
    out.sum().backward()  # computes every piece again
    torch.testing.assert_close(x.grad, 2 * kept.float() @ network[0].weight)


def test_networks_that_normalize_batches_are_not_divided(series, monkeypatch):
    with monkeypatch.context() as patch:
        fail_before_update(patch, lambda step: True)
        with pytest.raises(MemoryError) as caught:
            small("Supervised").fit(series, np.arange(40) % 2)
    assert str(caught.value) == (
        "memory does not suffice on cpu for batches of 16 rows, and no more of it can be freed, "
        "nor can a batch be divided, since the networks normalize batches: lower batch_size or "
        "embedding_dim, or train on another device (CUDA out of memory. Tried to allocate 9 GiB)"
    )


def test_memory_that_is_gone_later_is_an_error_or_continues_from_a_checkpoint(
    table, tmp_path, monkeypatch
):
    """Not the first step of its kind: what it changed was not copied, and cannot be set back."""
    whole = small_lfr(epochs=3).fit(table)

    def fails_at(number):
        made = 0

        def fails(step):
            nonlocal made
            made += 1
            return made == number

        return fails

    with monkeypatch.context() as patch:
        fail_before_update(patch, fails_at(11))
        with pytest.raises(MemoryError, match="lower batch_size"):
            small_lfr(epochs=3).fit(table)
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "plan_for_less", lambda plan, *rest: plan)
        fail_before_update(patch, fails_at(11))
        continued = small_lfr(epochs=3).fit(table, checkpoint=tmp_path, checkpoint_every=4)
    assert_same_fit(continued, whole)


def test_other_errors_are_not_taken_for_memory(table):
    def broken(prediction, target):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        small_lfr(loss=broken).fit(table)
