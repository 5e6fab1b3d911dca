"""Arrow and Parquet files with wrong values: an error that names the file, never a crash."""

import dataclasses
import struct

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from aleator import RandomFeatures, open_table
from aleator.exceptions import DamagedFileError
from aleator.inputs import table_files
from aleator.inputs.files import naming

WORDS = ["Rome", "Bonn", "Oslo", "Bern", "Riga", "Kiev", "Lima", "Cairo"]
ZSTD = bytes.fromhex("28b52ffd")  # how a frame of it begins


@pytest.fixture
def table():
    numbers = pa.array(np.arange(8.0))
    level = pa.array(["low", "high"] * 4).dictionary_encode()
    return pa.table({"number": numbers, "city": WORDS, "level": level})


def write(table, path, **options):
    with pa.ipc.new_file(path, table.schema, **options) as writer:
        writer.write_table(table)


def replace(path, old, new):
    """Overwrite bytes that are in a file once."""
    data = path.read_bytes()
    assert data.count(old) == 1
    assert len(new) == len(old)
    path.write_bytes(data.replace(old, new))


def offsets(*values):
    return np.array(values, "<i4").tobytes()


# Where the texts of a column begin, and where those of a dictionary do.
DAMAGE = {
    "text": ("city", offsets(8, 12, 16, 20), offsets(8, 99, 16, 20)),
    "backwards": ("city", offsets(8, 12, 16, 20), offsets(8, 12, 9, 20)),
    "dictionary": ("level", offsets(0, 3, 7), offsets(0, 9, 7)),
    "index": ("level", offsets(0, 1, 0, 1, 0, 1, 0, 1), offsets(0, 1, 0, 1, 0, 1, 0, 7)),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_wrong_positions_are_an_error(case, table, tmp_path):
    column, old, new = DAMAGE[case]
    path = tmp_path / "x.arrow"
    write(table, path)
    replace(path, old, new)
    for read in (
        RandomFeatures(n_features=4).fit,
        lambda path: open_table(path).row_bytes(np.arange(8)),
        lambda path: open_table(path).read_columns([column], 0, 8),
    ):
        with pytest.raises(DamagedFileError, match=r"x\.arrow cannot be read: In column"):
            read(path)
    # A column that is not read may hold anything.
    whole = open_table(path, exclude=[column])
    assert whole.read_columns(["number"], 0, 8)["number"].to_pylist() == list(range(8))


def test_a_wrong_number_of_rows_is_an_error(table, tmp_path):
    nulls = pa.Array.from_buffers(pa.null(), 1 << 40, [None])
    large = pa.ipc.IpcWriteOptions(allow_64bit=True)
    write(pa.table({"none": nulls}), tmp_path / "x.arrow", options=large)
    with pytest.raises(DamagedFileError, match=r"x\.arrow .*: batch 0 has 1099511627776 rows, and"):
        open_table(tmp_path / "x.arrow")
    write(pa.table({"none": pa.nulls(1000)}), tmp_path / "x.arrow")
    assert len(open_table(tmp_path / "x.arrow")) == 1000


def test_a_wrong_size_of_a_buffer_is_an_error(tmp_path):
    path = tmp_path / "x.feather"
    table = pa.table({"number": np.zeros(1000)})
    pyarrow.feather.write_feather(table, path, compression="zstd")
    replace(path, struct.pack("<q", 8000) + ZSTD, struct.pack("<q", 1 << 60) + ZSTD)
    with pytest.raises(DamagedFileError, match=r"x\.feather cannot be read"):
        open_table(path)


@pytest.mark.parametrize("buffer_size", [10, 10**6])
def test_text_in_parquet_that_is_not_utf_8_is_named(buffer_size, tmp_path):
    text = pa.StringArray.from_buffers(2, pa.py_buffer(offsets(0, 1, 2)), pa.py_buffer(b"a\xff"))
    pq.write_table(pa.table({"city": text}), tmp_path / "x.parquet")
    with pytest.raises(DamagedFileError, match=r"x\.parquet cannot be read: .*UTF8"):
        open_table(tmp_path / "x.parquet", buffer_size=buffer_size).row_bytes(np.arange(2))


def test_a_name_that_is_not_utf_8_is_an_error_of_its_file(tmp_path):
    for number in range(2):
        write(pa.table({"number": [1.0]}), tmp_path / f"{number}.feather")
    path = tmp_path / "1.feather"
    path.write_bytes(path.read_bytes().replace(b"number", b"n\xffmber"))
    with pytest.raises(DamagedFileError, match=r"1\.feather cannot be read: .*utf-8"):
        open_table(tmp_path)


@pytest.mark.parametrize("buffer_size", [100, 10**6])
def test_a_damaged_row_group_is_named(buffer_size, tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": np.arange(1000.0)}), path, use_dictionary=False)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 40 + data[44:])
    with pytest.raises(DamagedFileError, match=r"x\.parquet cannot be read: "):
        open_table(path, buffer_size=buffer_size).gather(np.arange(1000))


@pytest.mark.parametrize("rows", [900, 1100])
def test_a_row_group_that_is_divided_has_the_rows_that_it_says(rows, tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": np.arange(1000.0)}), tmp_path / "x.parquet")
    pieces = table_files.pieces_of_dataset

    def claimed(*arguments):
        return [dataclasses.replace(piece, rows=rows) for piece in pieces(*arguments)]

    monkeypatch.setattr(table_files, "pieces_of_dataset", claimed)
    message = rf"x\.parquet cannot be read: it has 1000 rows where there were {rows}"
    with pytest.raises(DamagedFileError, match=message):
        open_table(tmp_path / "x.parquet", buffer_size=100)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
def test_a_copy_that_cannot_be_written_is_no_damage(name, tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": np.arange(1000.0)}), tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a\n" + "1.5\n" * 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    message = (
        rf"x\.{name[2:]} cannot be copied to .*none, which .*; the environment variable TMPDIR"
    )
    with pytest.raises(OSError, match=message):
        open_table(tmp_path / name, buffer_size=100)


def test_dates_that_python_does_not_have_are_named(tmp_path):
    pq.write_table(pa.table({"day": pa.array([1 << 60], pa.timestamp("us"))}), tmp_path / "x.pq")
    with pytest.raises(ValueError, match="column 'day' holds a date or time that Python does not"):
        open_table(tmp_path / "x.pq").row_bytes(np.arange(1))


def test_errors_of_pyarrow_get_a_name_and_those_of_a_program_do_not():
    for error in (pa.ArrowIndexError, pa.ArrowMemoryError, pa.ArrowNotImplementedError):
        with (
            pytest.raises(DamagedFileError, match=r"a\.arrow cannot be read: why"),
            naming("a.arrow"),
        ):
            raise error("why")
    with pytest.raises(IndexError, match=r"^why$"), naming("a.arrow"):
        raise IndexError("why")
