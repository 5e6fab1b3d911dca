"""What runs in the workers of all engines, called without an engine."""

import builtins
import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from aleator import RandomEncoder
from aleator.exceptions import ModelFileError
from aleator.integrations import (
    transform_dask,
    transform_ray,
    transform_spark,
    worker_model,
)
from aleator.integrations.batches import BatchEmbedder
from aleator.integrations.worker_model import WorkerModel
from tests.integrations.conftest import FEATURES


@pytest.fixture(autouse=True)
def fresh_worker(monkeypatch):
    """As a worker that has just been started: no models are loaded."""
    monkeypatch.setattr(worker_model, "_loaded", type(worker_model._loaded)())


@pytest.fixture
def loads(monkeypatch):
    """The folders that were loaded, in order."""
    seen, load = [], worker_model.load

    def watched(path):
        seen.append(path)
        return load(path)

    monkeypatch.setattr(worker_model, "load", watched)
    return seen


def prepared(folder, people, keep=("id",), columns=None):
    return BatchEmbedder.prepare(folder, columns, keep, list(people.columns))


def test_frames_and_tables_are_embedded_alike(folder, people, expected):
    embedder = pickle.loads(pickle.dumps(prepared(folder, people)))
    frame = embedder.embed_frame(people)
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)
    table = embedder.embed_table(pa.Table.from_pandas(people))
    assert table.schema.field("randomencoder0").type == pa.float32()
    pd.testing.assert_frame_equal(table.to_pandas(), expected, check_exact=True)


def test_a_frame_keeps_its_index(folder, people):
    people.index = range(100, 130)
    assert prepared(folder, people).embed_frame(people).index.tolist() == people.index.tolist()


def test_no_rows_have_the_same_columns_and_load_nothing(folder, people, expected, loads):
    embedder = prepared(folder, people)
    worker_model._loaded.clear()
    loads.clear()
    frame = embedder.embed_frame(people[:0])
    assert len(frame) == 0
    assert frame.dtypes.to_dict() == expected.dtypes.to_dict()
    table = embedder.embed_table(pa.Table.from_pandas(people[:0]))
    assert table.num_rows == 0
    assert table.column_names == expected.columns.tolist()
    assert loads == []


def test_a_worker_loads_a_model_once(folder, people, loads):
    embedder = prepared(folder, people)
    worker_model._loaded.clear()
    loads.clear()
    for start in range(0, 30, 10):
        # Every task gets a copy of its own.
        pickle.loads(pickle.dumps(embedder)).embed_frame(people[start : start + 10])
    assert loads == [str(folder)]


def test_a_model_that_was_replaced_is_loaded_again(folder, people, expected):
    before = prepared(folder, people)
    RandomEncoder(embedding_dim=4, random_state=1).fit(people[FEATURES]).save(folder)
    after = prepared(folder, people).embed_frame(people)
    assert not np.allclose(after.iloc[:, 1:], expected.iloc[:, 1:])
    worker_model._loaded.clear()
    with pytest.raises(ModelFileError, match="was replaced after this transformation was prepared"):
        before.embed_frame(people)


def test_a_worker_keeps_the_last_models_only(people, tmp_path):
    models = []
    for seed in range(worker_model._MOST_LOADED + 1):
        path = tmp_path / str(seed)
        RandomEncoder(embedding_dim=4, random_state=seed).fit(people[FEATURES]).save(path)
        models.append(WorkerModel.saved_in(path))
    first = models[0].get()
    for model in models[1:-1]:
        model.get()
    assert models[0].get() is first
    models[-1].get()  # the one that was not used for longest has to go
    assert list(worker_model._loaded) == [*models[2:-1], models[0], models[-1]]


def test_a_worker_that_cannot_read_the_folder_says_so(folder, people):
    embedder = prepared(folder, people)
    worker_model._loaded.clear()
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(ModelFileError, match="every worker must be able to read the folder"):
        embedder.embed_frame(people)
    with pytest.raises(ModelFileError, match="holds no saved model"):
        prepared(folder, people)


@pytest.mark.parametrize(
    ("change", "keep", "message"),
    [
        (lambda x: x.drop(columns="income"), ["id"], r"needs the column 'income', but there is none"
                                                     r".* the data have 'visits', 'id', 'age'"),
        (lambda x: x.drop(columns="id"), ["id"], r"keep=\['id'\], but there is no column 'id'"),
        (lambda x: pd.concat([x, x[["age"]]], axis=1), ["id"], "'age', but there is none, or more"),
        (lambda x: x, ["id", "id"], "no column 'id', or more than one"),
        (lambda x: x, "id", "keep must be a list of names, got 'id'"),
        (lambda x: x.assign(randomencoder1=0), ["randomencoder1"], "which is also a column"),
    ],
)  # fmt: skip
def test_wrong_columns_are_our_own_errors(folder, people, change, keep, message):
    with pytest.raises(ValueError, match=message):
        prepared(folder, change(people), keep)


def test_columns_that_are_found_in_the_worker_only(folder, people):
    """Ray may not know the columns before it runs."""
    embedder = BatchEmbedder.prepare(folder, None, ["id"], None)
    with pytest.raises(ValueError, match="needs the column 'age'"):
        embedder.embed_table(pa.Table.from_pandas(people.drop(columns="age")))


