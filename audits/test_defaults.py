"""Committed results of LFR with its defaults meet the requirements on accuracy, time and memory."""

from statistics import fmean

import pytest

from aleator.benchmark.study import default_seeds
from audits.committed import lines

# Most seconds and gigabytes of a fit on two CPU cores.
CPU = {
    "default-small": (15, 1),
    "default-har": (180, 2),
    "default-income": (60, 2),
    "default-kvasir-v1": (600, 3),
}
# Most seconds of a fit on an H200.
GPU = {"default-har": 15, "default-kvasir-v1": 25, "default-cifar10": 180}

# Least accuracy in percent, with few labels and with all labels.
ACCURACY = {
    ("har", "200 labels"): 94, ("har", "all labels"): 97,
    ("epilepsy", "200 labels"): 96, ("epilepsy", "all labels"): 98.2,
    ("kvasir-v1", "400 labels"): 72, ("kvasir-v1", "all labels"): 80,
    ("cifar10", "1000 labels"): 56, ("cifar10", "all labels"): 73,
    ("theorem", "1000 labels"): 51, ("theorem", "all labels"): 54.5,
    ("income", "200 labels"): 81, ("income", "all labels"): 85.4,
}  # fmt: skip
# What is missed, and by how many points at most.
MISSED = {("theorem", "1000 labels"): 0.1, ("income", "all labels"): 0.5}


def rows_of(recipe, device):
    rows = [
        row
        for row in lines("speed.jsonl")
        if (row["recipe"], row["method"], row["device"]) == (recipe, "lfr-default", device)
    ]
    assert rows
    return rows


@pytest.mark.parametrize("name", CPU)
def test_time_and_memory_on_a_cpu(name):
    seconds, gigabytes = CPU[name]
    for row in rows_of(name, "cpu"):
        assert row["threads"] == 2
        assert row["seconds_total"] <= seconds
        assert row["peak_memory_bytes"] <= gigabytes * 1e9


@pytest.mark.parametrize("name", GPU)
def test_time_on_a_gpu(name):
    for row in rows_of(name, "cuda"):
        assert row["seconds_total"] <= GPU[name]


@pytest.mark.parametrize(("dataset", "protocol"), ACCURACY)
def test_accuracy(dataset, protocol):
    scores = [
        100 * row["metrics"]["accuracy"]
        for row in lines("runs.jsonl")
        if (row["dataset"], row["method"], row["protocol"]) == (dataset, "lfr-default", protocol)
        and not row.get("held_out")
    ]
    assert len(scores) == len(default_seeds(dataset))
    missing = ACCURACY[dataset, protocol] - fmean(scores)
    if allowed := MISSED.get((dataset, protocol)):
        assert 0 < missing <= allowed, "not missed any more? update MISSED"
    else:
        assert missing <= 0
