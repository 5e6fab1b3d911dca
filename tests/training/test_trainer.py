"""What the trainer owns: order, learning rates, modes, graphs, progress and its state."""

import gc
import io
import re
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.base import clone
from torch import nn

from aleator.exceptions import GraphCaptureWarning
from aleator.training import steps
from aleator.training import trainer as trainer_module
from aleator.training.devices import resolve_precision, seeded
from aleator.training.host_rows import TensorRows
from aleator.training.math_mode import math_mode
from aleator.training.method import INPUT, Method, ParameterGroup, Phase
from aleator.training.optimizers import Optimizer, OptimizerSettings
from aleator.training.plan import Duration, make_plan
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler, batch_sizes
from aleator.training.schedules import Schedule
from aleator.training.steps import no_garbage_collection, snapshot
from aleator.training.trainer import Trainer
from tests.small import small_lfr
from tests.training.saved_states import assert_same_fit, fit_and_save, fit_from

CPU = torch.device("cpu")


def regression(rows=20, drop_last=False):
    """A method of one phase over two given columns: learn y from x."""
    torch.manual_seed(0)
    layer = nn.Linear(3, 1)
    x = torch.randn(rows, 3)
    y = x @ torch.tensor([[1.0], [2.0], [3.0]])
    given = {INPUT: TensorRows(x), "y": TensorRows(y)}

    def outputs(x, y):
        return layer(x), y

    group = ParameterGroup("layer", (layer,))
    phase = Phase("fit", [group], (layer,), (INPUT, "y"), outputs, F.mse_loss)
    method = Method({"layer": layer}, [phase])
    duration = Duration(200)
    plan = make_plan(
        method, given, duration, pass_length=rows, batch_size=8, device=CPU, precision="32"
    )
    trainer = Trainer(
        method, given, plan=plan, sampler=Sampler(rows, 0), duration=duration,
        optimizer=OptimizerSettings("adam", 0.05), drop_last=drop_last,
    )  # fmt: skip
    return trainer, layer


def test_any_method_can_be_trained():
    trainer, layer = regression()
    with Progress("fit", trainer.total_steps, bar=False) as progress:
        trainer.fit(progress)
    np.testing.assert_allclose(layer.weight.detach()[0], [1, 2, 3], atol=0.01)
    assert trainer.total_steps == trainer.steps == 200 * 3
    assert {record["steps"] for record in trainer.history} == {3}
    assert trainer.history[0]["learning_rates"] == {"layer": 0.05}


def test_the_last_batch_can_be_dropped():
    trainer, _ = regression(drop_last=True)
    assert trainer.total_steps == 200 * 2
    assert batch_sizes(5, 8, drop_last=True) == [5], "a pass is never empty"


def plan_graphs(monkeypatch, graphed_step):
    """Let plans have graphs on the CPU, where `graphed_step` stands for a captured step."""
    monkeypatch.setattr(trainer_module, "GraphedStep", graphed_step)
    make = Trainer.__init__

    def with_graphs(self, *arguments, plan, **named):
        make(self, *arguments, plan=trainer_module.replace(plan, graphs=True), **named)

    monkeypatch.setattr(Trainer, "__init__", with_graphs)


def test_a_step_that_cannot_be_captured_runs_eagerly(table, monkeypatch):
    class Refusing:
        def __init__(self, *arguments):
            raise RuntimeError("operation not permitted when stream is capturing\nmore")

    plan_graphs(monkeypatch, Refusing)
    with pytest.warns(GraphCaptureWarning, match=r"steps run eagerly \(operation not permitted"):
        lfr = small_lfr().fit(table)
    assert not lfr.plan_.graphs
    monkeypatch.undo()
    np.testing.assert_array_equal(lfr.transform(table), small_lfr().fit(table).transform(table))


def test_one_graph_for_every_batch_size(table, monkeypatch):
    """Capture is replaced by a recorder that runs the step; all else is the trainer's own."""
    captured = []

    class Recording:
        def __init__(self, step, index):
            captured.append((step.phase.name, len(index)))
            self.step = step

        def __call__(self, index):
            self.step(index)

    plan_graphs(monkeypatch, Recording)
    lfr = small_lfr(epochs=3).fit(table)
    assert captured == [("encoder", 16), ("encoder", 12), ("predictors", 16), ("predictors", 12)]
    assert lfr.plan_.graphs
    monkeypatch.undo()
    expected = small_lfr(epochs=3).fit(table)
    np.testing.assert_array_equal(lfr.transform(table), expected.transform(table))


