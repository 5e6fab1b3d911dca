"""Checkpoints whose checksums fit, but whose entries were made to do harm."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

from aleator.benchmark.fuzzing.mutations import seal
from aleator.exceptions import CheckpointError
from aleator.training.checkpoint import CheckpointFolder
from tests.estimators.stopped_fits import stop
from tests.small import small, small_lfr
from tests.training.saved_states import assert_same_fit


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run of two phases, in the middle of the second pass of the first."""
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        stop(patch, small_lfr(), X, None, folder, writes=11)
    return X, folder


@pytest.fixture
def run(stopped, tmp_path):
    X, folder = stopped
    return X, shutil.copytree(folder, tmp_path / "run")


def assert_refused(X, folder, message=""):
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    state = torch.get_rng_state()
    with pytest.raises(CheckpointError, match=re.escape(str(folder))) as caught:
        small_lfr().fit(X, checkpoint=folder)
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before
    assert torch.equal(torch.get_rng_state(), state)


MISSING = object()


def change(value, place, new):
    *path, last = place
    for key in path:
        value = value[key]
    if new is MISSING:
        del value[last]
    else:
        value[last] = new(value[last]) if callable(new) else new


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["seeds"], MISSING),
        (["seeds"], []),
        (["seeds"], {"root_seed": 3}),
        (["seeds", "root_seed"], -5),
        (["seeds", "root_seed"], 2**40),
        (["seeds", "root_seed"], None),
        (["seeds", "random_state"], "x"),
        (["seeds", "more"], 1),
        (["parameters"], []),
        (["parameters"], None),
        (["parameters", "epochs"], {"a": 1, "b": [2]}),
        (["data"], []),
        (["data", "shape"], 5),
        (["data", "shape"], ["x"]),
        (["estimator"], None),
        (["labels"], [1]),
        (["sample_order"], {}),
        (["aleator"], []),
    ],
)
def test_a_wrong_entry_of_a_record_is_named(place, value, run):
    X, folder = run
    content = json.loads((folder / "run.json").read_text())["content"]
    change(content, place, value)
    seal(folder / "run.json", content)
    assert_refused(X, folder)


PHASE = ["phases", 0]
GROUP = [*PHASE, "optimizer", "groups", 0]
WRONG = [
    (["position", "turn"], None),
    (["position", "turn"], 10**6),
    (["position", "turn"], -1),
    (["position", "turn"], True),
    (["position", "turn"], 1),  # the steps are those of another turn
    (["position", "round"], 0),
    (["position", "round"], "x"),
    (["position", "round"], 10**6),
    (["position"], []),
    (["phases"], None),
    (["phases"], lambda phases: phases[:1]),
    (["phases", 0], "x"),
    ([*PHASE, "steps_in_turn"], "x"),
    ([*PHASE, "steps_in_turn"], 10**6),
    ([*PHASE, "steps"], 0),
    ([*PHASE, "steps_in_pass"], 3),
    ([*PHASE, "round"], -1),
    ([*PHASE, "seen"], 5),
    ([*PHASE, "seen"], "x"),
    ([*PHASE, "seconds"], "x"),
    ([*PHASE, "seconds"], float("nan")),
    ([*PHASE, "loss_sum"], None),
    ([*PHASE, "loss_sum"], torch.tensor(float("nan"))),
    ([*PHASE, "order"], lambda order: order + 10**12),
    ([*PHASE, "order"], lambda order: order - 1),
    ([*PHASE, "order"], lambda order: order[:-1]),
    ([*PHASE, "order"], lambda order: order.double()),
    ([*PHASE, "order"], None),
    ([*PHASE, "optimizer"], None),
    ([*GROUP, "lr"], "x"),
    ([*GROUP, "lr"], float("inf")),
    ([*GROUP, "lr"], -1.0),
    ([*GROUP, "powers"], 3),
    ([*GROUP, "first"], []),
    ([*GROUP, "second", 0], lambda second: second * float("nan")),
    (["plan", "placements", 0, "name"], "x"),
    (["plan", "placements", 0, "where"], "x"),
    (["plan", "placements", 0, "bytes"], None),
    (["plan", "placements"], []),
    (["plan", "batch_size"], None),
    (["plan", "batch_size"], 0),
    (["plan", "batch_size"], 7),
    (["plan", "micro_batch"], -1),
    (["plan", "graphs"], None),
    (["plan", "graphs"], True),
    (["plan"], []),
    (["sampler"], None),
    (["sampler", "passes"], -1),
    (["sampler", "passes"], 0),
    (["sampler", "generator"], lambda state: state[:8]),
    (["rng"], {}),
    (["rng", "cpu"], lambda state: state[:-1]),
    (["rng", "cpu"], "x"),
    (["conditions"], [1]),
    (["history"], {}),
    (["history"], [{}]),
    (["monitor"], None),
    (["monitor", "spread"], "x"),
    (["modules", "encoder"], {}),
    (["modules"], MISSING),
]


@pytest.mark.parametrize(("place", "value"), WRONG)
def test_a_wrong_entry_of_a_state_is_refused(place, value, run):
    X, folder = run
    with CheckpointFolder(folder, None) as opened:
        last = opened.latest()
        assert last.state["position"] == {"round": 1, "turn": 0}
        assert last.state["phases"][0]["steps_in_pass"] == 2
        change(last.state, place, value)
        opened.write(last.state, steps=last.steps)
    assert_refused(X, folder, "does not fit this run")


@pytest.mark.parametrize("value", [3, -1, 10**6, None, "x"])
def test_a_round_that_does_not_exist_is_refused(value, run):
    """There are two; of a finished run only the networks are read."""
    X, folder = run
    with CheckpointFolder(folder, None) as opened:
        last = opened.latest()
        last.state["position"]["round"] = value
        last.state["phases"] = []
        opened.write(last.state, steps=last.steps)
    assert_refused(X, folder, "'round' is")


@pytest.mark.parametrize("steps", ["x", None, -1])
def test_a_wrong_number_of_steps_is_damage(steps, run):
    X, folder = run
    for part in folder.glob("checkpoint-*"):
        content = json.loads((part / "state.json").read_text())["content"]
        content["steps"] = steps
        seal(part / "state.json", content)
    assert_refused(X, folder, "steps were made")


def test_a_state_that_is_too_deep_is_damage(run):
    X, folder = run
    for part in folder.glob("checkpoint-*"):
        content = json.loads((part / "state.json").read_text())["content"]
        for _ in range(900):
            content["state"] = [content["state"]]
        seal(part / "state.json", content)
    assert_refused(X, folder)


@pytest.mark.parametrize("by", [{"steps": 7}, {"epochs": 3}])
@pytest.mark.parametrize("name", ["LFR", "SimCLR"])
def test_every_state_that_is_written_is_one_that_can_be_restored(name, by, tmp_path, monkeypatch):
    """After each step; checks that are too strict would refuse one of them."""
    X = np.random.default_rng(0).normal(size=(50, 5)).astype(np.float32)
    whole = small(name, **by).fit(X)
    steps = sum(record["steps"] for record in whole.history_)
    for writes in range(1, steps + 2):
        folder = tmp_path / str(writes)
        stop(monkeypatch, small(name, **by), X, None, folder, writes=writes)
        assert_same_fit(small(name, **by).fit(X, checkpoint=folder), whole)
