"""A new modality is one file: every method works on it, and models can be saved and loaded."""

from pathlib import Path

import numpy as np
import pytest

import aleator
from aleator import LFR, Autoencoder, SimCLR
from tests.modalities import point_sets
from tests.small import small

METHODS = sorted(set(aleator.methods.__all__) - {"SCARF", "TSTCC"})


@pytest.fixture
def clouds(random):
    """Flat and round sets of twelve points."""
    y = np.arange(60) % 2
    X = random.normal(size=(60, 12, 3))
    X[y == 1, :, 2] *= 0.1
    return X.astype(np.float32), y


def test_the_file_is_short():
    assert len(Path(point_sets.__file__).read_text().splitlines()) <= 80


@pytest.mark.parametrize("name", METHODS)
def test_every_method_works_on_point_sets(clouds, name, tmp_path):
    X, y = clouds
    model = small(name, modality="points").fit(X, y)
    Z = model.transform(X)
    assert Z.shape == (60, model.embedding_dim_)
    if name != "LogReg":
        features = name == "RandomFeatures"
        network = model.encoder_.families[0] if features else model.encoder_
        assert type(network).__name__ == "DeepSet"
        # The order of points does not matter to the encoder, unlike to a network for series.
        np.testing.assert_allclose(model.encoder_(_tensor(model, X[:, ::-1])), Z, atol=1e-4)
    model.save(tmp_path)
    np.testing.assert_array_equal(aleator.load(tmp_path).transform(X), Z)


def _tensor(model, X):
    import torch

    with torch.no_grad():
        scale = model.adapter_.scale
        # Scaled point by point: the same for every order only if the scale is, so undo the order.
        flipped = {name: values[::-1] for name, values in scale.items()}
        rows = (X - flipped["mean"]) / flipped["deviation"]
        model.encoder_.requires_grad_(False)
        return torch.from_numpy(rows.astype(np.float32))


def test_defaults_come_from_the_modality(clouds):
    X, _ = clouds
    lfr = LFR(modality="points", epochs=1, schedule="constant", random_state=0).fit(X)
    assert lfr.transform(X).shape == (60, 64)
    rates = lfr.history_[0]["learning_rates"]
    assert set(rates.values()) == {point_sets.POINT_SETS.learning_rate}
    model = Autoencoder(modality="points", epochs=1, random_state=0).fit(X)
    assert type(model.decoder_[-1]).__name__ == "Unflatten"
    model = SimCLR(modality="points", view_options={"noise": 0.5}, epochs=1).fit(X)
    assert model.projection_head_[0].out_features == 32


def test_the_name_is_needed_and_errors_use_the_words_of_the_modality(clouds):
    X, _ = clouds
    assert small("LFR").fit(X).adapter_.modality == "series"
    model = small("LFR", modality="points").fit(X)
    with pytest.raises(ValueError, match="X has 11 points, but LFR is expecting 12 points"):
        model.transform(X[:, :11])
    with pytest.raises(ValueError, match=r"view_options has 'crop'.*views of point sets"):
        small("SimCLR", modality="points", view_options={"crop": 1}).fit(X)
    with pytest.raises(ValueError, match="SCARF works on tables, but X is point sets"):
        small("SCARF", modality="points").fit(X)
