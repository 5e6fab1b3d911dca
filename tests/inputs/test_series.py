"""Series of different lengths, with gaps and at irregular times: forms, grids and errors."""

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import aleator
from aleator import LFR, RandomFeatures, describe, load, open_series
from aleator.inputs import ArraySource, InputAdapter, SeriesAdapter, fit_adapter, read
from aleator.modalities import get_modality
from tests.small import ALL, small

NAN = np.nan
SERIES = get_modality("series").layout


def ragged(n=24, channels=2, low=1, high=12, gaps=0.2, seed=0):
    random = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        one = random.normal(size=(channels, random.integers(low, high))).cumsum(1)
        one[random.random(one.shape) < gaps] = NAN
        one[0, -1] = 1.0  # else its end would depend on chance
        made.append(one)
    return made


def padded(series, longest=None):
    whole = np.full((len(series), len(series[0]), longest or max(s.shape[1] for s in series)), NAN)
    for row, one in enumerate(series):
        whole[row, :, : one.shape[1]] = one
    return whole


def long_frame(series):
    rows = [
        (f"s{k}", step, name, float(one[channel, step]))
        for k, one in enumerate(series)
        for step in range(one.shape[1])
        for channel, name in enumerate("ab")
        if not np.isnan(one[channel, step])
    ]
    return pd.DataFrame(rows, columns=["id", "time", "what", "value"])


def wide_frame(series):
    parts = [
        pd.DataFrame({"id": f"s{k}", "time": np.arange(one.shape[1]), "a": one[0], "b": one[1]})
        for k, one in enumerate(series)
    ]
    return pd.concat(parts, ignore_index=True)


def ts_text(series, labels):
    lines = ["# made up", "@problemName made", "@timeStamps false", "@classLabel true x y", "@data"]
    for one, label in zip(series, labels, strict=True):
        channels = [",".join("?" if np.isnan(v) else repr(float(v)) for v in row) for row in one]
        lines.append(":".join([*channels, label]))
    return "\n".join(lines) + "\n"


def nested(series):
    return pd.DataFrame({n: [pd.Series(one[k]) for one in series] for k, n in enumerate("ab")})


FORMS = {
    "list": list,
    "array of objects": lambda series: _objects(series),
    "tensors": lambda series: [torch.from_numpy(one) for one in series],
    "array with NaN": padded,
    "frames": lambda series: [pd.DataFrame(one.T, columns=["a", "b"]) for one in series],
    "nested": nested,
    "polars lists": lambda series: pl.DataFrame(
        {n: [one[k].tolist() for one in series] for k, n in enumerate("ab")}
    ),
    "pyarrow lists": lambda series: pa.table(
        {n: [one[k].tolist() for one in series] for k, n in enumerate("ab")}
    ),
    "open_series": open_series,
}


def _objects(series):
    made = np.empty(len(series), object)
    made[:] = series
    return made


@pytest.fixture(scope="module")
def expected():
    return features(ragged())


def features(X, **parameters):
    model = RandomFeatures(n_features=12, random_state=0, **parameters)
    return model.fit(X).transform(X)


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


LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_observations_give_the_features_of_arrays(library, expected):
    long, wide = (LIBRARIES[library](make(ragged())) for make in (long_frame, wide_frame))
    columns = {"id": "id", "time": "time", "start": 0, "bin_width": 1}
    for X in (
        open_series(long, variable="what", value="value", **columns),
        open_series(wide, **columns),
        open_series(wide, **{**columns, "bin_width": None}),
    ):
        assert X.ids.tolist() == [f"s{k}" for k in range(24)]
        assert X.channel_names == ["a", "b"]
        np.testing.assert_allclose(features(X), expected, rtol=1e-5, atol=1e-5)


