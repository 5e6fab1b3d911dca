"""The state of the trainer is whole: a run that is stopped and restored ends as if it were not."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments):
    command = [sys.executable, "-m", "tests.training.resume", *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)


def results(out):
    with np.load(out) as file:
        return dict(file), json.loads(out.with_suffix(".json").read_text())


# Batches of 16 of 40 rows: three steps per pass. LFR: one encoder pass, two predictor passes.
@pytest.mark.parametrize(("method", "steps"), [("LFR", (13, 16)), ("TSTCC", (4,))])
def test_a_restored_run_continues_bit_for_bit_in_a_new_process(method, steps, tmp_path):
    run(method, 0, tmp_path / "none", tmp_path / "whole.npz")
    weights, history = results(tmp_path / "whole.npz")
    for step in steps:
        state, out = tmp_path / f"state-{step}", tmp_path / f"resumed-{step}.npz"
        run(method, step, state, out)
        assert not out.exists(), "the first process stopped in mid-pass"
        run(method, "resume", state, out)
        resumed_weights, resumed_history = results(out)
        assert resumed_history == history
        assert set(resumed_weights) == set(weights)
        for name, value in weights.items():
            np.testing.assert_array_equal(resumed_weights[name], value, err_msg=name)
