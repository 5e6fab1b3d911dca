"""Fine-tuning and transfer."""

import numpy as np
import pytest
import torch
from PIL import Image

from aleator import LFR, RandomEncoder, RandomFeatures, Supervised
from aleator.evaluation import fine_tune, finetuning, logistic_regression, transfer
from aleator.inputs.images import source


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


def test_texts_and_parts_whether_in_memory_or_read_from_files(tmp_path, monkeypatch):
    n = 120
    y = np.arange(n) % 2
    random = np.random.default_rng(0)
    texts = [f"{'good' if label else 'poor'} {random.integers(99)}" for label in y]
    images = random.integers(0, 256, (n, 8, 9), dtype=np.uint8)
    for row, pixels in enumerate(images):
        Image.fromarray(pixels).save(tmp_path / f"{row}.png")
    settings = {"epochs": 30, "learning_rate": 1e-2}
    small = {"n_features": 64, "random_state": 0}
    for X in (texts, {"text": texts, "photo": tmp_path}):
        model = RandomFeatures(**small).fit(X)
        whole = fine_tune(model, X, y, X, y, **settings)
        assert whole.mean() > 0.9
    # Files that take more memory than the buffer stay where they are.
    monkeypatch.setattr(finetuning, "BUFFER_SIZE", 100)
    read = []
    decode = source.decode
    monkeypatch.setattr(source, "decode", lambda *args: read.append(1) or decode(*args))
    streamed = fine_tune(model, X, y, X, y, **{**settings, "epochs": 2}, batch_size=30)
    assert len(read) > 3 * n
    monkeypatch.undo()
    kept = fine_tune(model, X, y, X, y, **{**settings, "epochs": 2}, batch_size=30)
    assert streamed.mean() == pytest.approx(kept.mean(), abs=0.02)


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
