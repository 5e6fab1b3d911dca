"""Every estimator takes tables as they are: in memory, in files, saved, resumed and evaluated."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import aleator
from aleator.evaluation import diagnose_model, fine_tune, label_curve, logistic_regression
from aleator.exceptions import CheckpointError, DamagedFileError, ModelFileError
from tests.frames import people, to_arrow, to_pandas, to_polars
from tests.small import ALL, small, small_lfr
from tests.training.saved_states import assert_same_fit, fit_and_save, fit_from

Y = np.arange(80) % 2


@pytest.mark.parametrize("name", [name for name in ALL if name != "TSTCC"])
def test_every_method_can_be_fitted_saved_and_loaded(name, tmp_path):
    X = to_pandas(people())
    model = small(name, **({"epochs": 1} if "epochs" in small(name).get_params() else {}))
    model.fit(X, Y)
    embedding = model.transform(X)
    assert np.isfinite(embedding).all()
    assert model.n_features_in_ == 15
    assert model.feature_names_in_.tolist() == list(X.columns)
    model.save(tmp_path / "model")
    again = aleator.load(tmp_path / "model")
    new = to_pandas(people(30, seed=1))
    np.testing.assert_array_equal(again.transform(X), embedding)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    assert again.adapter_.columns_ == model.adapter_.columns_


def test_series_methods_refuse_tables():
    with pytest.raises(ValueError, match=r"X is a table with text.*'series' must be numbers"):
        small("TSTCC").fit(to_pandas(people()))


def test_pickle_and_names_of_other_libraries():
    for X in (to_polars(people()), to_arrow(people())):
        model = small_lfr(epochs=1).fit(X)
        assert model.feature_names_in_.tolist() == list(people())
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("buffer_size", [1 << 28, 6000])
def test_files_give_the_same_as_memory(ending, buffer_size, tmp_path):
    table = to_arrow(people(200))
    if ending == "parquet":
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=30)
        table = pq.read_table(tmp_path / "x.parquet")
    elif ending == "arrow":
        with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as writer:
            writer.write_table(table, max_chunksize=30)
    else:
        table = table.drop(["lasted", "alarm", "level"])
        table = table.set_column(1, "age", table["age"].cast(pa.float64()))
        pa.csv.write_csv(table, tmp_path / "x.csv")
        table = pa.csv.read_csv(tmp_path / "x.csv")
    opened = aleator.open_table(tmp_path / f"x.{ending}", buffer_size=buffer_size)
    expected = small_lfr(steps=3).fit(table)
    model = small_lfr(steps=3).fit(opened)
    assert model.plan_.where("input") == "streamed"
    assert repr(model.adapter_) == repr(expected.adapter_)
    np.testing.assert_array_equal(
        model.adapter_.transform(opened), expected.adapter_.transform(table)
    )
    if buffer_size > 10**6:
        np.testing.assert_array_equal(model.transform(opened), expected.transform(table))
    trained = small_lfr().fit(opened)  # passes over all rows, piece by piece
    assert np.isfinite(trained.transform(opened)).all()
    again = trained.transform(to_polars(people(9)).select(opened.feature_names))
    assert again.shape == (9, 8)


def test_gaps_in_files_of_numbers(random, tmp_path):
    values = random.normal(size=(100, 3))
    values[random.random((100, 3)) < 0.1] = np.nan
    frame = pd.DataFrame(values, columns=list("abc"))
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "x.parquet", row_group_size=30)
    expected = small_lfr().fit(frame).transform(frame)
    model = small_lfr().fit(tmp_path / "x.parquet")
    np.testing.assert_array_equal(model.transform(tmp_path / "x.parquet"), expected)
    np.save(tmp_path / "x.npy", values)
    model = small_lfr().fit(tmp_path / "x.npy")
    np.testing.assert_array_equal(model.transform(values), expected)


def test_errors_name_the_file(tmp_path):
    table = to_arrow(people(60))
    for part in range(2):
        pq.write_table(table.slice(30 * part, 30), tmp_path / f"p{part}.parquet", row_group_size=7)
    model = small_lfr(epochs=1).fit(tmp_path)
    pays = table["pay"].to_pylist()
    pays[41] = float("inf")
    broken = table.set_column(0, "pay", pa.array(pays))
    for part in range(2):
        pq.write_table(broken.slice(30 * part, 30), tmp_path / f"p{part}.parquet", row_group_size=7)
    for fails in (lambda: model.transform(tmp_path), lambda: small_lfr().fit(tmp_path)):
        with pytest.raises(ValueError, match=r"inf.*row 11 of p1\.parquet, column 'pay'"):
            fails()
    pq.write_table(table.drop(["city"]), tmp_path / "p1.parquet")
    with pytest.raises(ValueError, match=r"p1\.parquet has no column 'city'"):
        model.transform(tmp_path)
    (tmp_path / "p1.parquet").write_bytes(b"PAR1")
    with pytest.raises(DamagedFileError, match=r"p1\.parquet cannot be read"):
        model.transform(tmp_path)


def test_transform_to_keeps_columns(tmp_path):
    X = to_pandas(people()).assign(id=[f"p{i}" for i in range(80)])
    model = small_lfr(epochs=1).fit(X.drop(columns="id"))
    pq.write_table(pa.Table.from_pandas(X), tmp_path / "x.parquet", row_group_size=9)
    expected = model.transform(X)
    for number, source in enumerate((X, pl.from_pandas(X), tmp_path / "x.parquet")):
        model.transform_to(source, tmp_path / str(number), keep=["id", "city"], rows_per_part=50)
        written = pq.read_table(tmp_path / str(number))
        assert written["id"].to_pylist() == X["id"].tolist()
        found = np.stack([written[name].to_numpy() for name in model.get_feature_names_out()], 1)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_stopped_fit_continues_on_the_same_table_only(tmp_path, monkeypatch):
    X = to_pandas(people())
    expected, state = fit_and_save(monkeypatch, small_lfr(), X, 3)
    assert_same_fit(fit_from(monkeypatch, small_lfr(), X, state), expected)
    small_lfr().fit(X, checkpoint=tmp_path / "done")
    with pytest.raises(CheckpointError, match="of other data than X"):
        small_lfr().fit(X.assign(city="Rome"), checkpoint=tmp_path / "done")


def test_evaluation_takes_tables():
    X, new = to_pandas(people()), to_pandas(people(40, seed=1))
    y = np.arange(40) % 2
    model = small_lfr(epochs=1).fit(X)
    assert logistic_regression(X, Y, new, y, model=model).metrics["accuracy"]
    assert fine_tune(model, X, Y, new, y, epochs=1).metrics["accuracy"]
    assert diagnose_model(model, X) is not None
    curve = label_curve(X, Y, new, y, models={"LFR": model}, n_labels=[5])
    assert "LFR" in str(curve)
    with pytest.raises(ValueError, match="only numeric columns can be read"):
        label_curve(X, Y, new, y, models={"raw": None}, n_labels=[5])


@pytest.mark.parametrize(
    "change",
    [
        lambda column: column.update(treatment="pickle"),
        lambda column: column.update(kind="object"),
        lambda column: column.update(categories=["Rome", "Rome", "Oslo"]),
        lambda column: column.update(categories=["Rome"]),
        lambda column: column.update(missing="yes"),
        lambda column: column.update(gaps=1),
        lambda column: column.pop("name"),
        lambda column: column.update(name="age"),
        lambda column: column.update(share_missing=7),
    ],
)
def test_a_wrong_entry_of_a_saved_adapter_is_named(change, tmp_path):
    import json

    from aleator.benchmark.fuzzing.mutations import seal

    X = to_pandas(people())[["age", "city"]]
    aleator.RandomFeatures(n_features=8, random_state=0).fit(X).save(tmp_path)
    path = tmp_path / "aleator.json"
    content = json.loads(path.read_text())["content"]
    change(content["adapter"]["columns"][1])
    seal(path, content)
    with pytest.raises(ModelFileError, match=r"aleator\.json has a missing or invalid entry"):
        aleator.load(tmp_path)
