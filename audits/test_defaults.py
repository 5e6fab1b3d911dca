"""Committed results of LFR with its defaults meet the requirements on accuracy, time and memory."""

from statistics import fmean, stdev

import pytest

from aleator.benchmark import paper
from aleator.benchmark.research_studies import FEATURE_COUNTS, LFR_ROW, default_width
from aleator.benchmark.study import default_seeds
from audits.committed import held_out_lines_of, lines

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
MISSED = {("theorem", "1000 labels"): 0.1}


def rows_of(recipe, device):
    rows = [
        row
        for row in lines("speed.jsonl")
        if (row["recipe"], row["method"], row["device"]) == (recipe, "lfr-default", device)
    ]
    assert rows
    return rows


def scores_of(method, dataset, protocol):
    """Accuracies in percent on a test set, one per seed."""
    return [
        100 * row["metrics"]["accuracy"]
        for row in lines("runs.jsonl")
        if (row["method"], row["dataset"], row["protocol"]) == (method, dataset, protocol)
        and not row.get("held_out")
    ]


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
    scores = scores_of("lfr-default", dataset, protocol)
    assert len(scores) == len(default_seeds(dataset))
    missing = ACCURACY[dataset, protocol] - fmean(scores)
    if allowed := MISSED.get((dataset, protocol)):
        assert 0 < missing <= allowed, "not missed any more? update MISSED"
    else:
        assert missing <= 0


# Where LFR is not ahead of its encoder with random weights by more than the deviation over seeds.
NOT_AHEAD = {
    ("epilepsy", "200 labels"), ("income", "200 labels"), ("income", "all labels"),
}  # fmt: skip


@pytest.mark.parametrize(("dataset", "protocol"), ACCURACY)
def test_training_helps(dataset, protocol):
    trained = scores_of("lfr-default", dataset, protocol)
    untrained = scores_of("random-default", dataset, protocol)
    gain = fmean(trained) - fmean(untrained)
    assert gain > 0
    is_ahead = gain > max(stdev(trained), stdev(untrained))
    assert is_ahead == ((dataset, protocol) not in NOT_AHEAD), "update NOT_AHEAD"


# How many points LFR is behind RandomFeatures, 8192 or more wide, where it is more than one.
BEHIND_RANDOM_FEATURES = {("cifar10", "all labels"): 1.8}


@pytest.mark.parametrize(("dataset", "protocol"), ACCURACY)
def test_at_most_a_point_behind_random_features(dataset, protocol):
    behind = fmean(scores_of("random-features", dataset, protocol)) - fmean(
        scores_of("lfr-default", dataset, protocol)
    )
    if allowed := BEHIND_RANDOM_FEATURES.get((dataset, protocol)):
        assert 1 < behind <= allowed, "update BEHIND_RANDOM_FEATURES"
    else:
        assert behind <= 1


# Least accuracy of RandomFeatures with all labels.
FEATURES = {"har": 97, "epilepsy": 98.2, "kvasir-v1": 81, "cifar10": 78, "theorem": 55}


@pytest.mark.parametrize("dataset", FEATURES)
def test_accuracy_of_random_features(dataset):
    scores = scores_of("random-features", dataset, "all labels")
    assert len(scores) == len(default_seeds(dataset))
    assert fmean(scores) >= FEATURES[dataset]


SELF_SUPERVISED = (
    "autoencoder", "diet", "simsiam", "byol", "simclr", "scarf", "stab", "tstcc", "dacl", "lfr",
)  # fmt: skip
# Of CIFAR-10 only methods without augmentations; our own runs of them are shortened.
COMPARED = {**dict.fromkeys(("har", "epilepsy", "kvasir-v1", "theorem", "income"), SELF_SUPERVISED),
            "cifar10": ("autoencoder", "dacl", "lfr")}  # fmt: skip
# By how many points at most another method is ahead, where one is.
BEHIND_ANOTHER = {("income", "paper"): ("lfr", 0.2)}


@pytest.mark.parametrize("protocol", ["paper", "standardised"])
@pytest.mark.parametrize("dataset", COMPARED)
def test_above_every_other_method(dataset, protocol):
    """Both ours and, under its own probe, those of the paper."""
    ours = fmean(scores_of("lfr-default", dataset, protocol))
    printed = paper.ACCURACY.get(dataset, {}) if protocol == "paper" else {}
    theirs = {}
    for method in COMPARED[dataset]:
        scores = scores_of(method, dataset, protocol)
        known = [fmean(scores)] if scores else []
        known += [printed[method][0]] if method in printed else []
        if known:
            theirs[method] = max(known)
    assert len(theirs) >= 2
    ahead = {method: score - ours for method, score in theirs.items() if score >= ours}
    if (dataset, protocol) in BEHIND_ANOTHER:
        method, allowed = BEHIND_ANOTHER[dataset, protocol]
        assert ahead.keys() == {method}, "update BEHIND_ANOTHER"
        assert ahead[method] <= allowed
    else:
        assert not ahead


@pytest.mark.parametrize(
    ("dataset", "few"),
    [("har", 200), ("epilepsy", 200), ("kvasir-v1", 400), ("theorem", 1000), ("income", 200)],
)
def test_ahead_of_as_many_random_features_as_dimensions(dataset, few):
    width = str(default_width(dataset))
    for protocol in (f"{few} labels", "all labels"):
        by_width = accuracy_by_variant(dataset, protocol)
        assert by_width[LFR_ROW] > by_width[width]


def accuracy_by_variant(dataset, protocol):
    """Mean accuracy of every variant of the study of numbers of features."""
    scores = {}
    for row in held_out_lines_of(FEATURE_COUNTS):
        if (row["dataset"], row["protocol"]) == (dataset, protocol):
            scores.setdefault(row["variant"], []).append(row["metrics"]["accuracy"])
    return {variant: fmean(values) for variant, values in scores.items()}
