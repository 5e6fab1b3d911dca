"""Committed measurements of peak memory meet the requirements."""

import pytest

from audits.committed import lines

GB = 10**9
# Resident memory of a process, interpreter and libraries included.
RESIDENT = {"images": 3 * GB, "series": 2 * GB}


def line_of(case):
    (row,) = [row for row in lines("memory.jsonl") if row["case"] == case]
    assert row["scale"] == 1
    return row


@pytest.mark.parametrize("case", sorted(RESIDENT))
def test_fit_stays_below_its_limit(case):
    assert line_of(case)["resident_bytes"] < RESIDENT[case]


def test_transform_adds_at_most_twice_its_result():
    row = line_of("transform")
    assert row["shape"] == [1_000_000, 27]
    assert row["added_bytes"] <= 2 * row["result_bytes"]


def test_a_memory_map_is_not_read_into_memory():
    row = line_of("map")
    assert row["data_bytes"] >= 4 * GB * 0.999
    assert row["anonymous_bytes"] < GB
    assert row["targets"] == "recomputed"
