"""RandomFeatures: random features drawn from the data."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

import aleator
from aleator import RandomFeatures


def features(**changes):
    return RandomFeatures(**{"n_features": 50, "random_state": 0, **changes})


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("table", ["RandomTrees"]),
        ("series", ["RandomConvolutions", "RandomSubsequences"]),
        ("images", ["PatchFeatures", "DeepPatchFeatures"]),
    ],
)
def test_features_are_standardized(data, names, request):
    X = request.getfixturevalue(data)
    model = features().fit(X)
    assert [type(family).__name__ for family in model.encoder_.families] == names
    Z = model.transform(X)
    assert Z.shape == (len(X), 50)
    assert model.embedding_dim_ == 50
    np.testing.assert_allclose(Z.mean(0), 0, atol=1e-3)
    deviation = Z.std(0)
    np.testing.assert_allclose(deviation[deviation > 1e-3], 1, rtol=1e-2)
    assert (deviation > 1e-3).mean() > 0.8


@pytest.mark.parametrize("data", ["table", "series", "images"])
def test_components_and_files(data, request, tmp_path):
    X = request.getfixturevalue(data)
    model = features(n_components=7).fit(X)
    Z = model.transform(X)
    assert Z.shape == (len(X), 7)
    np.testing.assert_allclose(Z.T @ Z, np.diag(np.diag(Z.T @ Z)), atol=1e-2)
    assert (np.diff(Z.std(0)) < 1e-4).all(), "in order of decreasing variance"
    model.save(tmp_path)
    again = aleator.load(tmp_path)
    np.testing.assert_array_equal(again.transform(X), Z)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.fit(X).transform(X), Z)


def test_the_seed_decides(series):
    first, second, other = (features(random_state=seed).fit_transform(series) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)


class Samples(torch.utils.data.Dataset):
    def __init__(self, array):
        self.array = array

    def __len__(self):
        return len(self.array)

    def __getitem__(self, position):
        return torch.from_numpy(self.array[position])


def test_streamed_data_give_the_same(random, tmp_path):
    """More samples than features are drawn from, in a file and in a dataset."""
    X = random.normal(size=(5000, 6)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    expected = features().fit(X).transform(X)
    for other in (np.load(tmp_path / "X.npy", mmap_mode="r"), tmp_path / "X.npy", Samples(X)):
        model = features().fit(other)
        np.testing.assert_allclose(model.transform(other), expected, atol=1e-5)
        np.testing.assert_allclose(model.transform(X), expected, atol=1e-5)


def test_kinds_can_be_chosen(series, tmp_path):
    model = features(projector=["hydra", "spectrum", "cnn"]).fit(series)
    names = [type(family).__name__ for family in model.encoder_.families]
    assert names == ["CompetingConvolutions", "SpectralBands", "Sequential"]
    model.save(tmp_path)
    Z = model.transform(series)
    assert Z.shape == (40, 50)
    np.testing.assert_array_equal(aleator.load(tmp_path).transform(series), Z)


def test_a_factory_gets_a_sample_of_the_data(table):
    seen = []

    def distances(input_shape, output_dim, sample):
        seen.append(tuple(sample.shape))

        class Distances(nn.Module):
            def forward(self, x):
                return torch.cdist(x, sample[:output_dim])

        return Distances()

    model = features(projector=distances).fit(table)
    assert seen == [(60, 5)]
    assert model.transform(table).shape == (60, 50)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": 51}, "n_components=51 is larger than 50, the smaller of the numbers"),
        ({"n_features": 500, "n_components": 61}, "n_components=61 is larger than 60"),
        ({"n_features": 0}, "n_features must be an integer of at least 1"),
        ({"n_components": 0}, "n_components must be an integer of at least 1"),
        ({"projector": []}, "projector must name at least one kind"),
        ({"projector": "hydra"}, "projector='hydra' is not known for modality 'table'"),
        ({"projector": ["trees", 3]}, "projector must be a name, a torch.nn.Module or a factory"),
    ],
)
def test_errors_are_explained(table, changes, message):
    with pytest.raises(ValueError, match=message):
        features(**changes).fit(table)


def test_a_pipeline_learns_what_raw_values_do_not_show(random):
    """Classes differ in frequency, not in any value: a linear model of the values is blind."""
    y = np.arange(600) % 2
    phase, noise = random.uniform(0, 2 * np.pi, (600, 1)), random.normal(size=(600, 64))
    frequency = np.where(y, 5, 8)[:, None]
    signal = np.sin(frequency * 2 * np.pi * np.arange(64) / 64 + phase) + 0.5 * noise
    X = signal[:, None].astype(np.float32)
    train, test = slice(0, 400), slice(400, 600)
    flat = X.reshape(600, -1)
    raw = LogisticRegression(max_iter=1000).fit(flat[train], y[train]).score(flat[test], y[test])
    pipeline = make_pipeline(features(n_features=200), LogisticRegression(max_iter=1000))
    score = pipeline.fit(X[train], y[train]).score(X[test], y[test])
    assert raw < 0.7
    assert score > 0.95


def test_more_features_than_samples(random):
    X = random.normal(size=(4, 3))
    Z = RandomFeatures(random_state=0).fit(X).transform(random.normal(size=(10, 3)))
    assert Z.shape == (10, 4096)
    assert np.isfinite(Z).all()
    assert np.abs(Z).max() < 20