def test_a_rehearsal_is_undone():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    optimizer = Optimizer(OptimizerSettings("adam", 0.1), [ParameterGroup("encoder", [net])], CPU)
    total = torch.zeros(())

    def everything():
        tensors = [*net.state_dict().values(), *optimizer.state(), total]
        return [tensor.clone() for tensor in tensors]

    def step():
        net(torch.randn(8, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        total.add_(1)

    for _ in range(2):  # from a fresh start, and in the middle of training
        before = everything()
        restore = snapshot([net], optimizer, total)
        step()
        assert not all(map(torch.equal, before, everything()))
        restore()
        assert all(map(torch.equal, before, everything()))
        step()


def test_all_graphs_of_a_device_are_rehearsed_on_one_stream(monkeypatch):
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: ("stream", device))
    steps._rehearsal_stream.cache_clear()
    first, second = torch.device("cuda", 0), torch.device("cuda", 1)
    try:
        streams = [steps._rehearsal_stream(device) for device in (first, first, second)]
        assert streams[0] is streams[1]
        assert streams[2] == ("stream", second)
    finally:
        steps._rehearsal_stream.cache_clear()


def test_the_sampler_can_be_restored():
    sampler = Sampler(10, seed=3)
    sampler.next_pass()
    state = sampler.state_dict()
    expected = [sampler.next_pass().tolist() for _ in range(3)]
    other = Sampler(10, seed=99)
    other.load_state_dict(state)
    assert [other.next_pass().tolist() for _ in range(3)] == expected
    assert sorted(expected[0]) == list(range(10))


def test_schedules():
    assert Schedule("constant", 10).is_constant is True
    assert Schedule("constant", 10, warmup=2).is_constant is False
    cosine = Schedule("cosine", 100)
    assert [cosine.factor(step) for step in (0, 50)] == pytest.approx([1, 0.5])
    assert cosine.factor(1000) == pytest.approx(0, abs=1e-12)


def test_switches_are_restored():
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.deterministic
    with math_mode("tf32"):
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.backends.cudnn.deterministic
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.deterministic) == before
    with pytest.raises(KeyError), math_mode("32"):
        raise KeyError
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.deterministic) == before
    assert resolve_precision("auto", torch.device("cuda")) == "tf32"
    assert resolve_precision("tf32", CPU) == "32"


def test_seeded_noise_is_reproducible():
    def draw():
        with seeded(4, CPU):
            return torch.rand(3)

    assert torch.equal(draw(), draw())


@pytest.mark.parametrize("steps", [1, 3, 4, 6, 8, 12, 15])
@pytest.mark.parametrize("changes", [{}, {"schedule": "cosine", "warmup_epochs": 1}, {"steps": 8}])
def test_a_restored_run_continues_bit_for_bit(series, monkeypatch, steps, changes):
    """Saved in mid-pass and between passes; the encoder of series has dropout."""
    lfr = small_lfr(batch_size=12, **changes)
    whole, state = fit_and_save(monkeypatch, lfr, series, steps)
    resumed = fit_from(monkeypatch, clone(lfr), series, state)
    assert_same_fit(resumed, whole)


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


@pytest.mark.parametrize(("verbose", "phases"), [(1, ["encoder"]), (2, ["encoder", "predictors"])])
def test_verbose_prints_a_line_per_pass(table, capfd, verbose, phases):
    lfr = small_lfr(verbose=verbose).fit(table)
    out, err = capfd.readouterr()
    assert err == ""
    shown = [record for record in lfr.history_ if record["phase"] in phases]
    assert len(out.splitlines()) == len(shown) == 2 * len(phases)
    for line, record in zip(out.splitlines(), shown, strict=True):
        assert line.startswith(f"[LFR] epoch {record['epoch'] + 1}, {record['phase']}: loss ")
        assert f"loss {record['loss']:.4g}," in line


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_while_a_graph_is_captured(enabled):
    (gc.enable if enabled else gc.disable)()
    try:
        with no_garbage_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
