"""`transform_to`: whole parts in order, with identifiers, continued where it stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import torch

import aleator
from aleator import open_table
from aleator.estimators import embedding_parts
from tests.small import small, small_lfr

ROOT = Path(__file__).parents[2]
NAMES = list("abcde")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 10 000 rows with identifiers, and a saved model."""
    folder = tmp_path_factory.mktemp("data")
    X = np.random.default_rng(0).normal(size=(10_000, 5)).astype(np.float32)
    columns = {
        "id": [f"row {i}" for i in range(10_000)],
        **dict(zip(NAMES, X.T.copy(), strict=True)),
    }
    pq.write_table(pa.table(columns), folder / "x.parquet", row_group_size=900)
    small_lfr(epochs=1).fit(open_table(folder / "x.parquet", columns=NAMES)).save(folder / "model")
    np.save(folder / "X.npy", X)
    return folder


@pytest.fixture
def model(folder):
    return aleator.load(folder / "model")


def embedding_in(out, model):
    table = pq.read_table(out)
    return np.stack([table[name].to_numpy() for name in model.get_feature_names_out()], 1)


def parts_in(out):
    return sorted(file.name for file in out.glob("part-*"))


def changes(out):
    return {file.name: file.stat().st_mtime_ns for file in out.iterdir()}


def test_parts_have_the_identifiers_and_the_rows_in_order(folder, model, tmp_path):
    out = tmp_path / "new" / "out"
    model.transform_to(folder / "x.parquet", out, keep=["id", "c"], rows_per_part=3000)
    assert parts_in(out) == [f"part-{part:05d}.parquet" for part in range(4)]
    assert [pq.read_metadata(out / name).num_rows for name in parts_in(out)] == [3000] * 3 + [1000]
    found, given = pq.read_table(out), pq.read_table(folder / "x.parquet")
    assert found.column_names == ["id", "c", *model.get_feature_names_out()]
    for name in ("id", "c"):
        assert found[name].equals(given[name])
        assert found.schema.field(name).type == given.schema.field(name).type
    expected = model.transform(folder / "x.parquet")
    np.testing.assert_allclose(embedding_in(out, model), expected, atol=1e-6)
    assert pyarrow.dataset.dataset(out).count_rows() == 10_000, "other readers see parts only"


def test_a_finished_folder_is_left_alone(folder, model, tmp_path, monkeypatch):
    model.transform_to(folder / "x.parquet", tmp_path / "out", rows_per_part=4000)
    before = changes(tmp_path / "out")
    monkeypatch.setattr(embedding_parts, "embed_chunks", None)
    model.transform_to(folder / "x.parquet", tmp_path / "out", rows_per_part=4000)
    assert changes(tmp_path / "out") == before


SLOW = """
import sys, time
import pyarrow.parquet as pq
import aleator
from aleator.estimators import embedding_parts

embedding_parts._ROW_GROUP_BYTES = 100 * 4 * 8
write = pq.ParquetWriter.write_table

def slow(self, *arguments, **named):
    write(self, *arguments, **named)
    time.sleep(0.02)

pq.ParquetWriter.write_table = slow
folder, out = sys.argv[1:]
model = aleator.load(folder + "/model")
model.transform_to(folder + "/x.parquet", out, keep=["id"], rows_per_part=1000)
"""


KILLED = """
import os
import signal
import sys
import aleator

folder, out = sys.argv[1:]
sync = os.fsync
model = aleator.load(folder + "/model")

def killed(handle):
    if any(name.startswith("._manifest") for name in os.listdir(out)):
        os.kill(os.getpid(), signal.SIGKILL)
    sync(handle)

os.fsync = killed
model.transform_to(folder + "/x.parquet", out, keep=["id"])
"""


