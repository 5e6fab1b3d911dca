"""Fits that are killed, some inside the writing of a checkpoint, end as if they had not been."""

import json
import sys

import pytest

from aleator.benchmark import kills

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


def test_three_kills_change_nothing(tmp_path, capsys):
    results = tmp_path / "reliability.json"
    results.write_text('{"other": 1}')
    # The first kill is in the middle of training; with this seed the second is inside a write.
    options = ["--cases", "LFR, table", "--kills", "3", "--seed", "20"]
    assert kills.main([*options, "--results", str(results)]) == 0
    assert "3 kills" in capsys.readouterr().out
    written = json.loads(results.read_text())
    assert written["other"] == 1, "other proofs are kept"
    assert written["kills"]["kills"] == 3
    assert written["kills"]["inside_a_write"] >= 1
    assert written["kills"]["same"] is True
    (case,) = written["kills"]["cases"]
    assert case["same_weights"] is case["same_history"] is True
    assert max(case["after_steps"]) > 0
    assert written["kills"]["command"].startswith("python -m aleator.benchmark.kills --cases")


def test_a_difference_is_noticed(tmp_path):
    """The comparison itself: one weight, one loss, and the time, which does not count."""
    record = {"loss": 1.0, "seconds": 2.0}
    base = {"weights": {"sha256": "a"}, "history": [record]}
    for name, change in {
        "same": {"history": [{**record, "seconds": 9.0}]},
        "weights": {"weights": {"sha256": "b"}},
        "loss": {"history": [{**record, "loss": 1.5}]},
    }.items():
        for folder, content in (("whole", base), (name, {**base, **change})):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / "aleator.json").write_text(json.dumps({"content": content}))
        expected = {"same": (True, True), "weights": (False, True), "loss": (True, False)}[name]
        assert kills._compare(tmp_path / "whole", tmp_path / name) == expected


def test_a_fit_that_ends_before_its_kill_is_a_fit(tmp_path):
    """Its last line has a reader, else it would end with an error."""
    folder, out = tmp_path / "checkpoints", tmp_path / "model"
    found = kills._kill_once("LFR, table", folder, out, "cpu", 0.0, 1_000_000, trained=True)
    assert found is None
    assert out.exists()
