"""Tables of any columns: what becomes of them, and what is said about those that cannot be used."""

import datetime
import gzip
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aleator import RandomFeatures, load
from aleator.inputs import InputAdapter, TableAdapter, fit_adapter, read
from aleator.inputs.tables import adapted, learning
from aleator.inputs.tables import adapter as table_adapter
from aleator.modalities import get_modality
from tests.frames import LIBRARIES, people, to_pandas
from tests.small import small_lfr

LAYOUT = get_modality("table").layout


def adapter_of(X, preprocessing="auto"):
    return fit_adapter(LAYOUT, read(X), "LFR", preprocessing)


def features(adapter, X, name):
    """The features of one column."""
    start = 0
    for record in adapter.columns_:
        if record.name == name:
            return adapter.transform(X)[:, start : start + record.n_outputs]
        start += record.n_outputs
    raise KeyError(name)


def test_every_kind_of_column_is_described():
    adapter = adapter_of(to_pandas(people()))
    assert isinstance(adapter, TableAdapter)
    records = {record.name: record for record in adapter.columns_}
    treatments = {name: record.treatment for name, record in records.items()}
    assert treatments["visits"] == "number"
    assert treatments["pay"] == "number; gaps have the median, and a feature of their own"
    assert treatments["city"] == "one feature per category (3), and one if it is missing"
    assert "n-grams" in treatments["note"]
    assert "%m/%d/%Y" in treatments["hired"]
    assert treatments["code"].startswith("number, read from text")
    assert treatments["none"] == "left out, since all values are missing"
    assert treatments["same"] == "left out, since it is constant"
    assert [records[name].n_outputs for name in ("visits", "pay", "city", "none", "same")] == [
        1, 2, 4, 0, 0,
    ]  # fmt: skip
    assert records["same"].constant
    assert records["none"].missing == 1
    values = people()["pay"][1]
    assert records["pay"].missing == pytest.approx(values.count(None) / 80)
    assert sum(record.n_outputs for record in adapter.columns_) == adapter.shape[0]
    lines = repr(adapter).splitlines()
    assert lines[0].split() == ["column", "kind", "missing", "features", "treatment"]
    assert len(lines) == 16


def test_numbers_are_imputed_with_the_median_and_marked():
    X = pd.DataFrame({"a": [1.0, 5.0, np.nan, 3.0], "b": [1, 2, 3, 4]})
    adapter = adapter_of(X, None)
    expected = [[1, 0, 1], [5, 0, 2], [3, 1, 3], [3, 0, 4]]
    assert adapter.transform(X).tolist() == expected
    # Where there was no gap in training, a gap has the median and no feature of its own.
    new = pd.DataFrame({"a": [np.nan], "b": [np.nan]})
    assert adapter.transform(new).tolist() == [[3, 1, 2.5]]
    scaled = adapter_of(X).transform(X)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0), 1, rtol=1e-6)


def test_an_array_with_gaps_is_treated_like_a_frame(random):
    values = random.normal(size=(50, 3))
    values[random.random((50, 3)) < 0.2] = np.nan
    frame = pd.DataFrame(values, columns=list("abc"))
    expected = adapter_of(frame).transform(frame)
    adapter = adapter_of(values)
    np.testing.assert_array_equal(adapter.transform(values), expected)
    assert [record.name for record in adapter.columns_] == ["0", "1", "2"]
    np.testing.assert_array_equal(adapter.transform(frame), expected)
    lfr = small_lfr(epochs=1).fit(values)
    assert np.isfinite(lfr.transform(values)).all()
    with pytest.raises(ValueError, match="X has 2 features, but LFR is expecting 3 features"):
        lfr.transform(values[:, :2])
    with pytest.raises(ValueError, match=r"inf.*row 4, column '1'"):
        lfr.transform(np.where(np.arange(50)[:, None] == 4, [0, np.inf, 0], values))


def test_numbers_without_gaps_stay_what_they_were(table):
    frame = pd.DataFrame(table, columns=list("abcde"))
    assert isinstance(adapter_of(frame), InputAdapter)
    expected = small_lfr().fit(table).transform(table)
    for X in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        lfr = small_lfr().fit(X)
        np.testing.assert_array_equal(lfr.transform(X), expected)
        assert [record.treatment for record in lfr.adapter_.columns_] == ["standardized"] * 5
        assert [record.name for record in lfr.adapter_.columns_] == list("abcde")