def test_a_process_that_is_killed_while_it_writes_the_manifest_is_restarted(
    folder, model, tmp_path
):
    out = tmp_path / "out"
    arguments = [sys.executable, "-c", KILLED, str(folder), str(out)]
    killed = subprocess.run(arguments, cwd=ROOT, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    (left,) = out.iterdir()
    assert left.name.startswith("._manifest.json.")
    model.transform_to(folder / "x.parquet", out, keep=["id"])
    assert sorted(file.name for file in out.iterdir()) == ["_manifest.json", "part-00000.parquet"]


@pytest.mark.parametrize("name", ["._manifest.json.x.part", ".notes.1f.part", "notes.txt"])
def test_files_that_transform_to_did_not_write_are_left(name, folder, model, tmp_path):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match="is not empty"):
        model.transform_to(folder / "x.parquet", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_process_that_is_killed_leaves_whole_parts_and_is_continued(folder, model, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(folder), str(out)], cwd=ROOT)
    deadline = time.time() + 120
    try:
        # In mid-write: three parts are there, and the beginning of the fourth.
        while not (len(parts_in(out)) == 3 and any(f.stat().st_size for f in out.glob(".part-*"))):
            assert process.poll() is None
            assert time.time() < deadline
            time.sleep(0.002)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert len(list(out.glob(".part-*"))) == 1, "killed while a part was being written"
    before = changes(out)
    whole = parts_in(out)
    assert len(whole) == 3
    for name in whole:
        assert pq.read_table(out / name).num_rows == 1000
    assert pyarrow.dataset.dataset(out).count_rows() == 3000
    arguments = {"keep": ["id"], "rows_per_part": 1000}
    model.transform_to(folder / "x.parquet", out, **arguments)
    after = changes(out)
    assert all(after[name] == before[name] for name in whole), "nothing is done twice"
    assert len(parts_in(out)) == 10
    assert not list(out.glob(".part-*"))
    model.transform_to(folder / "x.parquet", tmp_path / "at-once", **arguments)
    for name in parts_in(out):
        assert pq.read_table(out / name).equals(pq.read_table(tmp_path / "at-once" / name)), name


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not locked there")
def test_a_second_process_is_refused_and_does_not_disturb_the_first(folder, model, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(folder), str(out)], cwd=ROOT)
    deadline = time.time() + 120
    try:
        while not list(out.glob(".part-*")):  # the part that the first is writing
            assert process.poll() is None
            assert time.time() < deadline
            time.sleep(0.002)
        arguments = {"keep": ["id"], "rows_per_part": 1000}
        with pytest.raises(ValueError, match="another call of transform_to is writing into") as two:
            model.transform_to(folder / "x.parquet", out, **arguments)
        assert len(str(two.value).splitlines()) == 1
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()
    assert len(parts_in(out)) == 10
    before = changes(out)
    model.transform_to(folder / "x.parquet", out, **arguments)
    assert changes(out) == before, "the first has written everything"


def test_damaged_and_missing_parts_are_written_again(folder, model, tmp_path):
    out = tmp_path / "out"
    model.transform_to(folder / "x.parquet", out, rows_per_part=1000)
    expected, before = pq.read_table(out), changes(out)
    for part in (2, 3, 7):
        file = out / f"part-{part:05d}.parquet"
        file.write_bytes(file.read_bytes()[:-30])
    (out / "part-00005.parquet").unlink()
    model.transform_to(folder / "x.parquet", out, rows_per_part=1000)
    assert pq.read_table(out).equals(expected)
    written = {name for name, changed in changes(out).items() if changed != before[name]}
    assert written == {f"part-{part:05d}.parquet" for part in (2, 3, 5, 7)}


def test_a_folder_of_something_else_is_refused_and_left_as_it_was(folder, model, tmp_path):
    out = tmp_path / "out"
    source = folder / "x.parquet"
    model.transform_to(source, out, keep=["id"], rows_per_part=5000)
    before = changes(out)
    other = small_lfr(epochs=1, random_state=1).fit(open_table(source, columns=NAMES))
    shorter = tmp_path / "y.parquet"
    pq.write_table(pq.read_table(source).slice(5), shorter)
    same = {"keep": ["id"], "rows_per_part": 5000}
    for estimator, X, arguments, message in [
        (other, source, same, "written with another model"),
        (model, shorter, same, "written from other data"),
        (model, source, {"rows_per_part": 5000}, "with other columns in keep"),
        (model, source, {"keep": ["id"], "rows_per_part": 900}, "with another rows_per_part"),
    ]:
        with pytest.raises(ValueError, match=f"out holds an embedding that was.* {message}"):
            estimator.transform_to(X, out, **arguments)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("work of years")
    with pytest.raises(ValueError, match="is not empty, and was not written by transform_to"):
        model.transform_to(source, foreign)
    assert [file.name for file in foreign.iterdir()] == ["thesis.txt"]
    assert changes(out) == before
    # A file of the same name and size that was written later.
    pq.write_table(pq.read_table(source), shorter)
    model.transform_to(shorter, tmp_path / "third")
    time.sleep(0.01)
    pq.write_table(pq.read_table(source), shorter)
    with pytest.raises(ValueError, match="from other data"):
        model.transform_to(shorter, tmp_path / "third")


