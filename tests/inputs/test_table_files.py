"""Tables in files: every format and place gives the same numbers, every mistake a clear error."""

import datetime
import decimal
import sys
from dataclasses import replace

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from aleator import open_table
from aleator.exceptions import DamagedFileError
from aleator.inputs import open_source, read, read_numbers, table_files
from aleator.inputs.table_files import TableFiles
from tests.small import small_lfr


@pytest.fixture
def frame(random):
    values = random.normal(size=(500, 3)).astype(np.float32)
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    frame["count"] = random.integers(0, 30_000, size=500).astype(np.int16)
    return frame


def write(frame, path, **options):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix == ".parquet":
        pq.write_table(table, path, **{"row_group_size": 60, **options})
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=70)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path, compression="lz4", chunksize=70)
    elif path.suffix == ".gz":
        with pa.CompressedOutputStream(str(path), "gzip") as file:
            pyarrow.csv.write_csv(table, file)
    else:
        pyarrow.csv.write_csv(table, path)


def values_of(source):
    return np.concatenate(list(source.chunks(37)))


NAMES = ["x.parquet", "x.arrow", "x.feather", "x.csv", "x.csv.gz"]


@pytest.mark.parametrize("buffer_size", [2000, 10**6])
@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_rows_of_the_table(name, buffer_size, frame, tmp_path):
    write(frame, tmp_path / name)
    source = open_table(tmp_path / name, buffer_size=buffer_size)
    expected = frame.to_numpy()
    assert source.feature_names == list(frame.columns)
    assert source.schema.dtype == (np.float64 if "csv" in name else np.float32)
    np.testing.assert_allclose(values_of(source), expected, rtol=1e-6)
    index = np.array([499, 3, 60, 3])
    np.testing.assert_allclose(source.gather(index), expected[index], rtol=1e-6)
    chosen = open_table(tmp_path / name, columns=["count", "a"], buffer_size=buffer_size)
    np.testing.assert_allclose(values_of(chosen), frame[["count", "a"]], rtol=1e-6)
    assert source.window > 1
    assert source.fits_buffer == (buffer_size == 10**6)


