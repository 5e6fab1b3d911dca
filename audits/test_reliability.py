"""Committed proofs: killed fits, an hour in one process, several processes, other engines."""

import json

import pytest

from aleator.benchmark import engines, ranks, soak
from aleator.benchmark.kills import CASES
from audits.committed import RESULTS


def proof_of(*keys):
    found = json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))
    for key in keys:
        found = found[key]
    assert not found["commit"].endswith("-dirty")
    return found


def test_killed_fits_ended_as_if_they_had_not_been_killed():
    proof = proof_of("kills")
    assert proof["command"].startswith("python -m aleator.benchmark.kills")
    assert proof["device"] == "cpu"
    cases = proof["cases"]
    assert {case["case"] for case in cases} == set(CASES)
    assert sum(case["kills"] for case in cases) == proof["kills"] >= 50
    assert sum(case["inside_a_write"] for case in cases) == proof["inside_a_write"] >= 1
    for case in cases:
        assert case["same_weights"], case["case"]
        assert case["same_history"], case["case"]
        assert len(case["after_steps"]) == case["kills"]
        assert max(case["after_steps"]) > 0, "some were killed in the middle of training"


def test_an_hour_in_one_process_takes_no_more_memory():
    proof = proof_of("soak")
    assert proof["command"].endswith("python -m aleator.benchmark.soak --minutes 60")
    assert proof["minutes"] >= 60
    assert proof["cases"] == len(soak.cases()) + 1
    assert proof["rounds"] >= 50
    tenths = proof["resident_bytes_by_tenth"]
    assert len(tenths) == 10
    assert proof["growth"] == pytest.approx(tenths[-1] / tenths[1] - 1)
    # Not only at the end: no tenth since the warm-up is above the first of them by more.
    assert max(tenths[1:]) <= 1.02 * tenths[1]
    assert abs(proof["growth"]) <= 0.02
    assert len(proof["threads_of_process"]) == len(proof["open_files"]) == 1


@pytest.mark.parametrize("engine", sorted(engines.ENGINES))
def test_engines_load_a_model_once_per_worker_and_embed_alike(engine):
    proof = proof_of(engines.KEY, engine)
    assert proof["command"] == f"python -m aleator.benchmark.engines {engine}"
    assert proof["loads_per_worker"] == [1] * proof["workers"] == [1, 1]
    assert proof["partitions"] > 5 * proof["workers"]
    assert proof["rows"] == engines.PARTITIONS * engines.ROWS
    assert proof["columns_as_named"]
    assert proof["rows_in_order"]
    assert proof["largest_difference"] <= 1e-6


def proof_of_ranks():
    try:
        return proof_of("ranks")
    except KeyError:
        pytest.skip("no result of python -m aleator.benchmark.ranks is committed yet")


def test_the_proof_of_several_processes_is_repeatable():
    proof = proof_of_ranks()
    assert proof["command"].startswith("python -m aleator.benchmark.ranks")
    assert not proof["commit"].endswith("-dirty")


@pytest.mark.parametrize("processes", [2, 3])
def test_processes_trained_what_one_did(processes):
    found = [record for record in proof_of_ranks()["methods"] if record["processes"] == processes]
    assert {record["case"] for record in found} == set(ranks.CASES)
    for record in found:
        assert record["difference_of_weights"] <= 1e-5, record["case"]
        assert record["weights_moved_by"] >= 1e-3, "or the comparison would say nothing"
        assert record["same_in_all_processes"], record["case"]


def test_runs_continued_on_other_numbers_of_processes():
    found = proof_of_ranks()["resumed"]
    assert {(record["from"], record["to"]) for record in found} >= {(2, 1), (1, 2)}
    assert max(record["difference_of_weights"] for record in found) <= 1e-4


def test_killed_processes_were_named_and_their_runs_continued():
    proof = proof_of_ranks()
    assert {kill["killed"] for kill in proof["kills"]} == {0, 1}
    assert all(kill["named"] and kill["others_ended_after"] <= 30 for kill in proof["kills"])
    assert proof["difference_after_kills"] == 0