def changed_row(X, row):
    changed = X.copy()
    changed[row] += 1
    return changed


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("row", [0, 4, 5000, 9999])
@pytest.mark.parametrize("kind", ["array", "map", "frame", "dataset"])
def test_every_row_in_memory_is_compared(kind, row, folder, model, tmp_path):
    def data(X):
        if kind == "map":
            np.save(tmp_path / "map.npy", X)
            return np.load(tmp_path / "map.npy", mmap_mode="r")
        if kind == "dataset":
            return torch.utils.data.TensorDataset(torch.from_numpy(X))
        return pd.DataFrame(X, columns=NAMES) if kind == "frame" else X

    X, out = np.load(folder / "X.npy"), tmp_path / "out"
    model.transform_to(data(X), out, rows_per_part=4000)
    (out / "part-00001.parquet").unlink()
    before = changes(out)
    with pytest.raises(ValueError, match="written from other data"):
        model.transform_to(data(changed_row(X, row)), out, rows_per_part=4000)
    assert changes(out) == before
    model.transform_to(data(X), out, rows_per_part=4000)
    np.testing.assert_allclose(embedding_in(out, model), model.transform(X), atol=1e-6)


def test_of_a_file_the_size_and_the_time_are_compared(folder, tmp_path):
    X, path, out = np.load(folder / "X.npy"), tmp_path / "X.npy", tmp_path / "out"
    model = small("RandomEncoder").fit(X)
    np.save(path, X)
    os.utime(path, ns=(10**18, 10**18))
    model.transform_to(path, out)
    before = changes(out)
    model.transform_to(path, out)
    assert changes(out) == before
    os.utime(path, ns=(10**18, 10**18 + 10**7))
    with pytest.raises(ValueError, match="written from other data"):
        model.transform_to(path, out)
    np.save(path, X[:-1])
    with pytest.raises(ValueError, match="written from other data"):
        model.transform_to(path, out)
    assert changes(out) == before


IDS = {
    "number": np.arange(10_000),
    "text": np.array([f"row {i}" for i in range(10_000)]),
    # Later than any date of Python.
    "date": pa.array(np.arange(10_000) + 10**18).cast(pa.timestamp("us")),
    "list": pa.array([[i, None] for i in range(10_000)]),
    "view": pa.array([f"row {i}" for i in range(10_000)], pa.string_view()),
}


@pytest.mark.parametrize("kind", IDS)
def test_the_kept_columns_are_compared(kind, folder, model, tmp_path):
    values, out = np.load(folder / "X.npy"), tmp_path / "out"
    X = pa.table({"id": IDS[kind], **dict(zip(NAMES, values.T.copy(), strict=True))})
    call = {"keep": ["id"], "rows_per_part": 4000}
    model.transform_to(X, out, **call)
    expected = pq.read_table(out)
    (out / "part-00001.parquet").unlink()
    before = changes(out)
    others = pa.concat_arrays([X["id"].combine_chunks().slice(1), X["id"].chunk(0).slice(0, 1)])
    message = "with other values in the columns of keep"
    with pytest.raises(ValueError, match=message):
        model.transform_to(X.set_column(0, "id", others), out, **call)
    if kind == "number":
        with pytest.raises(ValueError, match=message):
            model.transform_to(X.set_column(0, "id", X["id"].cast(pa.int32())), out, **call)
    assert changes(out) == before
    # The same values in other chunks of memory.
    model.transform_to(pa.concat_tables([X.slice(0, 77), X.slice(77)]), out, **call)
    assert pq.read_table(out).equals(expected)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"3", b"\xff", b"[" * 10**5], ids=range(7)
)
def test_a_damaged_manifest(content, folder, model, tmp_path):
    out = tmp_path / "out"
    model.transform_to(folder / "x.parquet", out)
    (out / "_manifest.json").write_bytes(content)
    before = changes(out)
    with pytest.raises(ValueError, match=r"_manifest\.json is damaged, .* choose another folder"):
        model.transform_to(folder / "x.parquet", out)
    assert changes(out) == before


