"""Fine-tuning and transfer."""

import numpy as np
import pytest
import torch

from aleator import LFR, RandomEncoder, Supervised
from aleator.evaluation import fine_tune, logistic_regression, transfer


@pytest.fixture
def labeled_data(random):
    X = random.normal(size=(300, 6)).astype(np.float32) * 3 + 1
    return X, (X[:, 0] + X[:, 1] > 2).astype(int)


def test_fine_tuning_starts_from_the_encoder_and_does_not_change_it(labeled_data):
    X, y = labeled_data
    model = LFR.paper(epochs=2, embedding_dim=16, n_projectors=2, random_state=0, progress=False)
    before = model.fit(X).transform(X)
    tuned = fine_tune(model, X[:200], y[:200], X[200:], y[200:], epochs=40, learning_rate=3e-3)
    assert tuned.mean() > 0.9
    np.testing.assert_array_equal(model.transform(X), before)
    untouched = fine_tune(model, X[:200], y[:200], X[200:], y[200:], epochs=0)
    assert untouched.mean() < 0.9  # the linear layer is random


def test_fine_tuning_of_random_features_trains_the_part_after_them(labeled_data, monkeypatch):
    X, y = labeled_data
    tuned = []
    fit = Supervised.fit
    monkeypatch.setattr(
        Supervised, "fit", lambda self, *data: tuned.append(fit(self, *data)) or self
    )
    model = LFR(epochs=2, n_projectors=2, random_state=0, progress=False).fit(X)
    sets = X[:200], y[:200], X[200:], y[200:]
    assert fine_tune(model, *sets, epochs=40, learning_rate=1e-4).mean() > 0.8
    before, after = model.encoder_.state_dict(), tuned[0].encoder_.state_dict()
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"trunk"}


def test_a_fraction_of_the_labels(labeled_data, monkeypatch):
    X, y = labeled_data
    seen = []
    fit = Supervised.fit
    monkeypatch.setattr(
        Supervised, "fit", lambda self, X, y: seen.append((len(X), y.mean())) or fit(self, X, y)
    )
    model = RandomEncoder(embedding_dim=8, random_state=0).fit(X)
    result = fine_tune(model, X, y, X, y, label_fraction=0.1, seeds=(0, 1), epochs=1)
    assert [count for count, _ in seen] == [30, 30]
    assert all(share == pytest.approx(y.mean(), abs=0.04) for _, share in seen)
    assert "10 % of the labels" in result.probe
    assert len(result.values()) == 2
    with pytest.raises(ValueError, match="label_fraction"):
        fine_tune(model, X, y, X, y, label_fraction=0)
    rare = np.where(np.arange(300) < 4, 2, y)
    with pytest.raises(ValueError, match="leaves no sample of class 2, which has 4 in y_train"):
        fine_tune(model, X, rare, X, rare, label_fraction=0.1)


def test_invalid_arguments_are_rejected(labeled_data):
    X, y = labeled_data
    model = RandomEncoder(embedding_dim=8, random_state=0).fit(X)
    with pytest.raises(
        ValueError, match=r"y_train must contain one label per sample: .*\(300,\).*\(299,\)"
    ):
        fine_tune(model, X, y[:-1], X, y)
    with pytest.raises(ValueError, match="at least one seed"):
        fine_tune(model, X, y, X, y, seeds=())
    with pytest.raises(ValueError, match="at least one seed"):
        transfer(RandomEncoder(), X, X, y, X, y, seeds=())
    with pytest.raises(ValueError, match="at least one seed"):
        logistic_regression(X, y, X, y, seeds=())


def test_transfer_pretrains_on_the_source_only(labeled_data, random, monkeypatch):
    X, y = labeled_data
    source = random.normal(size=(90, 6))
    seen = []
    fit = RandomEncoder.fit
    monkeypatch.setattr(
        RandomEncoder,
        "fit",
        lambda self, X: seen.append((len(X), self.random_state)) or fit(self, X),
    )
    result = transfer(
        RandomEncoder(), source, X[:200], y[:200], X[200:], y[200:],
        seeds=(3, 4), probe=logistic_regression, standardized=True,
    )  # fmt: skip
    assert seen == [(90, 3), (90, 4)]
    assert result.probe == "transfer, logistic regression, standardized"
    assert len(result.values()) == len(result.chosen) == 2
    assert result.mean() > 0.9
