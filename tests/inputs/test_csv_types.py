"""Columns of CSV files whose first block does not show their type."""

import gzip
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

from aleator import RandomFeatures, load, open_table
from aleator.exceptions import DamagedFileError
from aleator.inputs import arrow_pieces

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
    monkeypatch.setattr(arrow_pieces, "_CSV_BLOCK_BYTES", 64)


def write(path, values):
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
    assert table.read_columns(["x"], 0, 10)["x"].to_pylist() == [None] * 5 + ["ab"] * 5


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"row,x\n" + b"1,2\n" * 30 + b"1,\xff\n")
    with pytest.raises(ValueError, match="column 'x' holds binary values"):
        RandomFeatures().fit(tmp_path / "x.csv")
    write(tmp_path / "x.csv", [*["1"] * 30, "2,3"])
    with pytest.raises(DamagedFileError, match=r"x\.csv cannot .*Row #32: Expected 2 columns, got"):
        open_table(tmp_path / "x.csv")