def test_rows_of_a_frame_may_be_in_any_order(expected):
    order = np.random.default_rng(0).permutation(len(long_frame(ragged())))
    columns = {"id": "id", "time": "time", "variable": "what", "value": "value"}
    X = open_series(long_frame(ragged()).iloc[order], **columns, bin_width=1, start=0)
    back = np.argsort([int(name[1:]) for name in X.ids])
    np.testing.assert_allclose(features(X[back]), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ending", [".ts", ".ts.gz"])
def test_ts_files(ending, expected, tmp_path):
    labels = ["x", "y"] * 12
    path = tmp_path / f"made{ending}"
    content = ts_text(ragged(), labels).encode()
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    np.testing.assert_allclose(features(path), expected, rtol=1e-5, atol=1e-5)
    series = open_series(path)
    assert series.labels.tolist() == labels
    assert series[[1, 3]].labels.tolist() == ["y", "y"]
    model = RandomFeatures(n_features=12, random_state=0).fit(ragged())
    np.testing.assert_allclose(model.transform(str(path)), expected, rtol=1e-5, atol=1e-5)


def test_ts_files_with_numbers_to_predict_and_without_labels(tmp_path):
    path = tmp_path / "made.ts"
    path.write_text("@targetLabel true\n@data\n1,2:0.5\n3:1.5\n")
    assert open_series(path).labels.tolist() == [0.5, 1.5]
    path.write_text("@classLabel false\n@data\n1,2\n\n# note\n3,NaN,4\n")
    assert open_series(path).labels is None
    assert [one.shape for one in open_series(path).gather(np.arange(2))] == [(1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2\n", "no line '@data'"),
        ("@data\n1,two\n", r"line 2 of .*'two', which is not a number"),
        ("@timestamps true\n@data\n(0,1),(1,2)\n", "has time stamps, which are not read"),
        ("@data\n", "holds no series"),
        ("@data\n1:2\n3\n", "row 1 of X has 1 channels, but row 0 has 2"),
    ],
)
def test_broken_ts_files(content, message, tmp_path):
    path = tmp_path / "made.ts"
    path.write_text(content)
    with pytest.raises((ValueError, OSError), match=message):
        open_series(path)


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


GRIDS = [
    ([0, 10, 20, 40], None, None, 10.0, [1, 2, 3, NAN, 4]),
    ([5, 15, 25, 45], None, None, 10.0, [1, 2, 3, NAN, 4]),
    ([5, 15, 25, 45], None, 0, 10.0, [1, 2, 3, NAN, 4]),
    ([0, 10, 20, 40], 20, None, 20.0, [1.5, 3, 4]),
    ([0, 10, 20, 40], 20, 10, 20.0, [2.5, 4]),
    ([0.0, 0.1, 0.2, 0.3], None, None, 0.1, [1, 2, 3, 4]),
]


@pytest.mark.parametrize(("times", "width", "start", "learned", "values"), GRIDS)
def test_observations_are_averaged_on_a_grid(times, width, start, learned, values):
    frame = pd.DataFrame({"id": 1, "t": times, "v": [1.0, 2, 3, 4]})
    events = open_series(frame, id="id", time="t", bin_width=width, start=start)
    grid = events.learn_grid()
    assert grid.width == pytest.approx(learned)
    found = events.on_grid(grid, ["v"]).gather(np.array([0]))[0]
    np.testing.assert_allclose(found, [values])


def test_a_grid_of_many_irregular_times_is_bounded_and_one_of_regular_times_is_not():
    times = np.random.default_rng(0).random(20_000).cumsum()
    frame = pd.DataFrame({"id": 1, "t": times, "v": 1.0})
    events = open_series(frame, id="id", time="t")
    assert 510 <= events.on_grid(events.learn_grid(), ["v"]).longest <= 514
    events = open_series(frame.assign(t=np.arange(20_000)), id="id", time="t")
    assert events.on_grid(events.learn_grid(), ["v"]).longest == 20_000


def test_dates_and_rows_without_times():
    start = np.datetime64("2024-03-01T12:00")
    frame = pd.DataFrame({"id": list("aab"), "v": [1.0, 2.0, 3.0]})
    dated = frame.assign(t=[start, start + np.timedelta64(90, "m"), start])
    events = open_series(dated, id="id", time="t")
    assert events.learn_grid().width == 5400
    assert str(events.learn_grid()).startswith("steps of 5400 seconds")
    plain = open_series(frame, id="id")
    for source in (events, plain):
        found = source.on_grid(source.learn_grid(), ["v"]).gather(np.arange(2))
        assert [one.tolist() for one in found] == [[[1.0, 2.0]], [[3.0]]]
    model = RandomFeatures(n_features=8, random_state=0).fit(events)
    with pytest.raises(ValueError, match="times of X are numbers, but those of the training are"):
        model.transform(plain)


def test_variables_are_found_by_name():
    columns = {"id": "id", "time": "time", "variable": "what", "value": "value"}
    long = long_frame(ragged())
    model = RandomFeatures(n_features=12, random_state=0).fit(open_series(long, **columns))
    expected = model.transform(open_series(long, **columns))
    other = pd.concat([pd.DataFrame([("s0", 0, "0 new", 9.0)], columns=long.columns), long])
    np.testing.assert_array_equal(model.transform(open_series(other, **columns)), expected)
    only_b = long[long["what"] == "b"]
    assert np.isfinite(model.transform(open_series(only_b, **columns))).all()
    wide = wide_frame(ragged())
    of_columns = RandomFeatures(n_features=12, random_state=0)
    of_columns.fit(open_series(wide, id="id", time="time"))
    expected = of_columns.transform(open_series(wide, id="id", time="time"))
    swapped = open_series(wide[["b", "time", "a", "id"]], id="id", time="time")
    np.testing.assert_array_equal(of_columns.transform(swapped), expected)
    with pytest.raises(ValueError, match="X has no variable 'a', which the training data had"):
        of_columns.transform(open_series(wide.drop(columns="a"), id="id", time="time"))


def test_the_learned_grid_is_that_of_new_data_too():
    def frame(step):
        return open_series(
            pd.DataFrame({"id": [1, 1, 1, 2, 2], "t": np.array([0, 1, 2, 0, 1]) * step,
                          "v": [1.0, 2, 3, 4, 6]}),
            id="id", time="t",
        )  # fmt: skip

    model = RandomFeatures(n_features=8, random_state=0).fit(frame(10))
    assert model.adapter_.read(frame(30)).schema.shape == (1, 7)
    with pytest.raises(ValueError, match="fitted on series without times"):
        RandomFeatures(n_features=8).fit(ragged()).transform(frame(10))


OBSERVATIONS = pd.DataFrame({"id": [1, 1], "t": [0, 1], "what": ["a", "b"], "v": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (OBSERVATIONS, {"id": "no"}, "id='no', but there is no such column"),
        (OBSERVATIONS, {"time": "t"}, "time is given, but no id"),
        (OBSERVATIONS, {"id": "id", "value": "v"}, "variable and value belong together"),
        (OBSERVATIONS, {"id": "id", "time": "t"}, "column 'what' holds text values"),
        (OBSERVATIONS, {"id": "id", "time": "what"}, "time='what' holds text values"),
        (OBSERVATIONS.assign(id=[1, None]), {"id": "id"}, "id='id' has no value in row 1"),
        (OBSERVATIONS.assign(t=[NAN, 1]), {"id": "id", "time": "t"}, "has no time in row 0"),
        (OBSERVATIONS[["id", "t"]], {"id": "id", "time": "t"}, "there are no variables"),
        (OBSERVATIONS[:0], {"id": "id"}, "0 sample"),
        (OBSERVATIONS, {"id": "id", "bin_width": 0}, "bin_width must be"),
        (OBSERVATIONS, {}, "DataFrame is not a collection of series"),
        (3, {}, "int is not a collection of series"),
        ("x.csv", {}, "does not end in .ts"),
        ([1.0], {"id": "id"}, "id is given, but data is list"),
    ],
)
def test_what_open_series_cannot_read(frame, columns, message):
    with pytest.raises(ValueError, match=message):
        open_series(frame, **columns)


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
