"""Committed proofs of training on files meet the requirements."""

import json
from functools import cache

import numpy as np
import pytest

from audits.committed import RESULTS


@cache
def proof(case):
    found = json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))
    line = found["streaming"][case]
    assert line["command"] == f"python -m aleator.benchmark.streaming {case}"
    assert line["scale"] == 1
    return line


def test_a_large_file_takes_little_memory():
    line = proof("hepmass")
    assert line["shape"] == [10_500_000, 27]
    runs = [run for run in line["runs"] if run["where"] == "file"]
    assert runs
    for run in runs:
        assert run["input"] == "streamed"
        assert run["resident_bytes"] < 1.5e9


@pytest.mark.parametrize("speed", ["fit_rows_per_second", "transform_rows_per_second"])
def test_a_large_file_is_at_least_half_as_fast_as_memory(speed):
    runs = proof("hepmass")["runs"]
    assert [run["where"] for run in runs] == ["memory", "file"] * (len(runs) // 2)
    for memory, file in zip(runs[::2], runs[1::2], strict=True):
        assert file[speed] >= memory[speed] / 2


def test_income_from_parquet_is_income_from_memory():
    line = proof("income")
    assert line["pieces"] > 2 * line["window"], "it does not fit into the buffer"
    memory, file = (np.array(line["accuracy"][where]) for where in ("memory", "file"))
    assert len(memory) == len(file) >= 3
    assert abs(file.mean() - memory.mean()) <= memory.std(ddof=1)


@pytest.mark.parametrize(("case", "rows"), [("flights", 3_000_000), ("donors", 619_326)])
def test_real_tables(case, rows):
    line = proof(case)
    assert line["shape"][0] == rows
    assert line["pieces"] > line["window"]
    assert line["largest_difference_of_short_runs"] == 0
    losses = line["loss_of_an_epoch"]
    assert losses["file"] == pytest.approx(losses["memory"], rel=0.1)
    assert line["largest_difference_of_written_embedding"] < 1e-5
