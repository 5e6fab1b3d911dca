"""Memory that does not suffice to embed a piece of the data, or to prepare a fit.

Running out of memory is simulated by errors like those of torch.
"""

import weakref

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

from aleator import LFR, RandomEncoder, RandomFeatures
from aleator.exceptions import LessMemoryWarning
from aleator.inputs import ArraySource
from aleator.training.embedding import embed
from aleator.training.memory_errors import explained_memory
from tests.inputs.irregular_series import ragged
from tests.small import ALL, small
from tests.training.test_fallback import CPU_ERROR, GPU_ERROR, messages

CPU = torch.device("cpu")


class Limited(nn.Module):
    """A network that needs too much memory for more than some rows."""

    def __init__(self, network, most, error=GPU_ERROR):
        super().__init__()
        self.network, self.most, self.error = network, most, error
        self.rows = []

    def forward(self, x):
        self.rows.append(len(x))
        if len(x) > self.most:
            raise self.error
        return self.network(x)


def limit(model, most, error=GPU_ERROR):
    model.encoder_ = Limited(model.encoder_, most, error)
    return model.encoder_


DATA = {
    "table": lambda random: random.normal(size=(24, 5)),
    "series": lambda random: random.normal(size=(24, 2, 30)),
    "images": lambda random: random.random((24, 3, 12, 10)),
    "series of different lengths": lambda random: ragged(low=3, high=40),
    "graphs": lambda random: [nx.gnp_random_graph(2 + k % 9, 0.4, seed=k) for k in range(24)],
    "texts": lambda random: [" ".join(random.choice(["a", "be", "sea"], 1 + k)) for k in range(24)],
}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize(
    "model",
    [RandomFeatures(n_features=64), RandomEncoder(), LFR(steps=2, n_projectors=2, progress=False)],
)
def test_the_embedding_is_that_of_one_row_alone_and_of_all(model, kind, random):
    """Lengths, gaps and sizes of other rows do not matter."""
    X = DATA[kind](random)
    model = model.set_params(random_state=0).fit(X)
    whole = model.transform(X)
    alone = np.concatenate([model.transform(X[row : row + 1]) for row in range(24)])
    limited = limit(model, 4)
    with pytest.warns(LessMemoryWarning) as caught:
        divided = model.transform(X)
    assert limited.rows == [24, 12, 6, *8 * [3]]
    assert messages(caught) == [
        "memory did not suffice on cpu to embed 24 rows at once: the network now runs on 12 rows "
        "at a time",
        "memory did not suffice on cpu to embed 12 rows at once: the network now runs on 6 rows "
        "at a time",
        "memory did not suffice on cpu to embed 6 rows at once: the network now runs on 3 rows "
        "at a time",
    ]
    scale = np.abs(whole).max()
    np.testing.assert_allclose(divided, whole, rtol=1e-4, atol=1e-5 * scale)
    np.testing.assert_allclose(divided, alone, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("error", [GPU_ERROR, CPU_ERROR, MemoryError("no memory")])
def test_the_last_rows_are_fewer(error):
    """2048 rows are a piece on a CPU; what has been found to fit is tried for the next one."""
    rows = np.arange(2 * 2053, dtype=np.float32).reshape(2053, 2)
    network = Limited(nn.Flatten(), 1000, error)
    with pytest.warns(LessMemoryWarning):
        embedded = embed(network, ArraySource(rows), CPU, "32")
    np.testing.assert_array_equal(embedded, rows)
    assert network.rows == [2048, 1024, 512, 512, 512, 512, 5]


def test_one_row_at_a_time_may_be_what_fits(table):
    model = small("RandomEncoder").fit(table)
    limited = limit(model, 1)
    with pytest.warns(LessMemoryWarning) as caught:
        model.transform(table)
    assert messages(caught)[-1].endswith("the network now runs on one row at a time")
    assert limited.rows == [60, 30, 15, 7, 3, *60 * [1]]


def test_if_one_row_is_too_much_the_error_says_so(table):
    model = small("RandomEncoder").fit(table)
    limit(model, 0)
    with pytest.warns(LessMemoryWarning), pytest.raises(MemoryError) as caught:
        model.transform(table)
    assert str(caught.value) == (
        "memory does not suffice on cpu to embed one row at once: free some of it, or embed on "
        "another device (CUDA out of memory. Tried to allocate 9 GiB)"
    )


def test_rows_that_are_normalized_together_are_not_divided(table):
    """Batch normalization without averages uses those of the rows that it is given."""
    rows = ArraySource(table)
    averages = nn.BatchNorm1d(5)
    with pytest.warns(LessMemoryWarning):
        embed(Limited(averages, 30), rows, CPU, "32")
    together = nn.BatchNorm1d(5, track_running_stats=False)
    with pytest.raises(MemoryError, match="to embed 60 rows at once"):
        embed(Limited(together, 30), rows, CPU, "32")


def test_other_errors_are_not_taken_for_memory(table):
    network = Limited(nn.Flatten(), 30, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        embed(network, ArraySource(table), CPU, "32")
    assert network.rows == [60]


def test_parts_are_written_whole(table, tmp_path):
    model = small("RandomEncoder").fit(table)
    whole = model.transform(table)
    limit(model, 10)
    with pytest.warns(LessMemoryWarning):
        model.transform_to(table, tmp_path / "out", rows_per_part=25)
    parts = sorted((tmp_path / "out").glob("*.parquet"))
    assert [pq.read_metadata(part).num_rows for part in parts] == [25, 25, 10]
    written = pq.read_table(tmp_path / "out").to_pandas().to_numpy()
    np.testing.assert_allclose(written, whole, rtol=1e-5, atol=1e-6)


ADVICE = {
    "LFR": "lower n_projectors, n_extra_projectors, target_dim, embedding_dim, or fit on another",
    "RandomFeatures": "lower n_features, or fit on another",
    "LogReg": ": fit on another",
}


@pytest.mark.parametrize("name", ALL)
def test_what_is_done_before_training_says_what_to_try(name, table, series, monkeypatch):
    X = series if name == "TSTCC" else table
    model = small(name)

    def fails(context):
        raise GPU_ERROR

    monkeypatch.setattr(model, "_prepare", fails)
    with pytest.raises(MemoryError) as caught:
        model.fit(X, np.arange(len(X)) % 2)
    advice = ADVICE.get(name, "lower embedding_dim, or fit on another")
    message = str(caught.value)
    assert message.startswith("memory does not suffice on cpu to prepare the fit: ")
    assert f"{advice} device (CUDA out of memory. Tried to allocate 9 GiB)" in message
    assert not hasattr(model, "encoder_")


def test_other_errors_before_training_stay_what_they_are(table, monkeypatch):
    model = small("LFR")

    def fails(context):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(model, "_prepare", fails)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        model.fit(table)


def test_projectors_that_cannot_be_computed_are_explained(table, monkeypatch):
    """Where memory runs out in practice: in the outputs of projectors on a sample."""
    cat = torch.cat

    def limited(tensors, *arguments, **named):
        joined = cat(tensors, *arguments, **named)
        if joined.shape == (60, 32):  # the output of a projector
            raise CPU_ERROR
        return joined

    monkeypatch.setattr("aleator.methods.lfr_start.torch.cat", limited)
    with pytest.raises(MemoryError, match="to prepare the fit: lower n_projectors"):
        LFR(n_projectors=2, target_dim=32, epochs=1, progress=False).fit(table)


def test_a_large_layer_that_cannot_be_made_is_explained(table, monkeypatch):
    """It is made when the plan has found room for it."""

    def fails(*arguments, **named):
        raise CPU_ERROR

    monkeypatch.setattr("torch.nn.Linear.to_empty", fails)
    with pytest.raises(MemoryError, match="to prepare the fit: lower embedding_dim"):
        small("DIET").fit(table)


def test_an_explained_error_keeps_no_tensors():
    """As the one that a notebook remembers would, when less is tried."""
    kept = []

    def fails():
        tensor = torch.zeros(3)
        kept.append(weakref.ref(tensor))
        raise GPU_ERROR

    with pytest.raises(MemoryError) as caught, explained_memory(CPU, "for this", "try less"):
        fails()
    assert caught.value.__cause__ is GPU_ERROR
    assert kept[0]() is None