def test_a_model_of_an_array_takes_columns_in_order(people, tmp_path):
    encoder = RandomEncoder(embedding_dim=4, random_state=0).fit(people[FEATURES].to_numpy())
    encoder.save(tmp_path)
    expected = encoder.transform(people[FEATURES].to_numpy())
    chosen = prepared(tmp_path, people, columns=FEATURES).embed_frame(people)
    assert np.array_equal(chosen.iloc[:, 1:], expected)
    rest = people[["id", *FEATURES]]
    assert np.array_equal(prepared(tmp_path, rest).embed_frame(rest).iloc[:, 1:], expected)
    with pytest.raises(ValueError, match="X has 2 features, but RandomEncoder is expecting 3"):
        prepared(tmp_path, people, columns=FEATURES[:2]).embed_frame(people)


def test_columns_of_a_model_that_knows_their_names(folder, people):
    with pytest.raises(ValueError, match="by the names that they had in fit: leave out columns="):
        prepared(folder, people, columns=FEATURES)


def test_a_column_of_series(series, tmp_path):
    encoder = RandomEncoder(embedding_dim=4, random_state=0).fit(series)
    encoder.save(tmp_path)
    embedder = BatchEmbedder.prepare(tmp_path, "signal", ["id"], ["id", "signal"])
    expected = encoder.transform(series)
    ids = np.arange(len(series))
    for cells in (list(series), series.tolist(), [np.array(list(x), object) for x in series]):
        frame = embedder.embed_frame(pd.DataFrame({"id": ids, "signal": cells}))
        assert np.array_equal(frame.iloc[:, 1:], expected)
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(series)
    for column in (tensors, pa.array(series.tolist(), pa.list_(pa.list_(pa.float32())))):
        table = embedder.embed_table(pa.table({"id": ids, "signal": column}))
        assert np.array_equal(table.to_pandas().iloc[:, 1:], expected)
        assert embedder.embed_table(table_of_none(table, column)).num_rows == 0
    assert embedder.embed_frame(pd.DataFrame({"id": [], "signal": []})).shape == (0, 5)
    ragged = pd.DataFrame({"id": [0, 1], "signal": [series[0], series[1][:, :5]]})
    with pytest.raises(ValueError, match=r"different shapes: \(2, 24\) in row 0, \(2, 5\) in"):
        embedder.embed_frame(ragged)
    with pytest.raises(ValueError, match="holds text, but the model was fitted on series"):
        embedder.embed_frame(pd.DataFrame({"id": [0], "signal": [str(series[0].tolist())]}))


def test_a_column_of_series_of_different_lengths(random, tmp_path):
    series = [random.normal(size=(2, 5 + row % 4)) for row in range(12)]
    series[3][1, 2] = np.nan
    encoder = RandomEncoder(embedding_dim=4, random_state=0).fit(series)
    encoder.save(tmp_path)
    embedder = BatchEmbedder.prepare(tmp_path, "signal", ["id"], ["id", "signal"])
    expected = encoder.transform(series)
    nested = [sample.tolist() for sample in series]
    # The rows 0 and 4 have one length.
    for rows in (range(12), (0, 4), ()):
        for cells in (series, nested):
            frame = pd.DataFrame({"id": rows, "signal": [cells[row] for row in rows]})
            found = embedder.embed_frame(frame).iloc[:, 1:]
            np.testing.assert_allclose(found, expected[list(rows)], atol=1e-5)
        values = pa.array([nested[row] for row in rows], pa.list_(pa.list_(pa.float64())))
        table = embedder.embed_table(pa.table({"id": list(rows), "signal": values}))
        np.testing.assert_allclose(table.to_pandas().iloc[:, 1:], expected[list(rows)], atol=1e-5)


def test_a_column_of_texts(random, tmp_path):
    texts = [" ".join(random.choice(["late", "free", "call", "home"], 4)) for _ in range(12)]
    encoder = RandomEncoder(embedding_dim=4, random_state=0).fit(texts)
    encoder.save(tmp_path)
    embedder = BatchEmbedder.prepare(tmp_path, "note", ["id"], ["id", "note"])
    frame = pd.DataFrame({"id": range(12), "note": texts})
    expected = encoder.transform(texts)
    for found in (
        embedder.embed_frame(frame),
        embedder.embed_table(pa.Table.from_pandas(frame)).to_pandas(),
    ):
        np.testing.assert_allclose(found.iloc[:, 1:], expected, atol=1e-6)


def table_of_none(table, column):
    return pa.table({"id": table["id"][:0], "signal": column[:0]})


@pytest.mark.parametrize(
    ("function", "package", "extra"),
    [
        (transform_dask, "dask", "dask"),
        (transform_ray, "ray", "ray"),
        (transform_spark, "pyspark", "spark"),
    ],
)
def test_a_missing_engine_names_the_command(function, package, extra, monkeypatch, folder):
    real = builtins.__import__

    def refused(name, *rest):
        if name.partition(".")[0] == package:
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest)

    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refused)
    with pytest.raises(ImportError, match=rf"pip install 'aleator\[{extra}\]'"):
        function(None, folder)
