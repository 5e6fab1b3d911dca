"""What can only be tested on a GPU; the logic has tests on the CPU too."""

import dataclasses
import gc

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from aleator import BYOL, LFR, SimCLR, evaluation
from aleator.benchmark import cells, rank_cases, recipes
from aleator.benchmark.cells import Cell
from aleator.benchmark.finetuning_protocols import FINETUNED
from aleator.benchmark.protocols import PAPER, STANDARDIZED, TIMED
from aleator.exceptions import GraphCaptureWarning, LessMemoryWarning
from aleator.methods.byol import byol
from aleator.networks.projection_head import HeadShape, projection_head
from aleator.training import plan as plan_module
from aleator.training.checkpoint import CheckpointFolder
from aleator.training.host_rows import TensorRows
from aleator.training.method import INPUT
from aleator.training.optimizers import OptimizerSettings
from aleator.training.plan import Duration, make_plan
from aleator.training.progress import Progress
from aleator.training.ranks import Ranks
from aleator.training.sampler import Sampler
from aleator.training.trainer import Trainer
from tests.projectors.families import FAMILIES, generator, sample_of
from tests.small import SPECIAL, TRAINED, small
from tests.training.saved_states import assert_same_fit, fit_and_save, fit_from

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

SETTINGS = {"epochs": 5, "random_state": 0, "device": "cuda", "n_projectors": 3}


@pytest.fixture
def rows(random):
    return random.normal(size=(1300, 30)).astype(np.float32)


def losses(lfr):
    return [record["loss"] for record in lfr.history_]


def test_graphs_change_nothing(rows, monkeypatch):
    graphs = LFR.paper(**SETTINGS).fit(rows)
    assert graphs.plan_.graphs
    monkeypatch.setattr(plan_module, "_STEPS_WORTH_A_GRAPH", 10**9)
    eager = LFR.paper(**SETTINGS).fit(rows)
    assert not eager.plan_.graphs
    assert losses(graphs) == losses(eager)
    np.testing.assert_array_equal(graphs.transform(rows), eager.transform(rows))


def test_graphs_leave_no_memory_behind(rows):
    """Libraries keep a workspace, of 32 MiB or more, for every stream."""

    def memory_after_a_fit(batch_size):
        LFR.paper(**SETTINGS, batch_size=batch_size).fit(rows)
        gc.collect()
        torch.cuda.empty_cache()
        return torch.cuda.memory_allocated()

    first, *others = [memory_after_a_fit(size) for size in (256, 300, 400)]
    assert max(others) < first + (32 << 20)


@pytest.mark.parametrize("shape", [(40,), (3, 64), (3, 24, 24)])
@pytest.mark.parametrize("precision", ["32", "tf32", "bf16"])
def test_same_seed_same_numbers(random, shape, precision):
    X = random.normal(size=(700, *shape)).astype(np.float32)
    settings = {**SETTINGS, "precision": precision, "embedding_dim": 64, "epochs": 10}
    first, second = LFR.paper(**settings).fit(X), LFR.paper(**settings).fit(X)
    assert losses(first) == losses(second)
    np.testing.assert_array_equal(first.transform(X), second.transform(X))


def test_close_to_the_cpu(rows):
    gpu = LFR.paper(**{**SETTINGS, "precision": "32"}).fit(rows)
    cpu = LFR.paper(**{**SETTINGS, "device": "cpu"}).fit(rows)
    np.testing.assert_array_equal(gpu.selected_projectors_, cpu.selected_projectors_)
    np.testing.assert_allclose(losses(gpu), losses(cpu), rtol=1e-3)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_double_precision_is_that_of_the_cpu(rows, optimizer):
    settings = {**SETTINGS, "precision": "64", "optimizer": optimizer, "embedding_dim": 64}
    gpu, cpu = (LFR.paper(**settings | {"device": device}).fit(rows) for device in ("cuda", "cpu"))
    assert not gpu.plan_.graphs
    np.testing.assert_allclose(losses(gpu), losses(cpu), rtol=1e-6)


@pytest.mark.parametrize("limit", [0, 200_000, 2_000_000])
def test_a_small_memory_limit(rows, limit):
    full, tight = (
        LFR.paper(**SETTINGS).fit(rows),
        LFR.paper(**SETTINGS, memory_limit=limit).fit(rows),
    )
    assert "host" in {place.where for place in tight.plan_.placements}
    np.testing.assert_allclose(losses(tight), losses(full), rtol=1e-5)


def test_wide_heads_from_factors(random, monkeypatch):
    factored_adam = pytest.importorskip("aleator.training.factored_adam")
    X = random.normal(size=(700, 9, 64)).astype(np.float32)
    settings = {**SETTINGS, "precision": "32", "epochs": 10}
    factored = LFR.paper(**settings).fit(X)
    monkeypatch.setattr(factored_adam, "why_unavailable", lambda device: "switched off")
    dense = LFR.paper(**settings).fit(X)
    np.testing.assert_allclose(losses(factored), losses(dense), rtol=1e-4)