def test_mistakes_are_explained_before_anything_is_written(folder, model, tmp_path):
    source, out = folder / "x.parquet", tmp_path / "out"
    array = np.load(folder / "X.npy")
    for X, target, arguments, message in [
        (source, out, {"keep": ["ID"]}, "no column 'ID'"),
        (source, out, {"keep": "id"}, "keep must be a list"),
        (source, out, {"rows_per_part": 0}, "rows_per_part must be an integer of at least 1"),
        (array, out, {"keep": ["id"]}, "keep needs columns with names, but X is ndarray"),
        (source, "s3://bucket/out", {}, "is a URL: give the path of a local folder"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.transform_to(X, target, **arguments)
    lfr0 = pq.read_table(source).rename_columns(["lfr0", *NAMES])
    with pytest.raises(ValueError, match="'lfr0', which is also a column of the embedding"):
        model.transform_to(lfr0, out, keep=["lfr0"])
    assert not out.exists()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")  # arrays
@pytest.mark.parametrize(
    "kind", ["array", "npy", "pandas", "polars", "lazy", "table", "batch", "opened"]
)
def test_data_of_any_kind(kind, folder, model, tmp_path):
    table = pq.read_table(folder / "x.parquet")
    X = {
        "array": np.load(folder / "X.npy"),
        "npy": folder / "X.npy",
        "pandas": pd.DataFrame(table.to_pandas()),
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
        "batch": table.combine_chunks().to_batches()[0],
        "table": table,
        "opened": open_table(folder / "x.parquet", exclude=["id"], buffer_size=60_000),
    }[kind]
    keep = [] if kind in ("array", "npy") else ["id"]
    model.transform_to(X, tmp_path / "out", keep=keep)
    expected = model.transform(folder / "x.parquet")
    np.testing.assert_allclose(embedding_in(tmp_path / "out", model), expected, atol=1e-6)
    if keep:
        assert pq.read_table(tmp_path / "out")["id"].to_pylist() == table["id"].to_pylist()
    model.transform_to(X, tmp_path / "out", keep=keep)
    if kind == "array":
        with pytest.raises(ValueError, match="from other data"):
            model.transform_to(X + 1, tmp_path / "out")


def test_a_model_without_names_takes_all_columns_that_are_not_kept(folder, tmp_path):
    X = np.load(folder / "X.npy")
    model = small("RandomEncoder").fit(X)
    model.transform_to(folder / "x.parquet", tmp_path / "out", keep=["id"])
    np.testing.assert_allclose(embedding_in(tmp_path / "out", model), model.transform(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")  # arrays
def test_columns_of_a_frame_with_values_of_several_types(folder, model, tmp_path):
    frame = pq.read_table(folder / "x.parquet").to_pandas().assign(mixed=[1, "two"] * 5000)
    model.transform_to(frame, tmp_path / "out", keep=["id"])
    found = pq.read_table(tmp_path / "out")
    assert found["id"].to_pylist() == frame["id"].tolist()
    np.testing.assert_allclose(embedding_in(tmp_path / "out", model), model.transform(frame))
    with pytest.raises(ValueError, match=r"keep contains 'mixed', but column 'mixed' of X cannot"):
        model.transform_to(frame, tmp_path / "other", keep=["id", "mixed"])
    assert not (tmp_path / "other").exists()
    # As a feature it is text.
    mixed = small("RandomFeatures").fit(frame.drop(columns="id"))
    mixed.transform_to(frame, tmp_path / "mixed", keep=["id"])
    np.testing.assert_allclose(embedding_in(tmp_path / "mixed", mixed), mixed.transform(frame))


def test_the_manifest_says_what_was_written(folder, model, tmp_path):
    model.transform_to(folder / "x.parquet", tmp_path / "out", keep=["id"])
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    assert manifest["rows"] == 10_000
    assert manifest["keep"] == ["id"]
    assert manifest["columns"] == model.get_feature_names_out().tolist()
    # About 128 MiB of embedding in a part.
    assert 0.9 < manifest["rows_per_part"] * 8 * 4 / 2**27 <= 1
