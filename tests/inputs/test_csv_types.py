"""Columns of CSV files whose first block does not show their type."""

import bz2
import gzip
import itertools

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from aleator import RandomFeatures, load, open_table
from aleator.exceptions import DamagedFileError
from aleator.inputs import csv_files

VALUES = {
    "empty": ["", "NA"],
    "whole": ["12", "-3"],
    "fraction": ["0.5", "1e3"],
    "large": ["12345678901234567890"],
    "boolean": ["true", "false"],
    "date": ["2024-01-01", "1999-12-31"],
    "time": ["10:00:00", "11:11:30"],
    "second": ["2024-01-01 10:00:00"],
    "nanosecond": ["2024-01-01 10:00:00.25"],
    "zone": ["2024-01-01T10:00:00Z"],
    "text": ["ab", '"x, y"'],
    "quoted": ['"12"', '""'],
    "hexadecimal": ["0xFF"],
    "far date": ["9999-12-31"],
    "far second": ["1500-01-01 10:00:00"],
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 64)


def write(path, values):
    path.parent.mkdir(exist_ok=True)
    lines = ["row,x", *(f"{row},{value}" for row, value in enumerate(values))]
    path.write_text("\n".join(lines) + "\n")


APART = [(first, *["empty"] * 4, last) for first, last in itertools.permutations(VALUES, 2)]


# Kinds meet in a block, or are blocks apart.
@pytest.mark.parametrize("kinds", [*itertools.permutations(VALUES, 2), *APART])
def test_types_and_values_are_those_of_a_file_in_one_block(kinds, tmp_path):
    values = [value for kind in kinds for value in VALUES[kind] * 12]
    write(tmp_path / "x.csv", values)
    whole = pyarrow.csv.read_csv(tmp_path / "x.csv")
    table = open_table(tmp_path / "x.csv")
    found = table.read_columns(["row", "x"], 0, len(values))
    assert table.arrow_schema == found.schema == whole.schema
    assert found.equals(whole)


# The second file begins with values of another kind, or has them only blocks later.
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("kinds", [*itertools.permutations(VALUES, 2)])
def test_types_and_values_of_two_files_are_those_of_one(kinds, late, tmp_path):
    first, last = (VALUES[kind] * 12 for kind in kinds)
    parts = [first, first + last if late else last]
    write(tmp_path / "x.csv", [value for part in parts for value in part])
    whole = pyarrow.csv.read_csv(tmp_path / "x.csv").drop(["row"])
    for number, part in enumerate(parts):
        write(tmp_path / "parts" / f"{number}.csv", part)
    table = open_table(tmp_path / "parts")
    found = table.read_columns(["x"], 0, len(table))
    assert table.arrow_schema.field("x").type == whole.schema.types[0]
    assert found.equals(whole)


def test_files_may_have_other_columns_and_another_order(tmp_path):
    (tmp_path / "0.csv").write_text("id,b\nA1,0\nB2,1\n")
    (tmp_path / "1.csv").write_text("c,b,id\nx,2.5,007\n" + "y,3,010\n" * 30 + "1,4,\n")
    table = open_table(tmp_path)
    found = table.read_columns(["id", "b"], 0, 34)
    assert found["id"].to_pylist() == ["A1", "B2", "007", *["010"] * 30, ""]
    assert found["b"].to_pylist() == [0, 1, 2.5, *[3.0] * 30, 4]
    (tmp_path / "2.csv").write_text("id\n1\n")
    message = r"2\.csv cannot be read: it has no column 'b', which 0\.csv has"
    with pytest.raises(DamagedFileError, match=message):
        open_table(tmp_path)


