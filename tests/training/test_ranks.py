"""Several processes train what one would, with every method."""

import sys

import networkx as nx
import numpy as np
import pytest
import torch.nn.functional as F

from aleator import DIET, LFR
from aleator.benchmark import rank_cases as proofs
from aleator.evaluation import fine_tune

SETTINGS = {"rows": 50, "batch": 30, "steps": 5}  # passes end with a batch of 20 rows


def fit_together(name, size, named):
    assert "lightning_fabric" not in sys.modules, "an existing group needs no launcher"
    return proofs.fit_case(name, size, **SETTINGS, **named)


# Three processes for methods that have every kind of layer; two for the others.
THREE = ("LFR.paper, series", "LFR.paper, graphs", "TSTCC, series", "DACL, table")


@pytest.mark.parametrize(
    ("name", "size"), [(name, 3 if name in THREE else 2) for name in proofs.CASES]
)
def test_processes_train_what_one_would(pool, name, size):
    alone = proofs.fit_case(name, 1, **SETTINGS)
    start = proofs.fit_case(name, 1, **{**SETTINGS, "steps": 1})
    results = pool.run(size, fit_together, name, size, {})
    weights, losses = proofs.difference(alone, results[0])
    assert proofs.largest_move(start, alone) > 1e-3, "or the comparison would say nothing"
    assert weights < 1e-5
    assert losses < 1e-5
    for other in results[1:]:
        assert proofs.difference(results[0], other) == (0, 0), "all have the same model"


@pytest.mark.parametrize(
    ("name", "size"), [("BYOL, table", 2), ("LFR.paper, series", 3), ("DIET, graphs", 3)]
)
def test_in_double_precision_nothing_but_the_last_digit_differs(pool, name, size):
    """After 20 steps of Adam, which in single precision would follow rounding errors."""
    named = {**SETTINGS, "steps": 20, "precision": "64", "optimizer": "adam"}
    alone = proofs.fit_case(name, 1, **named)
    results = pool.run(size, fit_in_double, name, size, named)
    weights, losses = proofs.difference(alone, results[0])
    assert weights < 1e-6
    assert losses < 1e-8


def fit_in_double(name, size, named):
    return proofs.fit_case(name, size, **named)


# Batches of which a process has no row, one row, and all rows.
UNEVEN = [[0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11, 12, 13, 14, 16, 18, 20]]


@pytest.mark.parametrize(
    "name", ["LFR.paper, series", "SimCLR, series", "Supervised, series", "Supervised, graphs"]
)
def test_a_process_may_have_no_row_of_a_batch(pool, name):
    named = {"rows": 24, "batch": 6, "steps": 3, "sample_order": UNEVEN * 9}
    alone = proofs.fit_case(name, 1, **named)
    results = pool.run(2, fit_uneven, name, named)
    weights, losses = proofs.difference(alone, results[0])
    assert weights < 1e-5
    assert losses < 1e-5


def fit_uneven(name, named):
    return proofs.fit_case(name, 2, **named)


# Batches of two graphs: with one node and five, none and one, none at all, and one and none. The
# first process has both graphs of the last; that of the second, with five nodes, does not count.
NODES = [1, 5, 0, 1, 0, 0, 1, 5, 0]
PAIRS = [[0, 1, 2, 3, 4, 5, 6, 8]]


def test_a_process_may_have_one_node_or_none(pool):
    """Processes that did not agree whether to normalize would wait for each other."""
    alone = fit_few_nodes(1)
    first, second = pool.run(2, fit_few_nodes, 2)
    assert max(proofs.difference(alone, first)) < 1e-6
    assert proofs.difference(first, second) == (0, 0)


def fit_few_nodes(size):
    graphs = [nx.path_graph(count) for count in NODES]
    for k, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {node: k + node / 2 for node in graph}, "number")
    model = DIET(
        embedding_dim=4, epochs=2, batch_size=2 // size, devices=size, device="cpu",
        precision="64", optimizer="sgd", learning_rate=0.1, random_state=0, progress=False,
    ).fit(graphs, sample_order=PAIRS * 2)  # fmt: skip
    return {"weights": proofs.weights_of(model), "losses": [r["loss"] for r in model.history_]}


def test_fine_tuning(pool):
    alone = tune(1)
    assert pool.run(2, tune, 2) == [pytest.approx(alone, rel=1e-4)] * 2


def tune(size):
    X, y = proofs.data_of(proofs.CASES["LFR, table"], 60)
    model = LFR(steps=2, n_projectors=2, embedding_dim=8, random_state=0, progress=False).fit(X)
    training = {"epochs": 3, "batch_size": 20 // size, "devices": size, "device": "cpu"}
    return fine_tune(model, X, y, X, y, **training).metrics["auroc"][0]


def test_a_function_as_loss_gets_the_whole_batch(pool):
    alone = rows_seen(1)
    assert alone == {20}
    assert pool.run(2, rows_seen, 2) == [{20}, {20}]


def rows_seen(size):
    seen = set()

    def loss(prediction, target):
        seen.add(prediction.shape[1])
        return F.mse_loss(prediction, target)

    X, _ = proofs.data_of(proofs.CASES["LFR, table"], 40)
    LFR(
        steps=2, n_projectors=2, embedding_dim=8, loss=loss, batch_size=20 // size, devices=size,
        device="cpu", progress=False,
    ).fit(X)  # fmt: skip
    return seen


def test_last_bits_of_the_data_are_all_that_changes():
    case = proofs.CASES["LFR, series"]
    (plain, labels), (changed, same_labels) = (
        proofs.data_of(case, 60, last_bits) for last_bits in (None, 3)
    )
    assert np.array_equal(labels, same_labels)
    differs = plain != changed
    assert 0.4 < differs.mean() < 0.6
    assert np.array_equal(np.nextafter(plain, np.float32(np.inf))[differs], changed[differs])


def test_last_bits_of_features_are_all_that_changes_in_graphs():
    case = proofs.CASES["DIET, graphs"]
    plain, changed = (proofs.data_of(case, 60, last_bits)[0] for last_bits in (None, 3))
    sizes = [graph.n_nodes for graph in plain]
    assert (min(sizes), max(sizes)) == (1, case.shape[0])
    assert [graph.n_nodes for graph in changed] == sizes
    for one, other in zip(plain, changed, strict=True):
        assert np.array_equal([one.source, one.target], [other.source, other.target])
        assert one.nodes["x"].shape == (one.n_nodes, case.shape[1])
    before, after = (
        np.concatenate([graph.nodes["x"] for graph in graphs]) for graphs in (plain, changed)
    )
    assert 0.4 < (before != after).mean() < 0.6
    np.testing.assert_allclose(after, before, rtol=1e-6)