def test_categories_unseen_rare_and_missing():
    X = pd.DataFrame({"c": ["a"] * 1500 + ["b"] * 499 + ["odd"] + [None] * 2, "x": range(2002)})
    adapter = adapter_of(X, None)
    assert adapter.columns_[0].treatment == (
        "one feature per category (2, 1 rare ones without), and one if it is missing"
    )
    new = pd.DataFrame({"c": ["b", "never seen", "odd", " a ", "N/A", None], "x": 0})
    assert adapter.transform(new)[:, :3].tolist() == [
        [0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1],
    ]  # fmt: skip


def test_many_different_texts_have_few_features_and_similar_text_is_near(random):
    words = [f"{a} {b} {c}" for a in ("north", "south", "east") for b in ("bridge", "market")
             for c in range(100, 140)]  # fmt: skip
    X = pd.DataFrame({"street": random.permutation(words), "x": random.normal(size=len(words))})
    adapter = adapter_of(X)
    assert adapter.columns_[0].n_outputs == 30
    new = pd.DataFrame({"street": ["north bridge 115b", "north bridge 115", "east market 130"],
                        "x": 0.0})  # fmt: skip
    typo, same, other = features(adapter, new, "street")
    assert np.linalg.norm(typo - same) < 0.5 * np.linalg.norm(other - same)
    # The strongest direction has unit variance, the others keep their weight.
    spread = features(adapter, X, "street").std(0)
    assert spread.max() == pytest.approx(1, rel=1e-5)
    assert spread.min() < 0.5


def test_the_number_of_features_stays_sensible(random, monkeypatch):
    wide = {f"c{k}": [f"value {v}" for v in random.integers(0, 30, 60)] for k in range(20)}
    assert adapter_of(pd.DataFrame(wide)).shape[0] > 20 * 20
    monkeypatch.setattr(learning, "_MOST_OUTPUTS", 100)
    assert adapter_of(pd.DataFrame(wide)).shape[0] == 20 * 5


def test_dates_become_what_is_in_them():
    days = ["2024-02-29", "1969-12-31", "2023-07-01", None]
    times = pd.to_datetime(pd.Series(days)) + pd.Timedelta(hours=13, minutes=30)
    X = pd.DataFrame({"t": times, "x": [1, 2, 3, 4]})
    adapter = adapter_of(X, None)
    found = features(adapter, X, "t")
    # The time of day is constant, so there is none.
    assert found.shape == (4, 8)
    dates = [datetime.date.fromisoformat(day) for day in days[:3]]
    since = [(day - datetime.date(1970, 1, 1)).days + 13.5 / 24 for day in dates]
    np.testing.assert_allclose(found[:3, 0], since, rtol=1e-6)
    for column, part in enumerate(("year", "month", "day")):
        assert found[:3, column + 1].tolist() == [getattr(day, part) for day in dates]
    assert found[:3, 4].tolist() == [day.weekday() for day in dates]
    angle = [2 * np.pi * (day.timetuple().tm_yday - 1) / 366 for day in dates]
    np.testing.assert_allclose(found[:3, 5], np.sin(angle), atol=1e-6)
    np.testing.assert_allclose(found[:3, 6], np.cos(angle), atol=1e-6)
    assert found[:, 7].tolist() == [0, 0, 0, 1]


def test_dates_that_are_text():
    text = ["25/12/2020", "24/12/2020", "?", "01/02/2021"] * 5
    X = pd.DataFrame({"d": text, "x": range(20)})
    adapter = adapter_of(X, None)
    assert "%d/%m/%Y" in adapter.columns_[0].treatment
    # One row by itself might as well be American.
    row = adapter.transform(pd.DataFrame({"d": ["01/02/2021"], "x": [0]}))
    assert row[0, 1:4].tolist() == [2021, 2, 1]
    as_dates = pd.DataFrame({"d": pd.to_datetime(X["d"], format="%d/%m/%Y", errors="coerce"),
                             "x": X["x"]})  # fmt: skip
    np.testing.assert_array_equal(adapter.transform(as_dates), adapter.transform(X))
    # What is no date is a gap.
    assert features(adapter, pd.DataFrame({"d": ["soon"], "x": [0]}), "d")[0, -1] == 1


