"""Series of different lengths, with gaps and at irregular times: forms, scale and errors."""

import json

import numpy as np
import pytest
import torch

import aleator
from aleator import LFR, RandomFeatures, describe, load, open_series
from aleator.inputs import ArraySource, InputAdapter, SeriesAdapter, fit_adapter, read
from aleator.modalities import get_modality
from tests.inputs.irregular_series import FORMS, NAN, features, padded, ragged, wide_frame
from tests.small import ALL, small

SERIES = get_modality("series").layout


@pytest.fixture(scope="module")
def expected():
    return features(ragged())


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_collection_give_the_same_features(form, expected):
    X = FORMS[form](ragged())
    assert describe(X, device="cpu").modality == "irregular-series"
    np.testing.assert_allclose(features(X), expected, rtol=1e-5, atol=1e-5)


def test_an_index_of_series_and_time_is_series_if_asked_for(expected):
    frame = wide_frame(ragged()).set_index(["id", "time"])
    np.testing.assert_allclose(features(frame, modality="series"), expected, rtol=1e-5, atol=1e-5)
    shuffled = frame.sample(frac=1, random_state=0).sort_index(level=0, sort_remaining=False)
    order = [f"s{k}" for k in range(24)]
    found = features(shuffled.loc[order], modality="series")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert describe(frame.dropna(), device="cpu").modality == "table"


def test_series_of_one_length_without_gaps_are_arrays_as_ever():
    X = np.random.default_rng(0).normal(size=(20, 2, 9))
    assert isinstance(fit_adapter(SERIES, read(list(X)), "LFR", "auto"), InputAdapter)
    model = RandomFeatures(n_features=8, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(list(X)), model.transform(X))
    for given in (list(X), X.tolist(), [torch.from_numpy(one) for one in X]):
        assert isinstance(read(given, modality="series").source, ArraySource)
    for few in (X[:, 0], X[:, 0].tolist()):
        adapter = small("RandomFeatures", modality="series").fit(few).adapter_
        assert isinstance(adapter, InputAdapter)
    lists = [[1, None, 3.0], [2, 4, 1], [5]]
    adapter = small("RandomFeatures", modality="series").fit(lists).adapter_
    np.testing.assert_allclose(adapter.missing_share, 1 / 7)
    with pytest.raises(ValueError, match="fit it with modality='irregular-series'"):
        model.transform([X[0], X[1, :, :5]])
    X[3, 1, 4] = NAN
    with pytest.raises(ValueError, match=r"row 3, channel 1, time 4.*'irregular-series'"):
        model.transform(X)
    complete = RandomFeatures(n_features=8, random_state=0, modality="irregular-series")
    complete.fit(X[4:])
    assert isinstance(complete.adapter_, SeriesAdapter)
    assert np.isfinite(complete.transform([X[3], X[1, :, :5]])).all()


def test_scale_ignores_gaps_and_what_follows_the_end():
    series = [np.array([[1.0, NAN, 3.0], [7.0, 7.0, 7.0]]), np.array([[5.0], [NAN]])]
    adapter = fit_adapter(SERIES, read(series), "LFR", "auto")
    assert adapter.scale["mean"].ravel().tolist() == [3, 7]
    np.testing.assert_allclose(adapter.scale["deviation"].ravel(), [np.sqrt(8 / 3), 1])
    assert adapter.missing_share == pytest.approx(2 / 8)
    converted = adapter.transform(series)
    np.testing.assert_allclose(converted[0, 0], [-np.sqrt(1.5), NAN, 0], atol=1e-6)
    assert np.isnan(converted[1, :, 1:]).all()
    assert np.isnan(converted[1, 1, 0])
    assert converted[0, 1].tolist() == [0, 0, 0]
    plain = fit_adapter(SERIES, read(series), "LFR", None).transform(series)
    assert plain[0, 0, 0] == 1


def test_the_scale_is_that_of_all_chunks_together(monkeypatch):
    monkeypatch.setattr("aleator.inputs.series.source._CHUNK_VALUES", 40)
    series = ragged(40, gaps=0.5)
    adapter = fit_adapter(SERIES, read(series), "LFR", "auto")
    values = np.concatenate(series, axis=1)
    np.testing.assert_allclose(adapter.scale["mean"][:, 0], np.nanmean(values, axis=1))
    np.testing.assert_allclose(adapter.scale["deviation"][:, 0], np.nanstd(values, axis=1))


def test_a_channel_that_was_never_observed_is_left_out():
    series = ragged(20, 3)
    for one in series:
        one[1] = NAN
    model = RandomFeatures(n_features=12, random_state=0).fit(series)
    expected = model.transform(series)
    assert np.isfinite(expected).all()
    assert describe(series, device="cpu").facts["never observed"] == "1, left out"
    for one in series:
        one[1] = 1e9
    np.testing.assert_array_equal(model.transform(series), expected)


