"""precision="64": everything that is trained is in double precision, what is fitted is not."""

import numpy as np
import pytest
import torch

import aleator
from aleator.exceptions import CheckpointError, LessMemoryWarning
from aleator.training import plan
from aleator.training.devices import dtype_of
from aleator.training.host_rows import TensorRows
from aleator.training.method import INPUT, Method, Phase
from aleator.training.steps import Step
from tests.small import SPECIAL, TRAINED, small, small_lfr
from tests.training.saved_states import assert_same_fit, fit_and_save, fit_from

# What a state contains in another type: torch counts the steps of Adam in single precision.
_COUNTS = "steps"


def data_for(name, table, series):
    X = series if SPECIAL.get(name) == ("series",) else table
    return X, np.arange(len(X)) % 2


def types_in(value, key=""):
    """Yield the types of all floating-point tensors of a state, but for counters."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from types_in(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from types_in(part, key)
    elif isinstance(value, torch.Tensor) and value.is_floating_point() and key != _COUNTS:
        yield value.dtype


@pytest.mark.parametrize("name", [*TRAINED, "LFR.paper"])
def test_training_is_in_double_and_the_model_in_single_precision(
    name, table, series, monkeypatch, tmp_path
):
    X, y = data_for(name, table, series)

    def make():
        if name == "LFR.paper":
            return small_lfr(precision="64")
        return small(name, precision="64")

    batches = set()
    call = Step.__call__

    def watched(self, index):
        columns = self._columns.gather(self.phase.columns, index)
        batches.update(c.dtype for c in columns if c.is_floating_point())
        call(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(Step, "__call__", watched)
        model, state = fit_and_save(monkeypatch, make(), X, 3, y)
    assert batches == {torch.float64}
    assert set(types_in(state)) == {torch.float64}
    # A run that continues from the state ends with the same weights, bit for bit.
    assert_same_fit(fit_from(monkeypatch, make(), X, state, y), model)
    for value in vars(model).values():
        for module in value if isinstance(value, list) else [value]:
            if isinstance(module, torch.nn.Module):
                assert set(types_in(module.state_dict())) <= {torch.float32}
    embedding = model.transform(X)
    assert embedding.dtype == np.float32
    model.save(tmp_path / "model")
    loaded = aleator.load(tmp_path / "model")
    assert loaded.precision == "64"
    np.testing.assert_array_equal(loaded.transform(X), embedding)


@pytest.mark.parametrize("name", ["LFR", "LFR.paper", "Autoencoder", "BYOL", "Supervised"])
def test_single_precision_differs_by_its_rounding(name, table):
    """Methods whose random numbers do not depend on the precision."""
    y = np.arange(len(table)) % 2
    settings = {"optimizer": "sgd", "learning_rate": 1e-2, "steps": 4}

    def fit(precision):
        make = small_lfr if name == "LFR.paper" else lambda **named: small(name, **named)
        return make(precision=precision, **settings).fit(table, y)

    double, single = fit("64"), fit("32")
    losses = [[record["loss"] for record in model.history_] for model in (double, single)]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert losses[0] != losses[1]
    embeddings = [model.transform(table) for model in (double, single)]
    np.testing.assert_allclose(*embeddings, rtol=1e-3, atol=1e-5)
    assert not np.array_equal(*embeddings)


def test_images_and_their_augmentation():
    images = np.random.default_rng(0).random((20, 3, 8, 8)).astype(np.float32)
    for name in ("SimCLR", "DACL", "LFR"):
        model = small(name, encoder="mlp", precision="64").fit(images)
        assert np.isfinite(model.transform(images)).all()


def test_a_checkpoint_of_another_precision_is_that_of_another_run(table, tmp_path):
    small_lfr(precision="64").fit(table, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="precision='64', but this one has precision='32'"):
        small_lfr(precision="32").fit(table, checkpoint=tmp_path)


def test_a_finished_run_is_read_as_it_was(table, tmp_path):
    first = small_lfr(precision="64").fit(table, checkpoint=tmp_path)
    assert_same_fit(small_lfr(precision="64").fit(table, checkpoint=tmp_path), first)


def test_less_memory(table, monkeypatch):
    """Columns that are computed again, and micro-batches, are in double precision too."""
    whole = small_lfr(precision="64").fit(table)
    call = Step.__call__

    def limited(self, index):
        if self._micro_batch is None and self.phase.name == "encoder":
            raise torch.OutOfMemoryError("CUDA out of memory")
        call(self, index)

    monkeypatch.setattr(Step, "__call__", limited)
    with pytest.warns(LessMemoryWarning):
        model = small_lfr(precision="64").fit(table)
    assert model.plan_.micro_batch is not None
    assert model.plan_.where("targets") == model.plan_.where("embedding") == "recomputed"
    losses = [[record["loss"] for record in fit.history_] for fit in (model, whole)]
    # Of single precision, it would be at best 1e-7.
    np.testing.assert_allclose(*losses, rtol=1e-12)


def test_the_plan_knows_the_size_of_values(table):
    sizes = {}
    for precision in ("64", "32"):
        placements = small_lfr(precision=precision).fit(table).plan_.placements
        sizes[precision] = {place.name: place.bytes for place in placements}
    for column in ("targets", "embedding"):
        assert sizes["64"][column] == 2 * sizes["32"][column]
    # Samples are single precision whatever is trained, and only batches of them are converted.
    assert sizes["64"]["input"] == sizes["32"]["input"]


def test_double_precision_has_no_cuda_graphs(monkeypatch):
    """Fused updates read a learning rate on the device in single precision."""
    monkeypatch.setattr(plan, "free_memory", lambda device: 1 << 30)
    method = Method({}, [Phase("fit", [], [], (INPUT,), tuple, sum)])
    for precision, graphs in (("64", False), ("32", True)):
        made = plan.make_plan(
            method, {INPUT: TensorRows(torch.zeros(60, 2))}, plan.Duration(500), pass_length=60,
            batch_size=16, device=torch.device("cuda", 0), precision=precision,
        )  # fmt: skip
        assert made.graphs == graphs
        assert made.dtype == dtype_of(precision)
