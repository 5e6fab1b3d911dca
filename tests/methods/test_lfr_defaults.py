"""The defaults of LFR: projectors drawn from the data, and an encoder that begins with features."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import aleator
from aleator import LFR
from aleator.estimators import fit_context
from aleator.modalities import get_modality
from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.feature_encoder import FeatureEncoder
from aleator.projectors.subsequences import RandomSubsequences
from aleator.training.distribution import OneProcess
from tests.small import small


@pytest.mark.parametrize(
    ("data", "width", "kinds"),
    [
        ("table", 512, ["RandomTrees", "RandomTrees"]),
        ("series", 512, ["RandomConvolutions", "RandomSubsequences"]),
        ("images", 512, ["PatchFeatures", "DeepPatchFeatures"]),
    ],
)
def test_networks(data, width, kinds, request):
    X = request.getfixturevalue(data)
    lfr = LFR(epochs=1, n_projectors=2, random_state=0, progress=False).fit(X)
    assert isinstance(lfr.encoder_, FeatureEncoder)
    assert [type(projector).__name__ for projector in lfr.projectors_] == kinds
    assert (lfr.embedding_dim_, lfr.target_dim_) == (width, 256)
    assert lfr.selected_projectors_.tolist() == [0, 1], "as many are drawn as are kept"
    assert [record["phase"] for record in lfr.history_] == ["joint"]
    rates = lfr.history_[0]["learning_rates"]
    assert rates["predictor"] == pytest.approx(1e-3)
    Z = lfr.transform(X)
    assert Z.shape == (len(X), width)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize(
    ("n_samples", "epochs", "steps"),
    [
        (40, 20, 20),  # one step per pass
        (3000, 20, 240),  # twenty passes of twelve steps
        (30_000, 4, 472),  # at most 500 steps, in whole passes
        (1_000_000, None, 500),  # less than a pass
    ],
)
def test_the_length_of_the_training(n_samples, epochs, steps):
    context = SimpleNamespace(sampler=SimpleNamespace(length=n_samples), processes=OneProcess())
    duration = LFR()._duration(context)
    if epochs is None:
        assert duration.by_steps
        assert duration.count == steps
    else:
        assert not duration.by_steps
        assert duration.count == epochs
        assert epochs * math.ceil(n_samples / 256) == steps
    assert LFR(epochs=3)._duration(context).count == 3
    given = LFR(steps=7)._duration(context)
    assert (given.count, given.by_steps) == (7, True)


def test_training_changes_the_embedding_and_lowers_the_loss(random):
    X = random.normal(size=(1500, 8))
    start, trained = (
        LFR(epochs=epochs, n_projectors=4, random_state=0, progress=False).fit(X)
        for epochs in (0, 10)
    )
    assert not np.allclose(start.transform(X), trained.transform(X), atol=1e-2)
    losses = [record["loss"] for record in trained.history_]
    assert losses[-1] < 0.95 * losses[0]
    front, other = start.encoder_.front.state_dict(), trained.encoder_.front.state_dict()
    assert all(torch.equal(value, other[name]) for name, value in front.items())


def test_training_starts_at_the_solution_of_its_linear_part(series):
    """Forty series have exact solutions; random predictors are far from them."""
    lfr = LFR(epochs=1, n_projectors=4, random_state=0, progress=False).fit(series)
    assert lfr.history_[0]["loss"] < 1e-3
    heads = [nn.Linear(512, 256) for _ in range(4)]
    given = LFR(epochs=0, n_projectors=4, predictors=heads, random_state=0, progress=False)
    for mine, theirs in zip(heads, given.fit(series).predictors_, strict=True):
        assert torch.equal(mine.weight, theirs.weight), "those of the user are used as they are"
    random_start = LFR(epochs=1, encoder="mlp", n_projectors=4, random_state=0, progress=False)
    assert random_start.fit(series).history_[0]["loss"] > 0.5


def test_the_linear_part_is_solved_for_further_projectors(random):
    """They follow the others, so that a fit that keeps all of them solves for the same ones."""
    X = random.normal(size=(300, 5))
    settings = {"epochs": 0, "random_state": 0, "progress": False}

    def distances(**parameters):
        return torch.pdist(torch.from_numpy(LFR(**settings, **parameters).fit_transform(X)))

    extra = distances(n_projectors=2, n_extra_projectors=4)
    torch.testing.assert_close(
        extra, distances(n_projectors=6, n_extra_projectors=0), rtol=1e-2, atol=1e-2
    )
    torch.testing.assert_close(
        extra, distances(n_projectors=2, n_extra_projectors=4, n_candidates=2)
    )
    assert not torch.allclose(extra, distances(n_projectors=2, n_extra_projectors=0), rtol=1e-2)
    torch.testing.assert_close(
        distances(n_projectors=2), distances(n_projectors=2, n_extra_projectors=6)
    )


def test_other_encoders_have_no_use_for_further_projectors(random, monkeypatch):
    X = random.normal(size=(60, 5)).astype(np.float32)
    drawn = []

    def factory(input_shape, output_dim):
        drawn.append(output_dim)
        return nn.Linear(5, output_dim)

    small("LFR", encoder="mlp", projector=factory, n_candidates=3, n_extra_projectors=9).fit(X)
    assert len(drawn) == 3


def test_kinds_of_projectors_take_turns_and_are_selected_among(series, tmp_path):
    settings = {"projector": ["convolutions", "cnn"], "n_candidates": 8, "epochs": 0}
    everything = small("LFR", n_projectors=8, **settings).fit(series)
    kinds = [type(projector) for projector in everything.projectors_]
    assert kinds == [RandomConvolutions, nn.Sequential] * 4
    lfr = small("LFR", n_projectors=4, **settings).fit(series)
    for projector, position in zip(lfr.projectors_, lfr.selected_projectors_, strict=True):
        assert type(projector) is kinds[position % 2]
        state = everything.projectors_[position].state_dict()
        for name, value in projector.state_dict().items():
            assert torch.equal(value, state[name]), name
    assert {position % 2 for position in lfr.selected_projectors_} == {0, 1}
    lfr.save(tmp_path)
    again = aleator.load(tmp_path)
    np.testing.assert_array_equal(again.transform(series), lfr.transform(series))
    inside = torch.from_numpy(lfr.adapter_.transform(series))
    with torch.no_grad():
        for mine, theirs in zip(lfr.projectors_, again.projectors_, strict=True):
            assert torch.equal(mine(inside), theirs(inside))


def test_all_projectors_of_a_modality_can_be_used(table, series, images):
    for X, kinds in (
        (table, ["trees", "fourier", "landmarks", "mlp"]),
        (series, ["convolutions", "hydra", "subsequences", "spectrum", "tcn"]),
        (images, ["patches", "deep-patches", "cnn"]),
    ):
        lfr = small(
            "LFR", encoder="mlp", projector=kinds, n_projectors=len(kinds), n_candidates=None,
            epochs=1, target_dim=9,
        )  # fmt: skip
        Z = lfr.fit_transform(X)
        assert np.isfinite(Z).all()
        assert lfr.target_dim_ == 9
        # Candidates are selected as soon as one kind is a network.
        assert lfr.projector_kernel_.shape[0] == 10 * len(kinds)


class TestFactoriesWithASample:
    def test_projectors(self, table):
        shapes = []

        def factory(input_shape, output_dim, sample):
            shapes.append((input_shape, tuple(sample.shape)))
            return nn.Sequential(nn.Linear(5, output_dim, bias=False), nn.Tanh())

        settings = {"projector": factory, "n_candidates": None}
        lfr = small("LFR", n_extra_projectors=1, **settings).fit(table)
        assert shapes == [((5,), (60, 5))] * 3, "two that are kept, and one that is solved for"
        assert lfr.target_dim_ == 16
        shapes.clear()
        small("LFR", **settings).fit(table)
        assert len(shapes) == 2 + 6, "the default of tables"

    def test_encoders(self, table, tmp_path):
        def factory(input_shape, embedding_dim, sample=None):
            layer = nn.Linear(5, embedding_dim)
            if sample is not None:
                layer.weight.data[:] = sample[:embedding_dim]
            return layer

        lfr = small("LFR", encoder=factory, epochs=0).fit(table)
        np.testing.assert_allclose(
            lfr.encoder_.weight.detach(), lfr.adapter_.transform(table)[:8], atol=1e-6
        )
        lfr.save(tmp_path)
        again = aleator.load(tmp_path, encoder=factory((5,), 8))
        np.testing.assert_array_equal(again.transform(table), lfr.transform(table))

    def test_the_sample_is_limited_and_the_same_for_all(self, random, monkeypatch):
        monkeypatch.setattr(fit_context, "_SAMPLE_VALUES", 50 * 4)
        monkeypatch.setattr(fit_context, "_FEWEST_SAMPLES", 1)
        X = random.normal(size=(300, 4))
        seen = []

        def factory(input_shape, output_dim, sample):
            seen.append(sample.clone())
            return nn.Linear(4, output_dim)

        small("LFR", projector=factory, encoder="mlp", n_candidates=3, epochs=0).fit(X)
        assert len(seen) == 3
        assert all(torch.equal(sample, seen[0]) for sample in seen)
        inside = ((X - X.mean(0)) / X.std(0)).astype(np.float32)
        rows = [np.abs(inside - row.numpy()).max(1).argmin() for row in seen[0]]
        assert len(set(rows)) == 50, "rows of the data, each once"
        assert max(rows) > 200, "from all of the data"


def test_more_images_are_sampled_than_other_data():
    found = {
        name: fit_context.sample_size(60_000, 784, get_modality(name).sampled_rows)
        for name in ("table", "series", "image")
    }
    assert found == {"table": 4096, "series": 4096, "image": 12_288}
    assert fit_context.sample_size(3000, 24_000, 12_288) == (1 << 26) // 24_000, "large images"


@pytest.mark.parametrize("scaling", ["auto", None, "standardize", "whiten"])
def test_target_scaling(table, scaling):
    lfr = small("LFR", loss="mse", target_scaling=scaling).fit(table)
    assert np.isfinite([record["loss"] for record in lfr.history_]).all()
    first = lfr.history_[0]["loss"]
    standardized = small("LFR", loss="mse", target_scaling="standardize").fit(table)
    same = first == standardized.history_[0]["loss"]
    assert same == (scaling in ("auto", "standardize"))


def test_scaling_of_networks_is_off_by_default(table):
    losses = {
        scaling: small("LFR", projector="mlp", loss="mse", target_scaling=scaling)
        .fit(table).history_[0]["loss"]
        for scaling in ("auto", None, "standardize")
    }  # fmt: skip
    assert losses["auto"] == losses[None] != losses["standardize"]


def test_wrong_values_are_explained(table):
    message = "target_scaling must be one of 'auto', 'standardize', 'whiten' or None, got 'robust'"
    with pytest.raises(ValueError, match=message):
        small("LFR", target_scaling="robust").fit(table)
    with pytest.raises(ValueError, match="target_dim must be an integer of at least 1"):
        small("LFR", target_dim=0).fit(table)
    with pytest.raises(ValueError, match="projector='hydra' is not known for modality 'table'"):
        small("LFR", projector=["trees", "hydra"]).fit(table)
    with pytest.raises(ValueError, match=r"epochs must be an integer of at least 0, got 1\.5"):
        small("LFR", epochs=1.5).fit(table)


@pytest.mark.parametrize(
    "shape", [(2, 3), (3, 1), (5, 80), (2, 1, 1), (9, 2, 3), (2, 1, 1, 1), (9, 1, 2, 2)]
)
def test_small_data(random, shape):
    lfr = LFR(epochs=2, n_projectors=4, random_state=0, progress=False)
    Z = lfr.fit_transform(random.normal(size=shape))
    assert Z.shape == (shape[0], 512)
    other = lfr.transform(random.normal(size=(20, *shape[1:])))
    assert np.isfinite(Z).all()
    assert np.isfinite(other).all()
    assert np.abs(other).max() < 100


def test_a_constant_channel(series):
    series[:, 0] = 4.0
    lfr = small("LFR").fit(series)
    assert np.isfinite(lfr.transform(series)).all()
    assert lfr.transform(series).std(0).min() > 0


def test_a_series_without_random_features_falls_back_to_networks():
    """Documented for modalities of users: "random-features" then stands for "auto"."""
    from dataclasses import replace

    from aleator.modalities import get_modality

    plain = replace(get_modality("series"), random_features=())
    assert plain.encoder_name("random-features", (2, 20)) == "cnn"
    assert plain.projector_choices("random-features") == ["auto"]
    assert RandomSubsequences.build in get_modality("series").projectors.values()
