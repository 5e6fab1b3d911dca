"""python -m aleator.benchmark.scaling"""

import json
from pathlib import Path

import pytest

from aleator.benchmark import scaling, scaling_measure, scaling_projection
from aleator.benchmark.process_group import in_group
from aleator.benchmark.scaling_model import Costs, Network, Traffic, simulate

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


@pytest.fixture(scope="module")
def result():
    return json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))[scaling.KEY]


@pytest.fixture(scope="module")
def lines():
    text = (RESULTS / "speed.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_all_wait_for_the_process_with_the_most_rows():
    rows_as_seconds = Costs({0: 0.0, 1000: 1000.0})
    free = Network(latency=0.0, bandwidth=1e30)
    seconds = simulate(rows_as_seconds, Traffic(1), free, processes=64, batch=64 * 256, rows=10**9)
    # The largest of 64 numbers that are nearly normal: 2.4 standard deviations, each of 16.
    assert seconds == pytest.approx(256 + 2.4 * 16, abs=3)
    one_each = simulate(rows_as_seconds, Traffic(1), free, processes=2, batch=10, rows=10)
    assert one_each == 5, "all rows of the data: no process has more than the other"


def test_messages_are_those_of_a_ring():
    network = Network(latency=0.0, bandwidth=1.0)
    nothing = Costs({0: 0.0, 1: 0.0})
    named = {"processes": 4, "batch": 8, "rows": 8}
    summed = simulate(nothing, Traffic(100), network, **named)
    assert summed == pytest.approx(2 * 3 / 4 * (400 + 8))
    both = simulate(nothing, Traffic(100, gathered=5), network, **named)
    assert both - summed == pytest.approx(3 * 2 * 5 * 4), "two rows of each of three others"


def test_a_loss_that_compares_rows_is_computed_for_the_whole_batch():
    costs = Costs({4: 1.0, 8: 2.0}, loss={4: 0.25, 8: 0.75}, sharing={4: 0.0, 8: 0.125})
    free = Network(latency=0.0, bandwidth=1e30)
    seconds = simulate(costs, Traffic(1, 1), free, processes=2, batch=8, rows=8)
    assert seconds == pytest.approx(1.0 + 0.5 + 0.125)


@pytest.mark.parametrize("loss", scaling_measure.LOSSES)
def test_the_bytes_of_a_step_are_counted_from_the_messages(loss):
    for found in in_group(2, scaling_measure.count_messages, loss, 32, 2):
        weights = sum(map(len_of, scaling_measure.shapes_of_weights()))
        values = 2 * scaling_measure.HEADS * scaling_measure.WIDTH
        traffic = Traffic(weights, values if loss == "bbt" else 0)
        assert found["summed_bytes"] == traffic.summed_bytes
        assert found["gathered_values_per_row"] == traffic.gathered


def len_of(shape):
    size = 1
    for length in shape:
        size *= length
    return size


def test_more_rows_per_step_need_fewer_messages(result, lines):
    rates = scaling.gpu_rates(lines)
    found = [
        scaling_projection.project(result["host"], rates, rows, network)
        for network in scaling_projection.networks().values()
        for rows in scaling_projection.ROWS_PER_GPU
    ]
    fast, slow = found[:3], found[3:]
    assert [one["epoch"] for one in fast] == sorted((one["epoch"] for one in fast), reverse=True)
    for one, other in zip(fast, slow, strict=True):
        assert other["epoch"] > one["epoch"]
        assert one["step"] >= max(one["gpu"], one["host"]) + one["network"]
        assert one["steps"] * one["step"] == pytest.approx(one["epoch"])
    # Twice as slow a GPU doubles what is bound by it, the largest batch.
    slower = {key: 2 * value for key, value in rates.items()}
    network = scaling_projection.networks()["fast"]
    doubled = scaling_projection.project(result["host"], slower, 4096, network)
    assert doubled["step"] - doubled["network"] == pytest.approx(
        2 * (fast[2]["step"] - fast[2]["network"]), rel=0.01
    )


def test_tables(result, lines):
    made = scaling.sections(lambda: result, lambda: lines)
    assert made["scaling-points"]().count("| row by row |") == 6
    assert "| targets | 238.4 GiB | nowhere: computed again for every batch |" in (
        made["scaling-memory"]()
    )
    assert "| 4096 | 3815 |" in made["scaling-time"]()
    assert "not measured" in made["scaling-assumptions"]()
