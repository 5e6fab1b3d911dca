"""Committed proofs: killed fits, changed files, an hour, several processes, other engines."""

import json

import pytest

from aleator.benchmark import engines, ranks, scaling, scaling_measure, soak
from aleator.benchmark.fuzzing.loaders import LOADERS
from aleator.benchmark.kills import CASES
from aleator.benchmark.rank_cases import CASES as CASES_OF_RANKS
from aleator.benchmark.scaling_model import Traffic
from aleator.benchmark.soak_data import OTHERS
from audits.committed import RESULTS
from tests import small


def proof_of(*keys):
    found = json.loads((RESULTS / "reliability.json").read_text(encoding="utf-8"))
    for key in keys:
        found = found[key]
    assert not found["commit"].endswith("-dirty")
    return found


def test_killed_fits_ended_as_if_they_had_not_been_killed():
    proof = proof_of("kills")
    assert proof["command"].startswith("python -m aleator.benchmark.kills")
    assert (proof["device"], proof["threads"]) == ("cpu", 1)
    cases = proof["cases"]
    assert {case["case"] for case in cases} == set(CASES)
    assert {case.estimator for case in CASES.values()} >= {*small.TRAINED, "LFR.paper"}
    assert sum(case["kills"] for case in cases) == proof["kills"] >= 50
    assert sum(case["inside_a_write"] for case in cases) == proof["inside_a_write"] >= 1
    assert sum(case["before_training"] for case in cases) == proof["before_training"] >= 1
    for case in cases:
        assert case["same_weights"], case["case"]
        assert case["same_history"], case["case"]
        assert len(case["after_steps"]) == case["kills"]
        assert max(case["after_steps"]) > 0, "some were killed in the middle of training"


# Cases that were added after fits had been killed on a GPU.
KILLED_ON_A_CPU_ONLY = {
    "LFR, file", "SimSiam, table", "SCARF, table", "STab, table", "DACL, series",
    *(f"LFR, {kind}" for kind in OTHERS),
}  # fmt: skip


def test_killed_fits_on_a_gpu_ended_as_if_they_had_not_been_killed():
    proof = proof_of("kills, cuda")
    assert proof["command"].endswith("--device cuda")
    assert "H200" in proof["device"]
    cases = proof["cases"]
    assert {case["case"] for case in cases} == set(CASES) - KILLED_ON_A_CPU_ONLY
    assert sum(case["kills"] for case in cases) == proof["kills"] >= 20
    assert proof["inside_a_write"] >= 1
    assert all(case["same_weights"] and case["same_history"] for case in cases)
    # Fits are so short there that some were killed before their first step.
    assert sum(max(case["after_steps"]) > 0 for case in cases) >= 6


def test_an_hour_in_one_process_takes_no_more_memory():
    proof = proof_of("soak")
    assert proof["command"].endswith("python -m aleator.benchmark.soak --minutes 60")
    assert proof["minutes"] >= 60
    assert proof["cases"] == len(soak.cases()) + 1
    assert proof["rounds"] >= 50
    tenths = proof["bytes_by_tenth"]
    assert len(tenths) == 10
    assert proof["growth"] == pytest.approx(tenths[-1] / tenths[1] - 1)
    # Not only at the end: no tenth since the warm-up is above the first of them by more.
    assert max(tenths[1:]) <= 1.02 * tenths[1]
    assert abs(proof["growth"]) <= 0.02
    assert len(proof["threads_of_process"]) == len(proof["open_files"]) == 1


@pytest.mark.parametrize("loader", sorted(LOADERS))
def test_changed_files_were_read_or_refused(loader):
    proof = proof_of("fuzzing", loader)
    assert proof["command"] == f"python -m aleator.benchmark.fuzzing {loader} --inputs 100000"
    assert proof["findings"] == []
    assert proof["read"] + proof["rejected"] == proof["inputs"] >= 100_000
    # Neither are all changes harmless, nor do all files end at a checksum.
    assert min(proof["read"], proof["rejected"]) > 1000


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


