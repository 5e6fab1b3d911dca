"""What the engine owns: order, rates, modes, graphs, progress."""

import io
import re
import sys

import numpy as np
import pytest
import torch
from torch import nn

from aleator.training import engine as engine_module
from aleator.training.devices import arithmetic, resolve_precision, seeded
from aleator.training.engine import Engine
from aleator.training.method import INPUT, Method, Phase
from aleator.training.optimizers import Optimizer, OptimizerSettings
from aleator.training.plan import Rounds, make_plan
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler, batch_sizes
from aleator.training.schedules import Schedule
from aleator.training.steps import _remember
from tests.small import small_lfr

CPU = torch.device("cpu")


def regression(rows=20, drop_last=False):
    """A method of one phase over two given columns: learn y from x."""
    torch.manual_seed(0)
    layer = nn.Linear(3, 1)
    x = torch.randn(rows, 3)
    leaves = {INPUT: x, "y": x @ torch.tensor([[1.0], [2.0], [3.0]])}

    def loss(x, y):
        return (layer(x) - y).square().mean()

    method = Method(
        {"layer": layer}, [Phase("fit", {"encoder": layer}, (layer,), (INPUT, "y"), loss)]
    )
    rounds = Rounds(200)
    plan = make_plan(
        method, leaves, rounds, rows_a_pass=rows, batch_size=8, device=CPU, precision="32"
    )
    settings = OptimizerSettings("adam", {"encoder": 0.05}, (0.9, 0.999), 0.0, 0.0)
    engine = Engine(
        method, leaves, plan=plan, sampler=Sampler(rows, 0), rounds=rounds, optimizer=settings,
        drop_last=drop_last,
    )  # fmt: skip
    return engine, layer


def test_any_method_can_be_trained():
    engine, layer = regression()
    with Progress("fit", engine.total_steps, shown=False) as progress:
        engine.train(progress)
    np.testing.assert_allclose(layer.weight.detach()[0], [1, 2, 3], atol=0.01)
    assert engine.total_steps == 200 * 3
    assert {record["steps"] for record in engine.history} == {3}


def test_the_last_batch_can_be_dropped():
    engine, _ = regression(drop_last=True)
    assert engine.total_steps == 200 * 2
    assert batch_sizes(5, 8, drop_last=True) == [5], "a pass is never empty"


def test_a_step_that_cannot_be_captured_runs_eagerly(table, monkeypatch):
    class Refusing:
        def __init__(self, *arguments):
            raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(engine_module, "GraphedStep", Refusing)
    make = engine_module.Engine.__init__

    def with_graphs(self, *arguments, plan, **named):
        make(self, *arguments, plan=engine_module.replace(plan, graphs=True), **named)

    monkeypatch.setattr(engine_module.Engine, "__init__", with_graphs)
    with pytest.warns(UserWarning, match=r"steps run eagerly \(operation not permitted"):
        lfr = small_lfr().fit(table)
    assert not lfr.plan_.graphs
    monkeypatch.undo()
    np.testing.assert_array_equal(lfr.transform(table), small_lfr().fit(table).transform(table))


def test_a_graph_for_every_batch_size_and_no_more(table, monkeypatch):
    """Capture is replaced by a recorder that runs the step: the engine's bookkeeping is real."""
    captured = []

    class Recording:
        def __init__(self, step, index):
            captured.append((step.phase.name, len(index)))
            self.step = step

        def __call__(self, index):
            self.step(index)

    monkeypatch.setattr(engine_module, "GraphedStep", Recording)
    make = engine_module.Engine.__init__

    def with_graphs(self, *arguments, plan, **named):
        make(self, *arguments, plan=engine_module.replace(plan, graphs=True), **named)

    monkeypatch.setattr(engine_module.Engine, "__init__", with_graphs)
    lfr = small_lfr(epochs=3).fit(table)
    assert captured == [("encoder", 16), ("encoder", 12), ("predictors", 16), ("predictors", 12)]
    assert lfr.plan_.graphs
    monkeypatch.undo()
    expected = small_lfr(epochs=3).fit(table)
    np.testing.assert_array_equal(lfr.transform(table), expected.transform(table))


def test_a_rehearsal_is_undone():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    settings = OptimizerSettings("adam", {"encoder": 0.1}, (0.9, 0.999), 0.0, 0.0)
    optimizer = Optimizer(settings, {"encoder": net}, CPU)
    total = torch.zeros(())

    def everything():
        tensors = [*net.state_dict().values(), *optimizer.memory(), total]
        return [tensor.clone() for tensor in tensors]

    def step():
        net(torch.randn(8, 3)).square().sum().backward()
        optimizer.step()
        optimizer.forget_gradients()
        total.add_(1)

    for _ in range(2):  # from a fresh start, and in the middle of training
        before = everything()
        undo = _remember([net], optimizer, total)
        step()
        assert not all(map(torch.equal, before, everything()))
        undo()
        assert all(map(torch.equal, before, everything()))
        step()


def test_the_sampler_can_be_put_back():
    sampler = Sampler(10, seed=3)
    sampler.next_pass()
    state = sampler.state_dict()
    expected = [sampler.next_pass().tolist() for _ in range(3)]
    other = Sampler(10, seed=99)
    other.load_state_dict(state)
    assert [other.next_pass().tolist() for _ in range(3)] == expected
    assert sorted(expected[0]) == list(range(10))


def test_schedules():
    assert Schedule("constant", 10).moves is False
    assert Schedule("constant", 10, warmup=2).moves is True
    cosine = Schedule("cosine", 100)
    assert [cosine.share(step) for step in (0, 50)] == pytest.approx([1, 0.5])
    assert cosine.share(1000) == pytest.approx(0, abs=1e-12)


def test_switches_are_put_back():
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.deterministic
    with arithmetic("tf32"):
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.backends.cudnn.deterministic
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.deterministic) == before
    with pytest.raises(KeyError), arithmetic("32"):
        raise KeyError
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.deterministic) == before
    assert resolve_precision("auto", torch.device("cuda")) == "tf32"
    assert resolve_precision("tf32", CPU) == "32"


def test_seeded_noise_is_reproducible():
    def draw():
        with seeded(4, CPU):
            return torch.rand(3)

    assert torch.equal(draw(), draw())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_progress_bar_on_a_terminal(table, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TERM", "xterm")
    small_lfr(progress=True, epochs=5).fit(table)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    last = text.strip().splitlines()[-1]
    assert "LFR" in last
    assert "100%" in last
    assert re.search(r"loss \d", last)
    assert re.search(r"\d steps/s", last)


@pytest.mark.parametrize("progress", [True, False])
def test_no_progress_bar_without_a_terminal(table, capfd, progress):
    small_lfr(progress=progress).fit(table)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