def test_an_encoder_that_cannot_be_captured(rows):
    class Waiting(nn.Linear):
        def forward(self, x):
            out = super().forward(x)
            return out if out.sum().item() < 1e9 else -out

    with pytest.warns(GraphCaptureWarning, match="steps run eagerly"):
        lfr = LFR.paper(**SETTINGS, encoder=Waiting(30, 16)).fit(rows)
    assert lfr.transform(rows).shape == (1300, 16)


SHAPES = {"table": (30,), "series": (3, 64), "image": (3, 24, 24)}


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


def flipped(batch):
    """A view without random numbers, of which a graph draws others than eager steps."""
    return -batch


def networks_of(model):
    """All weights of a fitted estimator, by name."""
    return {
        f"{name}/{key}": value
        for name in model._networks
        for key, value in getattr(model, f"{name}_").state_dict().items()
    }


def test_byol_as_a_graph_has_the_weights_of_eager_steps(rows, monkeypatch):
    def fitted():
        settings = {"epochs": 5, "random_state": 0, "device": "cuda", "embedding_dim": 32}
        return BYOL(views=(torch.abs, flipped), **settings).fit(rows)

    graphs = fitted()
    assert graphs.plan_.graphs
    monkeypatch.setattr(plan_module, "_STEPS_WORTH_A_GRAPH", 10**9)
    eager = fitted()
    assert not eager.plan_.graphs
    assert losses(graphs) == losses(eager)
    theirs = networks_of(eager)
    for name, value in networks_of(graphs).items():
        assert torch.equal(value, theirs[name]), name


def trained_byol(rows, *, graphs, momentum=0.9):
    """All modules of BYOL after training, with the moving average, which the estimator drops."""
    torch.manual_seed(0)
    device = torch.device("cuda", 0)
    head = projection_head(16, HeadShape(layers=2, hidden=32, norm="hidden"), 32)
    online = nn.Sequential(nn.Linear(30, 16), nn.Flatten(), head)
    method = byol(online, nn.Linear(32, 32), nn.ReLU(), nn.Tanh(), momentum)
    start = {name: value.clone() for name, value in online.state_dict().items()}
    given = {INPUT: TensorRows(torch.from_numpy(rows))}
    duration = Duration(6)
    plan = make_plan(
        method, given, duration, pass_length=len(rows), batch_size=128, device=device,
        precision="32",
    )  # fmt: skip
    assert plan.graphs
    trainer = Trainer(
        method, given, plan=dataclasses.replace(plan, graphs=graphs),
        sampler=Sampler(len(rows), 0), duration=duration,
        optimizer=OptimizerSettings("adam", 1e-3),
    )  # fmt: skip
    with Progress("BYOL", trainer.total_steps, bar=False) as progress:
        trainer.fit(progress)
    assert trainer.plan.graphs == graphs, "the step was captured, the moving average included"
    weights = {
        f"{name}/{key}": value.cpu()
        for name, module in method.modules.items()
        for key, value in module.state_dict().items()
    }
    return weights, {f"target/{name}": value for name, value in start.items()}


def test_the_moving_average_of_byol_is_part_of_the_graph(rows):
    graphs, start = trained_byol(rows, graphs=True)
    eager, _ = trained_byol(rows, graphs=False)
    assert set(graphs) == set(eager)
    for name, value in graphs.items():
        assert torch.equal(value, eager[name]), name
    for name in ("0.weight", "2.0.weight", "2.3.weight"):
        target, online = graphs[f"target/{name}"], graphs[f"online/{name}"]
        assert not torch.equal(target, start[f"target/{name}"]), "the average moved"
        assert not torch.equal(target, online), "and is behind the network"
        assert (target - online).norm() < (start[f"target/{name}"] - online).norm()


# 1300 rows in batches of 128 are eleven steps per pass, the last one smaller.
@pytest.mark.parametrize("steps", [4, 11, 15, 40])
@pytest.mark.parametrize("shape", [(30,), (3, 64)], ids=["table", "series"])
@pytest.mark.parametrize("graphs", [True, False])
def test_a_restored_lfr_continues_bit_for_bit(random, monkeypatch, shape, steps, graphs):
    """In both phases, in mid-pass and between passes; the encoder of series has dropout."""
    if not graphs:
        monkeypatch.setattr(plan_module, "_STEPS_WORTH_A_GRAPH", 10**9)
    X = random.normal(size=(1300, *shape)).astype(np.float32)
    lfr = LFR.paper(
        **SETTINGS, embedding_dim=32, predictor="mlp", predictor_hidden=16, predictor_epochs=1,
        schedule="cosine", warmup_epochs=1,
    )  # fmt: skip
    whole, state = fit_and_save(monkeypatch, lfr, X, steps)
    assert whole.plan_.graphs == graphs
    resumed = fit_from(monkeypatch, clone(lfr), X, state)
    assert resumed.plan_.graphs == graphs
    assert_same_fit(resumed, whole)


def test_a_restored_byol_continues_bit_for_bit(rows, monkeypatch):
    """The moving average is part of the state."""
    model = BYOL(epochs=5, random_state=0, device="cuda", embedding_dim=32)
    whole, state = fit_and_save(monkeypatch, model, rows, 17)
    assert whole.plan_.graphs
    assert any(name == "target" for name in state["modules"])
    resumed = fit_from(monkeypatch, clone(model), rows, state)
    assert_same_fit(resumed, whole)


