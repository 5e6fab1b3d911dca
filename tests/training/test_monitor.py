"""A collapse of the embedding is reported; a healthy run gives no warning."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from aleator import BYOL, LFR, Autoencoder, SimSiam
from aleator.exceptions import CollapseWarning
from aleator.inputs import ArraySource
from aleator.training.monitor import CollapseMonitor, _effective_rank_of_gram


def record_of(rows):
    monitor = CollapseMonitor(nn.Flatten(), ArraySource(rows.numpy()))
    monitor.setup(torch.device("cpu"))
    record = {}
    monitor.update(record)
    monitor.close()
    return record


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_equal_directions_count_as_many(rank):
    """Orthogonal directions of equal spread: the effective rank is their number."""
    basis = torch.linalg.qr(torch.randn(8, 8))[0][:rank]
    corners = torch.cat([basis, -basis])
    assert record_of(corners + 3)["effective_rank"] == pytest.approx(rank, rel=1e-4)


def test_numbers_by_hand():
    rows = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    record = record_of(rows)
    assert record["embedding_std"] == pytest.approx((1.5 + 0.5) / 2)
    share = np.array([0.75, 0.25])
    entropy = -(share * np.log(share)).sum()
    assert record["effective_rank"] == pytest.approx(np.exp(entropy))


def test_a_large_sample_is_taken_evenly():
    rows = torch.arange(10_000.0)[:, None]
    monitor = CollapseMonitor(nn.Identity(), ArraySource(rows.numpy()))
    assert len(monitor._rows) == 256
    assert monitor._rows[0] == 0
    assert monitor._rows[-1] == 9999
    assert monitor._rows.diff(dim=0).max() < 41
    monitor.close()


def test_no_spread_and_no_number():
    assert record_of(torch.ones(5, 3))["effective_rank"] == 1
    assert np.isnan(_effective_rank_of_gram(np.array([[np.nan]])))


def test_every_epoch_is_in_the_history(table):
    lfr = LFR.paper(epochs=3, predictor_epochs=2, embedding_dim=8, n_projectors=2, progress=False)
    history = lfr.fit(table).history_
    for record in history:
        watched = record["phase"] == "encoder"
        assert ("effective_rank" in record) == ("embedding_std" in record) == watched
    last = [record for record in history if record["phase"] == "encoder"][-1]
    embedding = lfr.transform(table).astype(np.float64)
    assert last["embedding_std"] == pytest.approx(embedding.std(0).mean(), rel=1e-4)


def test_a_collapse_to_a_point_warns(table):
    """Weight decay far too strong: all weights go to zero, and the embedding with them."""
    model = Autoencoder(
        epochs=30, weight_decay=10.0, learning_rate=0.02, optimizer="sgd", random_state=0,
        progress=False,
    )  # fmt: skip
    with pytest.warns(
        CollapseWarning, match="Autoencoder: the embedding has collapsed to nearly one"
    ):
        model.fit(table)
    assert model.history_[-1]["embedding_std"] < 1e-3 * model.history_[0]["embedding_std"]


@pytest.mark.parametrize("method", [SimSiam, BYOL])
def test_a_collapse_to_a_direction_warns(random, method):
    X = random.normal(size=(100, 6))

    class Line(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(6, 1))

        def forward(self, x):
            return (x @ self.weight) * torch.ones(8)

    with pytest.warns(CollapseWarning, match="nearly one direction"):
        method(encoder=Line(), epochs=1, progress=False).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # data on a line themselves are no collapse
        LFR(epochs=1, embedding_dim=8, n_projectors=2, progress=False).fit(X[:, :1])


def test_a_healthy_run_does_not_warn(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LFR(epochs=5, embedding_dim=8, n_projectors=2, progress=False).fit(table)