def test_columns_are_found_by_name():
    X = to_pandas(people())
    model = RandomFeatures(n_features=16, random_state=0).fit(X)
    expected = model.transform(X)
    mixed = X[X.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(model.transform(mixed), expected)
    np.testing.assert_array_equal(model.transform(pl.from_pandas(mixed)), expected)
    np.testing.assert_array_equal(model.transform(pa.Table.from_pandas(mixed)), expected)
    for new in (X.drop(columns=["age", "city"]), pl.from_pandas(X.drop(columns=["age", "city"]))):
        with pytest.raises(ValueError, match=r"feature names.*no columns 'age', 'city'"):
            model.transform(new)
    plain = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc"))
    model = RandomFeatures(n_features=16, random_state=0).fit(plain)
    expected = model.transform(plain)
    for new in (plain[["c", "a", "b"]].assign(d="text"), pl.from_pandas(plain[["b", "c", "a"]])):
        np.testing.assert_array_equal(model.transform(new), expected)


@pytest.mark.parametrize("numeric", [True, False])
def test_a_name_that_is_there_twice_is_refused(numeric):
    values = [[1, 2], [3, 4]] if numeric else [["a", 2], ["b", None]]
    frame = pd.DataFrame(values, columns=["age", "age"])
    with pytest.raises(ValueError, match="more than one column 'age'"):
        small_lfr().fit(frame)
    other = pa.table([[1, 2], ["a", None]], names=["age", "age"])
    with pytest.raises(ValueError, match="more than one column 'age'"):
        small_lfr().fit(other)


def test_a_column_of_another_kind_at_transform():
    born = ["1990-01-01", "1991-05-02", None, "1999-09-09"]
    cities = ["Rome", "Bonn", "Rome", None]
    X = pd.DataFrame({"age": [30, None, 50, 20], "city": cities, "born": pd.to_datetime(born)})
    adapter = adapter_of(X)
    expected = adapter.transform(X)
    # The same values as text, from CSV for example.
    text = pd.DataFrame(
        {
            "age": ["30", "?", "50.0", " 20"],
            "city": X["city"].astype("category"),
            "born": ["1990-01-01", "1991-05-02T00:00:00", "", "1999-09-09"],
        }
    )
    np.testing.assert_array_equal(adapter.transform(text), expected)
    with pytest.raises(ValueError, match=r"column 'age' held numbers.*row 2 holds 'old'"):
        adapter.transform(text.assign(age=["1", "2", "old", "4"]))
    with pytest.raises(ValueError, match=r"column 'born' held dates.*kind 'number'"):
        adapter.transform(X.assign(born=[1, 2, 3, 4]))
    with pytest.raises(ValueError, match=r"column 'age' held numbers.*kind 'date'"):
        adapter.transform(X.assign(age=X["born"]))
    # A chunk without any value says nothing about its kind.
    empty = pd.DataFrame({"age": [None], "city": [None], "born": [None]})
    np.testing.assert_array_equal(adapter.transform(empty)[0, :1], expected[1, :1])


def test_rows_are_named_beyond_the_first_chunk(monkeypatch):
    monkeypatch.setattr(adapted, "ROWS_AT_ONCE", 16)
    X = pd.DataFrame({"a": np.arange(100.0), "c": ["x", "y"] * 50})
    adapter = adapter_of(X)
    X.loc[77, "a"] = -np.inf
    with pytest.raises(ValueError, match=r"inf.*row 77, column 'a'"):
        adapter.transform(X)
    with pytest.raises(ValueError, match=r"inf.*row 77, column 'a'"):
        adapter.read(X).gather(np.array([3, 77]))
    with pytest.raises(ValueError, match=r"inf.*row 77, column 'a'"):
        adapter_of(X)
    X.loc[77, "a"] = 1e308
    with pytest.raises(ValueError, match="row 77 that is too large for float32"):
        adapter.transform(X)


@pytest.mark.parametrize("library", LIBRARIES)
def test_chunks_and_rows_are_the_whole(library, monkeypatch):
    monkeypatch.setattr(adapted, "ROWS_AT_ONCE", 16)
    X = LIBRARIES[library](people())
    adapter = adapter_of(X)
    whole = adapter.transform(X)
    source = adapter.read(X)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(7))), whole)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(50, 3, 70))), whole[3:70])
    index = np.array([79, 0, 0, 41])
    np.testing.assert_array_equal(source.gather(index), whole[index])
    kept = source.as_array()
    np.testing.assert_array_equal(kept, whole)
    assert source.as_array() is kept
    np.testing.assert_array_equal(source.gather(index), whole[index])
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(7, 5, 33))), whole[5:33])