def test_streamed_data_give_the_same(rows, tmp_path):
    np.save(tmp_path / "X.npy", rows)
    whole = LFR.paper(**SETTINGS).fit(rows)
    streamed = LFR.paper(**SETTINGS, memory_limit=0).fit(tmp_path / "X.npy")
    assert streamed.plan_.where("input") == "streamed"
    np.testing.assert_allclose(losses(streamed), losses(whole), rtol=1e-5)


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize(
    "probe", [evaluation.logistic_regression, evaluation.nearest_neighbors, evaluation.ridge]
)
def test_probes_agree_with_the_cpu(random, probe, standardized):
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


@pytest.mark.parametrize(("family", "modality"), FAMILIES)
def test_projectors_drawn_on_a_gpu_are_those_of_the_cpu(family, modality):
    sample = sample_of(modality)
    expected = family.draw(sample, 33, generator())(sample)
    drawn = family.draw(sample.cuda(), 33, generator())
    assert all(part.is_cuda for part in drawn.buffers())
    torch.testing.assert_close(drawn(sample.cuda()).cpu(), expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("shape", [(8,), (2, 40), (3, 16, 16)])
def test_defaults_are_solved_for_as_on_the_cpu(random, shape):
    X = random.normal(size=(300, *shape)).cumsum(-1)
    embedded = [
        torch.from_numpy(LFR(epochs=0, random_state=0, device=device).fit_transform(X))
        for device in ("cpu", "cuda")
    ]
    distances = torch.stack([torch.pdist(Z) for Z in embedded])
    assert torch.corrcoef(distances)[0, 1] > 0.999


def test_defaults_give_the_same_numbers_again(random):
    X = random.normal(size=(700, 3, 64)).astype(np.float32)
    first, second = (LFR(random_state=0, device="cuda").fit(X) for _ in range(2))
    assert losses(first) == losses(second)
    np.testing.assert_array_equal(first.transform(X), second.transform(X))


@pytest.mark.parametrize("name", TRAINED)
def test_a_stopped_fit_continues_from_its_checkpoint(name, random, tmp_path, monkeypatch):
    is_for_tables = "series" not in SPECIAL.get(name, ("series",))
    X = random.normal(size=(300, 20) if is_for_tables else (300, 3, 64)).astype(np.float32)
    y = np.arange(300) % 3
    model = small(name, device="cuda", epochs=6, batch_size=32)
    whole = clone(model).fit(X, y)
    assert whole.plan_.graphs
    write, left = CheckpointFolder.write, 4

    def counted(self, *arguments, **named):
        nonlocal left
        write(self, *arguments, **named)
        left -= 1
        if left == 0:
            raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFolder, "write", counted)
        with pytest.raises(InterruptedError):
            clone(model).fit(X, y, checkpoint=tmp_path, checkpoint_every=7)
    assert_same_fit(clone(model).fit(X, y, checkpoint=tmp_path, checkpoint_every=7), whole)


def test_memory_that_runs_out_on_the_device(random):
    """Real: other tensors leave room for the network, but not for activations of a whole batch."""
    X = random.normal(size=(2048, 64)).astype(np.float32)
    encoder = nn.Sequential(*[nn.Sequential(nn.Linear(64, 16384), nn.ReLU(), nn.Linear(16384, 64))
                              for _ in range(4)])  # fmt: skip
    settings = {"encoder": encoder, "batch_size": 2048, "epochs": 2, "random_state": 0}
    whole = SimCLR(device="cuda", precision="32", **settings).fit(X)
    gc.collect()
    torch.cuda.empty_cache()
    # What earlier fits have left, partly free, is counted: it is where activations would go.
    limit = torch.cuda.memory_allocated() + 0.6e9
    assert torch.cuda.memory_reserved() < limit
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total))
    try:
        with pytest.warns(LessMemoryWarning, match="rows at a time"):
            divided = SimCLR(device="cuda", precision="32", **settings).fit(X)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    np.testing.assert_allclose(losses(divided), losses(whole), rtol=1e-3)


def test_a_group_of_one_process_trains_as_without_a_group(tmp_path):
    """Messages through NCCL, ragged batches and synchronized layers, with only one GPU."""
    X, _ = rank_cases.data_of(rank_cases.CASES["SimCLR, series"], 60)
    settings = {
        "embedding_dim": 8, "steps": 5, "batch_size": 16, "optimizer": "sgd", "precision": "32",
        "learning_rate": 1e-4, "random_state": 0, "progress": False, "device": "cuda",
    }  # fmt: skip
    alone = SimCLR(**settings).fit(X)
    torch.distributed.init_process_group(
        "nccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    try:
        together = SimCLR(**settings)
        together._join_processes = lambda *_, **__: Ranks(torch.device("cuda", 0), 1)
        together.fit(X)
    finally:
        torch.distributed.destroy_process_group()
    for one, other in zip(
        rank_cases.weights_of(alone).values(), rank_cases.weights_of(together).values(), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)