def test_the_proof_of_several_processes_is_repeatable():
    for name in ranks.PROOFS:
        proof = proof_of(ranks.KEY, name)
        assert proof["command"].startswith(f"python -m aleator.benchmark.ranks {name}")
    assert set(proof_of(ranks.KEY, "methods")["comparisons"]) == set(ranks.COMPARISONS)


@pytest.mark.parametrize("comparison", ranks.COMPARISONS)
def test_processes_trained_what_one_did(comparison):
    bound = ranks.COMPARISONS[comparison][1]
    found = proof_of(ranks.KEY, "methods")["comparisons"][comparison]
    cases = [(record["case"], record["processes"]) for record in found]
    assert sorted(cases) == sorted((case, size) for case in CASES_OF_RANKS for size in (2, 3))
    for record in found:
        assert record["weights_moved_by"] >= 1e-3, "or the comparison would say nothing"
        assert record["same_in_all_processes"], record["case"]
        if bound is not None:
            assert record["difference_of_weights"] <= bound, record["case"]


def test_double_precision_proves_what_single_precision_cannot():
    """After 20 steps to 1e-5, for every method, with both optimizers."""
    for name in ("double", "double, Adam"):
        settings, bound = ranks.COMPARISONS[name]
        assert (settings["precision"], settings["steps"], bound) == ("64", 20, 1e-5)
    assert ranks.BATCHES == {2: 128, 3: 126}


def test_rounding_alone_changes_what_single_precision_trains():
    """Where two processes differ from one, one differs from itself on data with other last bits."""
    proof = proof_of(ranks.KEY, "methods")
    alone = {r["case"]: r["difference_of_weights"] for r in proof["rounding"]}
    assert alone.keys() == CASES_OF_RANKS.keys()
    differing = [
        record["case"]
        for record in proof["comparisons"][ranks.ROUNDED]
        if record["processes"] == 2 and record["difference_of_weights"] > 1e-4
    ]
    assert differing
    for case in differing:
        assert alone[case] > 1e-5, case


def test_runs_continued_on_other_numbers_of_processes():
    found = proof_of(ranks.KEY, "resumed")["runs"]
    cases = [(record["case"], record["from"], record["to"]) for record in found]
    assert {(2, 1), (1, 2)} <= set(ranks.CHANGES)
    assert sorted(cases) == sorted((case, *change) for case in CASES_OF_RANKS
                                   for change in ranks.CHANGES)  # fmt: skip
    for record in found:
        assert record["difference_of_weights"] <= ranks.RESUMED_BOUND <= 1e-4, record["case"]


def test_killed_processes_were_named_and_their_runs_continued():
    proof = proof_of(ranks.KEY, "kills")
    assert len(proof["kills"]) >= 10
    assert {kill["killed"] for kill in proof["kills"]} == {0, 1}
    assert all(kill["named"] and kill["others_ended_after"] <= 30 for kill in proof["kills"])
    assert proof["difference_of_weights"] == 0


def test_the_simulation_reproduces_the_measured_points():
    proof = proof_of(scaling.KEY)
    assert proof["command"] == "python -m aleator.benchmark.scaling"
    points = proof["points"]
    expected = [
        (loss, size, batch)
        for size in scaling_measure.PROCESSES
        for loss in scaling_measure.LOSSES
        for batch in scaling_measure.BATCHES
    ]
    assert [(p["loss"], p["processes"], p["batch"]) for p in points] == expected
    for point in points:
        # Made again from the calibrations, which know nothing of the points.
        assert point["simulated_seconds"] == pytest.approx(scaling_measure.simulated(proof, point))
        assert abs(scaling.error_of(point)) <= 0.3, point
    assert sum(abs(scaling.error_of(point)) for point in points) / len(points) <= 0.2


def test_the_simulation_counts_the_bytes_that_were_sent():
    proof = proof_of(scaling.KEY)
    values = 2 * scaling_measure.HEADS * scaling_measure.WIDTH
    for point in proof["points"]:
        traffic = Traffic(proof["weights"], values if point["loss"] == "bbt" else 0)
        assert point["summed_bytes"] == traffic.summed_bytes
        assert point["gathered_values_per_row"] == traffic.gathered