def test_parts_of_a_folder_are_in_the_order_of_their_numbers(frame, tmp_path):
    for number in (10, 2, 1):
        (tmp_path / f"d{number % 2}").mkdir(exist_ok=True)
        part = frame.iloc[number : number + 5]
        write(part, tmp_path / f"d{number % 2}" / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-3.parquet").touch()
    (tmp_path / "notes.txt").touch()
    source = open_source(tmp_path)
    expected = np.concatenate([frame.iloc[n : n + 5].to_numpy() for n in (2, 10, 1)])
    np.testing.assert_array_equal(values_of(source), expected)


def test_urls_are_opened_with_fsspec(frame, tmp_path):
    write(frame, tmp_path / "x.parquet")
    expected = frame.to_numpy()
    np.testing.assert_array_equal(values_of(open_source(f"file://{tmp_path}/x.parquet")), expected)
    remote = fsspec.filesystem("memory")
    try:
        for part, name in enumerate(["/t/p0.parquet", "/t/p1.parquet"]):
            write(frame.iloc[250 * part : 250 * part + 250], tmp_path / "part.parquet")
            remote.pipe(name, (tmp_path / "part.parquet").read_bytes())
        source = open_table("memory://t", buffer_size=2000)
        np.testing.assert_array_equal(values_of(source), expected)
        assert source.describe_row(260) == "row 10 of p1.parquet"
        remote.pipe("/c.csv", b"a,b\n1,2\n3,4.5\n")
        assert values_of(open_source("memory://c.csv")).tolist() == [[1, 2], [3, 4.5]]
        np.save(tmp_path / "x.npy", np.ascontiguousarray(expected))
        remote.pipe("/n/x.npy", (tmp_path / "x.npy").read_bytes())
        np.testing.assert_array_equal(values_of(open_source("memory://n")), expected)
    finally:
        remote.store.clear()
    with pytest.raises(ValueError, match=r"'nowhere://x' cannot be opened: .*nowhere"):
        open_source("nowhere://x")


def test_objects_of_pyarrow(frame, tmp_path):
    write(frame, tmp_path / "x.parquet")
    write(frame, tmp_path / "x.arrow")
    table = pa.Table.from_pandas(frame)
    objects = [
        table,
        table.to_batches()[0],
        pyarrow.dataset.dataset(table),
        pyarrow.dataset.dataset(tmp_path / "x.parquet"),
        pyarrow.dataset.dataset(tmp_path / "x.arrow", format="ipc"),
    ]
    for X in objects:
        data = read(X)
        assert data.feature_names == list(frame.columns)
        np.testing.assert_array_equal(values_of(data.source), frame.to_numpy())
    assert read(table).source.in_memory
    assert not read(objects[-1]).source.in_memory
    filtered = objects[3].filter(pyarrow.dataset.field("a") > 0)
    with pytest.raises(ValueError, match="dataset with a filter"):
        read(filtered)


IN_FOLDERS = {
    name: pyarrow.dataset.partitioning(pa.schema({"year": getattr(pa, name)()}), flavor="hive")
    for name in ("int64", "string")
} | {"dictionary": pyarrow.dataset.HivePartitioning.discover(infer_dictionary=True)}


@pytest.mark.parametrize("names", IN_FOLDERS)
@pytest.mark.parametrize("kind", ["parquet", "ipc", "csv"])
def test_columns_in_the_names_of_folders(kind, names, frame, tmp_path):
    table = pa.Table.from_pandas(frame.assign(year=2020 + frame["count"] % 3))
    written = {"partitioning": IN_FOLDERS["int64"], "format": kind}
    pyarrow.dataset.write_dataset(table.replace_schema_metadata(), tmp_path, **written)
    read = {"partitioning": IN_FOLDERS[names], "format": kind}
    dataset = pyarrow.dataset.dataset(tmp_path, **read)
    whole = dataset.to_table()
    for size in (2000, 10**6):
        source = open_table(dataset, columns=["a", "year", "count"], buffer_size=size)
        for columns in (["year"], ["c", "year", "a"]):
            found = source.read_columns(columns, 0, 500)
            assert found.schema.equals(whole.select(columns).schema)
            assert found.to_pydict() == whole.select(columns).to_pydict()
        years = whole["year"].to_pylist()
        assert source.frame_at(np.arange(500)).native["year"].to_pylist() == years
        if names == "int64":
            assert values_of(source)[:, 1].tolist() == years


def test_dates_times_and_other_types_as_numbers(tmp_path):
    day = datetime.date(2024, 2, 1)
    noon = datetime.datetime(2024, 2, 1, 12)
    columns = {
        "date": pa.array([day, None], pa.date32()),
        "date64": pa.array([day, day], pa.date64()),
        "time": pa.array([noon, None], pa.timestamp("ns")),
        "utc": pa.array([noon, noon], pa.timestamp("s", tz="Europe/Rome")),
        "clock": pa.array([datetime.time(6), None], pa.time32("s")),
        "lasted": pa.array([datetime.timedelta(hours=36), None], pa.duration("ms")),
        "flag": pa.array([True, None]),
        "price": pa.array([decimal.Decimal("1.25"), None], pa.decimal128(5, 2)),
        "level": pa.array([3, None], pa.int64()).dictionary_encode(),
        "small": pa.array([1, None], pa.uint8()),
        "half": pa.array([np.float16(0.5), None], pa.float16()),
        "none": pa.nulls(2),
    }
    days = (day - datetime.date(1970, 1, 1)).days
    expected = [days, days, days + 0.5, days + 0.5, 0.25, 1.5, 1, 1.25, 3, 1, 0.5, np.nan]
    table = pa.table(columns)
    first, second = values_of(read_numbers(table).source)
    np.testing.assert_array_equal(first, expected)
    assert np.flatnonzero(~np.isnan(second)).tolist() == [1, 3]
    pq.write_table(table.drop(["half"]), tmp_path / "x.parquet")
    expected.pop(-2)
    np.testing.assert_array_equal(values_of(open_source(tmp_path / "x.parquet"))[0], expected)


def test_whole_numbers_in_csv_may_become_fractions_later(tmp_path):
    lines = [f"{i},{i},id{i}" for i in range(100_000)] + ["0.5,1,id"]
    (tmp_path / "x.csv").write_text("a,b,id\n" + "\n".join(lines))
    source = open_table(tmp_path / "x.csv", exclude=["id"])
    assert values_of(source)[-2:].tolist() == [[99_999, 99_999], [0.5, 1]]
    assert source.read_columns(["id"], 99_999, 100_001)["id"].to_pylist() == ["id99999", "id"]


def test_a_row_group_that_is_larger_than_the_buffer_is_divided(frame, tmp_path):
    write(frame, tmp_path / "x.parquet", row_group_size=500)
    source = open_table(tmp_path / "x.parquet", buffer_size=1600)
    assert source.window == 8
    assert np.diff(source.starts).max() == 12
    np.testing.assert_array_equal(values_of(source), frame.to_numpy())
    assert source.describe_row(499) == "row 499 of " + str(tmp_path / "x.parquet")


def test_missing_values_are_named_by_file_row_and_column(frame, tmp_path):
    write(frame, tmp_path / "p1.parquet")
    gap = frame.copy()
    gap.loc[123, "b"] = np.nan
    write(gap, tmp_path / "p2.parquet")
    lfr = small_lfr(epochs=1).fit(tmp_path / "p1.parquet")
    with pytest.raises(ValueError, match=r"in row 123 of p2\.parquet, column 'b'"):
        lfr.transform(tmp_path)


def test_text_can_be_left_out(frame, tmp_path):
    frame["city"], frame["name"] = "Rome", "Ada"
    write(frame, tmp_path / "x.parquet")
    message = r"columns 'city', 'name' of X hold .*string.*open_table\(path, exclude=\['city', 'na"
    with pytest.raises(ValueError, match=message):
        open_table(tmp_path / "x.parquet").gather(np.arange(3))
    lfr = small_lfr(epochs=1).fit(open_table(tmp_path / "x.parquet", exclude=["city", "name"]))
    assert lfr.feature_names_in_.tolist() == ["a", "b", "c", "count"]
    # New files may have more columns, in another order.
    write(frame[["name", "count", "c", "b", "a"]], tmp_path / "y.parquet")
    expected = lfr.transform(frame[["a", "b", "c", "count"]])
    np.testing.assert_allclose(lfr.transform(tmp_path / "y.parquet"), expected, atol=1e-6)
    np.testing.assert_allclose(
        lfr.transform(pq.read_table(tmp_path / "y.parquet")), expected, atol=1e-6
    )
    with pytest.raises(ValueError, match="there is no column 'count'; the table has columns 'a'"):
        lfr.transform(pa.table({"a": [1.0], "b": [1.0], "c": [1.0]}))


def test_bad_files_are_named(frame, tmp_path):
    write(frame, tmp_path / "p1.parquet")
    write(frame.drop(columns="b"), tmp_path / "p2.parquet")
    with pytest.raises(ValueError, match=r"p2\.parquet has no column 'b', which p1\.parquet has"):
        open_table(tmp_path)
    whole = (tmp_path / "p1.parquet").read_bytes()
    (tmp_path / "p2.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedFileError, match=r"p2\.parquet cannot be read"):
        open_table(tmp_path)
    (tmp_path / "p2.parquet").write_bytes(whole[:8] + bytes(1000) + whole[1008:])
    with pytest.raises(DamagedFileError, match=r"p2\.parquet cannot be read"):
        values_of(open_table(tmp_path))
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(DamagedFileError, match=r"bad\.csv cannot be read: .*Expected 2 columns"):
        open_table(tmp_path / "bad.csv")
    with pytest.raises(ValueError, match=r"files of several formats \(CSV and Parquet\)"):
        open_table(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no files that end in"):
        open_table(tmp_path / "empty")


def test_wrong_choices_of_columns(frame, tmp_path):
    write(frame, tmp_path / "x.parquet")
    for choice, message in [
        ({"columns": ["a", "z"]}, "there is no column 'z'; the table has columns 'a', 'b'"),
        ({"exclude": ["z"]}, "there is no column 'z'"),
        ({"columns": ["a"], "exclude": ["b"]}, "either columns or exclude"),
        ({"columns": "a"}, "lists of names"),
        ({"columns": ["a", "a"]}, "more than one column 'a'"),
        ({"buffer_size": 0}, "buffer_size must be an integer of at least 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            open_table(tmp_path / "x.parquet", **choice)


def test_pyarrow_is_an_extra(frame, tmp_path, monkeypatch):
    write(frame, tmp_path / "x.parquet")
    lfr = small_lfr(epochs=1).fit(frame.to_numpy())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'aleator\[parquet\]'"):
        small_lfr().fit(tmp_path / "x.parquet")
    with pytest.raises(ImportError, match=r"pip install 'aleator\[parquet\]'"):
        lfr.transform_to(frame.to_numpy(), tmp_path / "out")


def test_a_large_npy_file_and_a_folder_of_them_are_read_in_pieces(random, tmp_path, monkeypatch):
    from aleator.inputs import npy_files, opening

    series = random.normal(size=(300, 2, 6)).astype(np.float32)
    np.save(tmp_path / "part-10.npy", series[200:])
    np.save(tmp_path / "part-9.npy", series[:200])
    monkeypatch.setattr(npy_files, "_PIECE_BYTES", 1000)
    source = open_source(tmp_path)
    assert len(source.starts) > 10
    np.testing.assert_array_equal(values_of(source), series)
    assert source.describe_row(250) == "row 50 of part-10.npy"
    assert isinstance(open_source(tmp_path / "part-9.npy"), np.memmap)
    monkeypatch.setattr(opening, "BUFFER_SIZE", 3000)
    large = open_source(tmp_path / "part-9.npy")
    assert large.window == 3
    np.testing.assert_array_equal(values_of(large), series[:200])
    model = small_lfr(epochs=1).fit(tmp_path)
    np.testing.assert_array_equal(model.transform(tmp_path), model.transform(series))
    np.save(tmp_path / "part-11.npy", series[:, :1])
    with pytest.raises(ValueError, match=r"part-11\.npy has samples of shape \(1, 6\)"):
        open_source(tmp_path)
    raw = (tmp_path / "part-9.npy").read_bytes()
    (tmp_path / "part-9.npy").write_bytes(raw[:-100])
    with pytest.raises(DamagedFileError, match=r"part-9\.npy cannot be read: it ends too early"):
        values_of(open_source(tmp_path / "part-9.npy"))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((10**12, 3), "it ends too early, at byte 128 of"),
        ((10**7, 1 << 20), "it ends too early"),
        ((2**70, 1), "it ends too early"),
        ((-5, 3), "says that its shape is"),
        ((True, 0), "says that its shape is"),
        ((10**12, 0), "holds no values"),
    ],
)
def test_npy_files_that_cannot_hold_what_they_say(tmp_path, shape, message):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    for name in "ab":
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        (tmp_path / f"{name}.npy").write_bytes(start + header.encode())
    with pytest.raises(DamagedFileError, match=rf"a\.npy cannot be read: .*{message}"):
        open_source(tmp_path)


def test_flights(data_folder):
    path = data_folder / "flights-3m.parquet"
    with pytest.raises(ValueError, match="columns 'origin', 'destination' of X hold"):
        open_table(path).gather(np.arange(3))
    table = open_table(path, columns=["date", "delay", "distance"], buffer_size=20 << 20)
    assert len(table) == 3_000_000
    assert len(table.starts) == 12
    assert table.window == 3
    first = pq.read_table(path).slice(2_999_998, 2)
    dates = [(d - datetime.datetime(1970, 1, 1)) / datetime.timedelta(1)
             for d in first["date"].to_pylist()]  # fmt: skip
    rows = table.gather(np.array([2_999_998, 2_999_999]))
    np.testing.assert_allclose(rows[:, 0], dates, rtol=1e-15)
    assert rows[:, 1].tolist() == first["delay"].to_pylist()


def test_the_copy_of_a_text_file_vanishes(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    source = table_files.open_table(tmp_path / "x.csv")
    assert values_of(source).tolist() == [[1, 2], [3, 4]]
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_table_without_rows(name, frame, tmp_path):
    write(frame.assign(city="Rome")[:0], tmp_path / name)
    table = open_table(tmp_path / name)
    assert len(table) == 0
    assert len(table.frame_at(np.arange(0))) == 0
    for model in (small_lfr(), small_lfr().fit(frame.assign(city="Rome"))):
        use = model.transform if hasattr(model, "encoder_") else model.fit
        with pytest.raises(ValueError, match=r"Found 0 sample\(s\), but LFR requires at least"):
            use(table)


@pytest.mark.parametrize("more", [-1, 1])
def test_a_file_that_has_not_the_rows_that_it_says(more, frame, tmp_path):
    write(frame.assign(city="Rome"), tmp_path / "x.parquet")
    table = open_table(tmp_path / "x.parquet")
    (piece,) = (replace(piece, rows=piece.rows + more) for piece in table._pieces)
    expected = rf"x\.parquet cannot be read: it has 500 rows where there were {500 + more}"
    for columns, use in (
        (["a", "b"], lambda table: table.read_piece(0)),
        (["a", "city"], lambda table: table.row_bytes(np.arange(500 + more))),
        (["a", "city"], lambda table: table.read_columns(["city"], 0, 400)),
    ):
        claimed = TableFiles([piece], table.arrow_schema, columns, 10**6, [])
        with pytest.raises(DamagedFileError, match=expected):
            use(claimed)
