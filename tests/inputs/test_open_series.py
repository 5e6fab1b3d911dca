"""open_series: .ts files, frames of observations and their grids."""

import gzip
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aleator import RandomFeatures, open_series
from aleator.exceptions import DamagedFileError
from aleator.inputs.series import ts_files
from tests.inputs.irregular_series import (
    NAN,
    features,
    long_frame,
    ragged,
    wide_frame,
)


@pytest.fixture(scope="module")
def expected():
    return features(ragged())


def ts_text(series, labels):
    lines = ["# made up", "@problemName made", "@timeStamps false", "@classLabel true x y", "@data"]
    for one, label in zip(series, labels, strict=True):
        channels = [",".join("?" if np.isnan(v) else repr(float(v)) for v in row) for row in one]
        lines.append(":".join([*channels, label]))
    return "\n".join(lines) + "\n"


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
        ("@targetLabel true\n@data\n1:2\n3:x\n", "made.ts has a label that is no number"),
        ("@data\n1:2\n3\n", "row 1 of X has 1 channels, but row 0 has 2"),
    ],
)
def test_broken_ts_files(content, message, tmp_path):
    path = tmp_path / "made.ts"
    path.write_text(content)
    with pytest.raises((ValueError, OSError), match=message):
        open_series(path)


def test_channels_of_ts_files_may_have_different_lengths_but_not_beyond_all_memory(tmp_path):
    path = tmp_path / "made.ts"
    path.write_text("@data\n" + ",".join(["1"] * 900) + ":1" * 90 + "\n")
    (series,) = open_series(path).gather(np.array([0]))
    assert series.shape == (91, 900)
    path.write_text("@data\n" + ",".join(["1"] * 20_000) + ":1" * 20_000 + "\n")
    with pytest.raises(DamagedFileError, match=r"line 2 of .*made\.ts has 20001 channels and"):
        open_series(path)


@pytest.mark.parametrize("at_once", [1, 2, 3, 7])
@pytest.mark.parametrize("line", ["1,22,?,4.5,", "1", "", ",,-3", "12345678,9,10"])
def test_long_lines_of_ts_files_are_divided(line, at_once, tmp_path, monkeypatch):
    path = tmp_path / "made.ts"
    path.write_text(f"@data\n8,9\n{line or '?'}\n")
    expected = [float(cell) if cell.strip("?") else np.nan for cell in (line or "?").split(",")]
    monkeypatch.setattr(ts_files, "_CHARACTERS_AT_ONCE", at_once)
    first, second = open_series(path).gather(np.array([0, 1]))
    assert first.tolist() == [[8, 9]]
    np.testing.assert_array_equal(second, [expected])


def test_a_ts_file_of_one_line_takes_little_memory(tmp_path):
    path = tmp_path / "made.ts"
    path.write_text("@data\n" + ",".join("1" * 1_000_000) + "\n")
    tracemalloc.start()
    try:
        open_series(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 10 * path.stat().st_size


def test_damaged_compressed_ts_files(tmp_path):
    path = tmp_path / "made.ts.gz"
    whole = gzip.compress(b"@data\n" + b"1,2,3\n" * 50, mtime=0)
    for position in range(10, len(whole) - 8):
        path.write_bytes(whole[:position] + b"\xff" + whole[position + 1 :])
        with pytest.raises(DamagedFileError, match=r"made\.ts\.gz cannot be read"):
            open_series(path)


def test_one_long_label_does_not_make_others_long(tmp_path):
    path = tmp_path / "made.ts"
    labels = ["a" * 20_000, *("b" for _ in range(20_000))]
    path.write_text("@classLabel true\n@data\n" + "".join(f"1,2:{one}\n" for one in labels))
    tracemalloc.start()
    found = open_series(path).labels
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.tolist() == labels
    assert taken < 40 << 20


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
