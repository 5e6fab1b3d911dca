"""What is checked of a state before a run continues from it, and what it may keep in memory."""

import warnings
from dataclasses import replace

import pytest

from aleator.exceptions import CheckpointError, LessMemoryWarning
from aleator.training.continuation import (
    fitting_state,
    history_of_state,
    plan_of_state,
    plan_with_room,
)
from aleator.training.plan import Placement, Plan

GIB = 1 << 30

RECORD = {"epoch": 0, "phase": "joint", "loss": 0.5, "seconds": 0.1, "steps": 3}


def test_history_is_copied():
    state = {"history": [dict(RECORD)]}
    history = history_of_state(state)
    history[0]["loss"] = 7.0
    assert state["history"] == [RECORD]


@pytest.mark.parametrize(
    "history",
    [3, None, [RECORD, 3], [{**RECORD, "loss": "low"}], [{**RECORD, "effective_rank": [1]}]],
)
def test_a_history_that_no_trainer_wrote_is_an_error_of_the_checkpoint(history):
    with pytest.raises(CheckpointError, match="does not fit this run"), fitting_state():
        history_of_state({"history": history})


def plan(device, **places):
    """A plan that keeps 3 GiB of input, 8 of targets, 2 of features and 1 of a layer."""
    sizes = {"input": 3, "targets": 8, "features": 2, "layer": 1}
    placements = (Placement(name, places.get(name, "device"), n * GIB) for name, n in sizes.items())
    return Plan(device, "32", False, 64, tuple(placements), 99 * GIB, micro_batch=16)


RECOMPUTED = {"targets": "recomputed", "features": "recomputed"}


def continued(then, now, free):
    """Return the places of a plan that continues, and whether there was a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = plan_with_room(then, now, {"input"}, free)
    assert all(warning.category is LessMemoryWarning for warning in caught)
    assert found.micro_batch == 16
    return {place.name: place.where for place in found.placements}, len(caught)


@pytest.mark.parametrize(
    ("free", "moved"),
    [
        (12.3, []),  # 11 GiB are kept beside the input, which is there already
        (12.2, ["targets"]),
        (3.4, ["targets"]),
        (3.3, ["targets", "features"]),
        (0, ["targets", "features"]),  # a layer cannot be moved
    ],
)
def test_what_cannot_be_kept_on_the_host_is_computed_again(free, moved):
    places, warned = continued(plan("cpu"), plan("cpu", **RECOMPUTED), free * GIB)
    assert places == {**dict.fromkeys(places, "device"), **dict.fromkeys(moved, "recomputed")}
    assert warned == bool(moved)


def test_what_a_new_run_would_keep_is_kept():
    """For example because the user has set memory_limit."""
    places, warned = continued(plan("cpu"), plan("cpu"), 0)
    assert set(places.values()) == {"device"}
    assert not warned


def test_only_what_is_kept_on_the_host_counts():
    """Memory of a GPU that does not suffice is an error, after which training continues."""
    then = plan("cuda:0", input="host", targets="host")
    now = plan("cuda:0", input="host", **RECOMPUTED)
    assert continued(then, now, 9 * GIB)[0]["targets"] == "host"
    places, _ = continued(then, now, 8 * GIB)
    assert places == {
        "input": "host", "targets": "recomputed", "features": "device", "layer": "device"
    }  # fmt: skip


def test_little_is_kept_even_if_nothing_is_free():
    small = [Plan("cpu", "32", False, 64, (Placement("targets", where, 64 << 20),), 0, 16)
             for where in ("device", "recomputed")]  # fmt: skip
    assert continued(*small, 0) == ({"targets": "device"}, 0)


def test_the_warning_names_what_changes():
    with pytest.warns(LessMemoryWarning) as caught:
        plan_with_room(plan("cpu"), plan("cpu", **RECOMPUTED), {"input"}, 3 * GIB)
    assert str(caught[0].message) == (
        "less memory is free than before: the column 'targets' is now computed again for every "
        "batch, the column 'features' is now computed again for every batch, and training "
        "continues, but will not be the same bit for bit as without a stop"
    )


@pytest.mark.parametrize("graphs_now", [True, False])
def test_a_plan_with_graphs_is_kept_although_less_of_the_gpu_is_free_now(graphs_now):
    then = Plan("cuda:0", "tf32", True, 128, (), 7)
    now = replace(then, graphs=graphs_now, device_limit=1)
    assert plan_of_state({"plan": then.to_dict()}, now) == then


def test_a_plan_with_graphs_is_refused_without_a_gpu():
    now = Plan("cpu", "32", False, 128, (), 7)
    with pytest.raises(ValueError, match="has CUDA graphs, which there are not on cpu"):
        plan_of_state({"plan": replace(now, graphs=True).to_dict()}, now)