def test_a_large_table_is_converted_when_it_is_read(monkeypatch):
    X = to_pandas(people(300))
    expected = small_lfr().fit(X)
    assert expected.plan_.where("input") == "device"
    monkeypatch.setattr(adapted, "BUFFER_SIZE", 1000)
    monkeypatch.setattr(adapted, "ROWS_AT_ONCE", 64)
    lfr = small_lfr().fit(X)
    assert lfr.plan_.where("input") == "host"
    np.testing.assert_allclose(lfr.transform(X), expected.transform(X), atol=1e-4)


def test_of_many_rows_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(table_adapter, "_MOST_ROWS", 100)
    X = pd.DataFrame({"a": np.arange(5000.0), "c": ["x", "y", None, "z"] * 1250})
    adapter = adapter_of(X)
    assert adapter.columns[0].fill == pytest.approx(2500, rel=0.02)
    np.testing.assert_allclose(adapter.transform(X).mean(0), 0, atol=1e-6)


def test_other_modalities_need_numbers():
    with pytest.raises(ValueError, match=r"table with text.*modality 'series' must be numbers"):
        small_lfr(modality="series").fit(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}))


def test_skrub_is_an_extra(monkeypatch):
    text = pd.DataFrame({"a": ["x", "y"] * 9, "b": range(18)})
    monkeypatch.setitem(sys.modules, "skrub", None)
    with pytest.raises(ImportError, match=r"pip install 'aleator\[tables\]'"):
        small_lfr().fit(text)
    # Nothing has to be found out about categories, numbers and dates.
    small_lfr(epochs=1).fit(text.assign(a=text["a"].astype("category"), c=np.nan))


def test_skrub_decides_but_every_value_must_be_parsed():
    values = ["2020-01-02", "2020-02-03", None] * 4
    encoder = learning.choose_encoders(learning_frame(values))[0]
    assert encoder.format == "%Y-%m-%d"
    assert learning.choose_encoders(learning_frame([*values, "later"]))[0].treatment == "categories"


def learning_frame(values):
    from aleator.inputs.frames import as_frame

    return as_frame(pd.DataFrame({"d": values}))


ADULT = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K
50, ?, 83311, Bachelors, 13, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 13, United-States, <=50K
38, Private, 215646, HS-grad, 9, Divorced, Handlers-cleaners, Not-in-family, White, Male, 0, 0, 40, ?, <=50K
53, Private, 234721, 11th, 7, Married-civ-spouse, Handlers-cleaners, Husband, Black, Male, 0, 0, 40, Cuba, >50K
"""  # noqa: E501


def check_adult(path, skiprows=0, rows=None):
    frame = pd.read_csv(path, header=None, skiprows=skiprows, nrows=rows)
    model = RandomFeatures(n_features=32, random_state=0).fit(frame.iloc[:, :-1])
    assert np.isfinite(model.transform(frame.iloc[:, :-1])).all()
    records = {int(record.name): record for record in model.adapter_.columns_}
    assert records[1].missing > 0, "a question mark is a missing value"
    assert records[1].kind == "text"
    assert records[0].treatment == "number"
    return model, frame


def test_rows_of_adult_as_they_are(tmp_path):
    (tmp_path / "adult.data").write_text(ADULT * 5)
    model, frame = check_adult(tmp_path / "adult.data")
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    X = frame.iloc[:, :-1]
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_real_adult(data_folder):
    with gzip.open(data_folder / "adult.data.gz") as file:
        model, frame = check_adult(file, rows=3000)
    share = (frame[1].str.strip() == "?").mean()
    assert {r.name: r.missing for r in model.adapter_.columns_}["1"] == pytest.approx(share)