def test_identifiers_are_copied_as_they_are_in_the_files(tmp_path):
    ids = ["A1", "B2", "007", "010", "1.50", "10:00", "TRUE", "12345678901234567890123"]
    for number, id_ in enumerate(ids):
        write(tmp_path / "in" / f"{number}.csv", [id_] * 3)
    table = open_table(tmp_path / "in", exclude=["x"])
    model = RandomFeatures(n_features=4, random_state=0).fit(table)
    model.transform_to(tmp_path / "in", tmp_path / "out", keep=["x"], rows_per_part=5)
    written = pq.read_table(tmp_path / "out")["x"].to_pylist()
    assert written == [id_ for id_ in ids for _ in range(3)]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_row_may_be_longer_than_a_block_and_a_value_than_a_line(ending, tmp_path):
    texts = ["a\nb", 'c "d"\n\n', "x" * 1000, "\n" * 300, *["e\r\nf"] * 100]
    header = "row," + "long" * 50
    lines = [header, *(f'{row},"{text}"' for row, text in enumerate(texts))]
    data = "\n".join(lines).replace('"d"', '""d""').encode()
    path = tmp_path / f"x{ending}"
    path.write_bytes(gzip.compress(data) if ending == ".csv.gz" else data)
    table = open_table(path)
    assert table.feature_names == header.split(",")
    found = table.read_columns(table.feature_names, 0, len(texts))
    assert found["row"].to_pylist() == list(range(len(texts)))
    assert found["long" * 50].to_pylist() == texts


def test_a_quote_that_is_not_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "_LARGEST_BLOCK_BYTES", 1024)
    write(tmp_path / "x.csv", [*["1"] * 30, '"2', *["3"] * 5000])
    with pytest.raises(DamagedFileError, match=r"x\.csv cannot .*: a row is longer than .*quote"):
        open_table(tmp_path / "x.csv")


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.bz2", ".tsv.gz"])
def test_compressed_files_at_a_url(ending):
    remote = fsspec.filesystem("memory")
    separator = b"\t" if "tsv" in ending else b","
    data = (b"a,b\n" + b"1,2\n" * 300).replace(b",", separator)
    try:
        remote.pipe(f"/x{ending}", bz2.compress(data) if "bz2" in ending else gzip.compress(data))
        table = open_table(f"memory://x{ending}")
        assert table.gather(np.arange(300)).tolist() == [[1, 2]] * 300
    finally:
        remote.store.clear()


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_model_of_a_late_column_is_that_of_a_frame(ending, tmp_path):
    path = tmp_path / f"x{ending}"
    write(tmp_path / "x.csv", [""] * 60 + ["ab", "cd", ""] * 20)
    frame = pd.read_csv(tmp_path / "x.csv")
    if ending == ".csv.gz":
        path.write_bytes(gzip.compress((tmp_path / "x.csv").read_bytes()))
    of_file = RandomFeatures(n_features=8, random_state=0).fit(path)
    of_frame = RandomFeatures(n_features=8, random_state=0).fit(frame)
    assert "one feature per category (2), and one if it is missing" in str(of_file.adapter_)
    np.testing.assert_array_equal(of_file.transform(path), of_frame.transform(frame))
    of_file.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(path), of_file.transform(path))


def test_a_column_may_be_empty_in_the_first_file(tmp_path):
    write(tmp_path / "part-1.csv", [""] * 5)
    write(tmp_path / "part-2.csv", ["ab"] * 5)
    table = open_table(tmp_path)
    assert table.arrow_schema.field("x").type == pa.string()
    # As in one file: a text that is empty.
    assert table.read_columns(["x"], 0, 10)["x"].to_pylist() == [""] * 5 + ["ab"] * 5


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"row,x\n" + b"1,2\n" * 30 + b"1,\xff\n")
    with pytest.raises(ValueError, match="column 'x' holds binary values"):
        RandomFeatures().fit(tmp_path / "x.csv")
    write(tmp_path / "x.csv", [*["1"] * 30, "2,3"])
    with pytest.raises(DamagedFileError, match=r"x\.csv cannot .*Row #32: Expected 2 columns, got"):
        open_table(tmp_path / "x.csv")