def test_empty_series_and_those_without_any_observation():
    series = ragged()
    model = LFR(n_projectors=3, epochs=1, embedding_dim=8, random_state=0, progress=False)
    model.fit([*series, np.full((2, 4), NAN), np.zeros((2, 0))])
    found = model.transform([np.full((2, 4), NAN), np.zeros((2, 0)), np.full((2, 50), NAN)])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, found[:1].repeat(3, axis=0), atol=1e-5)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([np.zeros((2, 3)), np.zeros((3, 4))], "row 1 of X has 3 channels, but row 0 has 2"),
        ([np.zeros(3), np.array([1.0, np.inf])], "inf.*row 1, channel 0, time 1"),
        ([np.full(3, NAN), np.full(2, NAN)], "no value that was observed"),
        ([np.zeros((2, 3)), np.array([["a"], ["b"]])], "row 1 of X"),
        ([np.array([1.0, 1e300]), np.array([1.0])], "channel 0 that are too large for float32"),
        ([np.array([1.0, 1e100]), np.array([1.0])], "row 0, channel 0, time 1"),
    ],
)
def test_fit_explains_what_is_wrong_with_series(X, message):
    with pytest.raises(ValueError, match=message):
        RandomFeatures(n_features=8, preprocessing=None).fit(X)


def test_transform_explains_what_is_wrong_and_the_model_stays_as_it_was():
    model = RandomFeatures(n_features=8, random_state=0).fit(ragged())
    expected = model.transform(ragged())
    with pytest.raises(ValueError, match="X has 3 channels, but RandomFeatures is expecting 2"):
        model.transform(ragged(channels=3))
    with pytest.raises(ValueError, match=r"inf.*row 1, channel 0, time 2"):
        model.transform([np.zeros((2, 3)), np.array([[0, 0, np.inf]] * 2)])
    np.testing.assert_array_equal(model.transform(ragged()), expected)


def test_describe():
    seen = describe(ragged(), device="cpu")
    assert seen.missing == pytest.approx(np.mean(np.isnan(np.concatenate(ragged(), axis=1))))
    lengths = sorted(one.shape[1] for one in ragged())
    assert seen.facts["lengths"] == f"{lengths[0]} to {lengths[-1]} steps, median {lengths[12]}"
    assert seen.facts["channels"] == "2"
    assert "masked" in repr(seen)
    frame = open_series(wide_frame(ragged()), id="id", time="time")
    assert "grid: steps of 1 from the first time" in repr(describe(frame, device="cpu"))
    assert "channels: 2: a, b" in repr(describe(frame, device="cpu"))


REFUSED = {"Autoencoder", "LogReg", "TSTCC"}


@pytest.mark.parametrize("name", [name for name in ALL if name != "SCARF"])
def test_every_method_takes_such_series_or_says_what_to_do(name):
    X, y = ragged(), np.arange(24) % 2
    model = small(name)
    labels = (y,) if name in ("Supervised", "LogReg") else ()
    if name in REFUSED:
        message = r"needs samples of one length without gaps \(NaN\), .*use LFR"
        with pytest.raises(ValueError, match=message):
            model.fit(X, *labels)
        return
    found = model.fit(X, *labels).transform(ragged(5, high=40, seed=1))
    assert np.isfinite(found).all()
    assert found.std() > 0


def test_the_networks_of_the_paper_on_such_series():
    model = LFR.paper(epochs=1, n_projectors=2, n_candidates=4, random_state=0, progress=False)
    X = ragged(40)
    whole = model.fit(X).transform(X)
    alone = np.concatenate([model.transform([one]) for one in X])
    np.testing.assert_allclose(alone, whole, rtol=1e-5, atol=1e-5)
    assert {type(p[0]).__name__ for p in model.projectors_} == {"IrregularCNN"}


def test_a_saved_model_holds_the_grid_and_refuses_a_wrong_one(tmp_path):
    X = open_series(wide_frame(ragged()), id="id", time="time")
    model = RandomFeatures(n_features=12, random_state=0).fit(X)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.adapter_.facts() == model.adapter_.facts()
    stored, arrays = model.adapter_.to_dict(), model.adapter_.arrays()
    assert json.loads(json.dumps(stored)) == stored
    layout = get_modality("irregular-series").layout
    for wrong in (
        {"shape": [2, -1]}, {"missing": 2.0}, {"names": ["a"]}, {"lengths": [1]},
        {"grid": {"width": -1.0, "start": None, "dates": False}}, {"names": None},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"wrong|missing"):
            SeriesAdapter.from_saved(layout, "LFR", {**stored, **wrong}, arrays)
    for key in arrays:
        with pytest.raises(ValueError, match=r"wrong|the scale has the shape"):
            SeriesAdapter.from_saved(layout, "LFR", stored, {**arrays, key: np.zeros(5)})


def test_arrays_on_disk_with_gaps(tmp_path):
    X = padded(ragged()).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    model = RandomFeatures(n_features=12, random_state=0).fit(tmp_path / "x.npy")
    np.testing.assert_array_equal(model.transform(tmp_path / "x.npy"), model.transform(X))
    assert model.adapter_.shape == X.shape[1:]


def test_fine_tuning_and_views(tmp_path):
    X, y = ragged(40), np.arange(40) % 2
    model = small("SimCLR").fit(X)
    new = ragged(9, high=30, seed=3)
    tuned = aleator.evaluation.fine_tune(model, X, y, new, y[:9], epochs=1, seeds=[0])
    assert 0 <= tuned.mean("accuracy") <= 1
