"""The committed proofs that killed fits continue, and that processes train as one would."""

import json

import pytest

from aleator.benchmark import ranks
from aleator.benchmark.kills import CASES
from audits.committed import RESULTS


def test_killed_fits_ended_as_if_they_had_not_been_killed():
    proof = json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))["kills"]
    assert proof["command"].startswith("python -m aleator.benchmark.kills")
    assert proof["device"] == "cpu"
    assert not proof["commit"].endswith("-dirty")
    cases = proof["cases"]
    assert {case["case"] for case in cases} == set(CASES)
    assert sum(case["kills"] for case in cases) == proof["kills"] >= 50
    assert sum(case["inside_a_write"] for case in cases) == proof["inside_a_write"] >= 1
    for case in cases:
        assert case["same_weights"], case["case"]
        assert case["same_history"], case["case"]
        assert len(case["after_steps"]) == case["kills"]
        assert max(case["after_steps"]) > 0, "some were killed in the middle of training"


def proof_of_ranks():
    proofs = json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))
    if "ranks" not in proofs:
        pytest.skip("no result of python -m aleator.benchmark.ranks is committed yet")
    return proofs["ranks"]


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
