"""The committed proof that killed fits continue bit for bit."""

import json

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
