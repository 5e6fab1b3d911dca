"""Committed results on public data as they are published."""

from statistics import fmean, stdev

import pytest

from aleator.benchmark.real_data.catalog import REAL_DATASETS
from aleator.benchmark.real_data.measuring import ALL, FEW, PIPELINE, WORDS
from aleator.benchmark.real_data.report import values_of
from aleator.benchmark.real_data.tables import MIXED_TABLES
from audits.committed import lines

ESTIMATORS = ("LFR", "RandomFeatures", "RandomEncoder")
OTHERS = {"tables": [PIPELINE], "texts": [WORDS]}


def scores(dataset, model, labels):
    found = values_of(
        lines("real_data.jsonl"), dataset, model, labels, REAL_DATASETS[dataset].metric
    )
    assert len(found) == len(REAL_DATASETS[dataset].seeds)
    return found


def lead_over(model, dataset, labels):
    return fmean(scores(dataset, "LFR", labels)) - fmean(scores(dataset, model, labels))


@pytest.mark.parametrize("dataset", REAL_DATASETS)
def test_all_models_of_a_data_set_saw_the_same_samples_and_labels(dataset):
    found = [line for line in lines("real_data.jsonl") if line["dataset"] == dataset]
    models = [*ESTIMATORS, *OTHERS.get(REAL_DATASETS[dataset].kind, [])]
    cases = sorted((line["model"], line["seed"]) for line in found)
    assert cases == sorted(
        (model, seed) for model in models for seed in REAL_DATASETS[dataset].seeds
    )
    assert len({str((line["n_train"], line["n_test"], line["n_labels"])) for line in found}) == 1
    assert {line.get("folds", 1) for line in found} == {
        10 if REAL_DATASETS[dataset].has_folds else 1
    }
    assert not [line for line in found if line["commit"].endswith("-dirty")]


@pytest.mark.parametrize("dataset", REAL_DATASETS)
def test_lfr_is_above_a_random_encoder(dataset):
    assert lead_over("RandomEncoder", dataset, ALL) > 0


def test_on_most_data_sets_by_more_than_the_spread_of_seeds():
    clear = [
        name
        for name in REAL_DATASETS
        if lead_over("RandomEncoder", name, ALL)
        > max(stdev(scores(name, model, ALL)) for model in ("LFR", "RandomEncoder"))
    ]
    assert len(clear) >= 10, clear


def test_few_labels_suffice_where_a_pipeline_needs_more():
    ahead = [name for name in MIXED_TABLES if lead_over(PIPELINE, name, FEW) > 0]
    assert len(ahead) >= 5, ahead
