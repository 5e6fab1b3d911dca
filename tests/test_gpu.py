"""What only a GPU can show. Skipped elsewhere; the logic has tests on the CPU too."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator import LFR, evaluation
from aleator.benchmark import cells, recipes
from aleator.benchmark.cells import Cell
from aleator.benchmark.protocols import FINETUNED, PAPER, STANDARDIZED, TIMED
from aleator.training import plan as plan_module
from tests.small import ALL, SPECIAL, small

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

SETTINGS = {"epochs": 5, "random_state": 0, "device": "cuda", "n_projectors": 3}


@pytest.fixture
def rows(random):
    return random.normal(size=(1300, 30)).astype(np.float32)


def losses(lfr):
    return [record["loss"] for record in lfr.history_]


def test_graphs_change_nothing(rows, monkeypatch):
    graphs = LFR(**SETTINGS).fit(rows)
    assert graphs.plan_.graphs
    monkeypatch.setattr(plan_module, "_STEPS_WORTH_A_GRAPH", 10**9)
    eager = LFR(**SETTINGS).fit(rows)
    assert not eager.plan_.graphs
    assert losses(graphs) == losses(eager)
    np.testing.assert_array_equal(graphs.transform(rows), eager.transform(rows))


@pytest.mark.parametrize("shape", [(40,), (3, 64), (3, 24, 24)])
@pytest.mark.parametrize("precision", ["32", "tf32", "bf16"])
def test_same_seed_same_numbers(random, shape, precision):
    X = random.normal(size=(700, *shape)).astype(np.float32)
    settings = {**SETTINGS, "precision": precision, "embedding_dim": 64, "epochs": 10}
    first, second = LFR(**settings).fit(X), LFR(**settings).fit(X)
    assert losses(first) == losses(second)
    np.testing.assert_array_equal(first.transform(X), second.transform(X))


def test_close_to_the_cpu(rows):
    gpu = LFR(**{**SETTINGS, "precision": "32"}).fit(rows)
    cpu = LFR(**{**SETTINGS, "device": "cpu"}).fit(rows)
    np.testing.assert_array_equal(gpu.selected_projectors_, cpu.selected_projectors_)
    np.testing.assert_allclose(losses(gpu), losses(cpu), rtol=1e-3)


@pytest.mark.parametrize("limit", [0, 200_000, 2_000_000])
def test_a_small_memory_limit(rows, limit):
    full, tight = LFR(**SETTINGS).fit(rows), LFR(**SETTINGS, memory_limit=limit).fit(rows)
    assert "host" in {place.where for place in tight.plan_.placements}
    np.testing.assert_allclose(losses(tight), losses(full), rtol=1e-5)


def test_wide_heads_from_factors(random, monkeypatch):
    factored_adam = pytest.importorskip("aleator.training.factored_adam")
    X = random.normal(size=(700, 9, 64)).astype(np.float32)
    settings = {**SETTINGS, "precision": "32", "epochs": 10}
    factored = LFR(**settings).fit(X)
    monkeypatch.setattr(factored_adam, "why_unavailable", lambda device: "switched off")
    dense = LFR(**settings).fit(X)
    np.testing.assert_allclose(losses(factored), losses(dense), rtol=1e-4)


def test_an_encoder_that_cannot_be_captured(rows):
    class Waiting(nn.Linear):
        def forward(self, x):
            out = super().forward(x)
            return out if out.sum().item() < 1e9 else -out

    with pytest.warns(UserWarning, match="steps run eagerly"):
        lfr = LFR(**SETTINGS, encoder=Waiting(30, 16)).fit(rows)
    assert lfr.transform(rows).shape == (1300, 16)


SHAPES = {"table": (30,), "series": (3, 64), "image": (3, 24, 24)}
TRAINED = [name for name in ALL if name not in ("RandomEncoder", "LogReg")]


@pytest.mark.parametrize(
    ("name", "modality"),
    [(name, modality) for name in TRAINED for modality in SPECIAL.get(name, SHAPES)],
)
def test_every_method_as_a_graph(name, modality, random, monkeypatch):
    """Views, masks and time steps are drawn on the device: nothing falls back to eager steps."""
    if modality == "image":
        pytest.importorskip("kornia")
    X = random.normal(size=(300, *SHAPES[modality])).astype(np.float32)
    y = np.arange(300) % 3

    def fitted():
        return small(name, device="cuda", epochs=6, batch_size=32).fit(X, y)

    graphs, again = fitted(), fitted()
    assert graphs.plan_.graphs
    assert losses(graphs) == losses(again)
    np.testing.assert_array_equal(graphs.transform(X), again.transform(X))
    monkeypatch.setattr(plan_module, "_STEPS_WORTH_A_GRAPH", 10**9)
    eager = fitted()
    assert not eager.plan_.graphs
    np.testing.assert_allclose(losses(graphs)[:1], losses(eager)[:1], rtol=2e-2)
    drawn = [record["loss"] for record in graphs.history_]
    assert len(set(drawn)) == len(drawn)  # every replay draws anew


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize(
    "probe", [evaluation.logistic_regression, evaluation.nearest_neighbors, evaluation.ridge]
)
def test_probes_say_what_they_say_on_the_cpu(random, probe, standardized):
    embedding = random.normal(size=(900, 20)).astype(np.float32)
    labels = (embedding @ random.normal(size=20) > 0).astype(int)
    parts = embedding[:600], labels[:600], embedding[600:], labels[600:]
    on = {
        device: probe(*parts, standardized=standardized, device=device)
        for device in ("cpu", "cuda")
    }
    for metric, values in on["cpu"].metrics.items():
        np.testing.assert_allclose(on["cuda"].values(metric), values, atol=5e-3)
    assert on["cuda"].chosen == on["cpu"].chosen


def test_a_trained_probe_learns(random):
    embedding = random.normal(size=(2000, 20)).astype(np.float32)
    labels = (embedding[:, 0] > 0).astype(int)
    parts = embedding[:1500], labels[:1500], embedding[1500:], labels[1500:]
    training = evaluation.ProbeTraining(epochs=30, learning_rate=0.01)
    for probe in (evaluation.linear_classifier, evaluation.mlp_classifier):
        assert probe(*parts, training=training, device="cuda").mean() > 0.95


def test_a_cell_of_a_benchmark():
    cell = Cell(recipes.read("har"), 0, (PAPER, STANDARDIZED, FINETUNED, TIMED), 0.01, small=True)
    lines = cells.run(cell, None, "cuda")
    assert not any("error" in line for line in lines)
    assert [line["protocol"] for line in lines] == [PAPER, STANDARDIZED, FINETUNED, TIMED]
