"""Frames of all libraries hold the same values."""

import datetime
import decimal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aleator
from aleator.inputs.frames import Kind, as_frame, is_frame
from tests.frames import LIBRARIES, people

KINDS = {
    "pay": Kind.NUMBER, "age": Kind.NUMBER, "visits": Kind.NUMBER, "member": Kind.BOOLEAN,
    "city": Kind.TEXT, "level": Kind.CATEGORY, "note": Kind.TEXT, "born": Kind.DATE,
    "seen": Kind.DATE, "alarm": Kind.TIME, "lasted": Kind.DURATION, "hired": Kind.TEXT,
    "code": Kind.TEXT, "none": Kind.NUMBER, "same": Kind.TEXT,
}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
def test_kinds_values_and_gaps(library):
    columns = people()
    X = LIBRARIES[library](columns)
    assert is_frame(X)
    frame = as_frame(X)
    assert frame.names == list(columns)
    assert len(frame) == 80
    for position, (name, (_, values)) in enumerate(columns.items()):
        kind = frame.kind(position)
        assert kind is KINDS[name], name
        assert frame.has_gaps(position) == (None in values)
        missing = [value is None for value in values]
        if kind in (Kind.NUMBER, Kind.BOOLEAN):
            expected = np.array([np.nan if value is None else float(value) for value in values])
            np.testing.assert_array_equal(frame.numbers(position), expected)
        elif kind is Kind.DURATION:
            expected = [np.nan if v is None else v / datetime.timedelta(1) for v in values]
            np.testing.assert_array_equal(frame.numbers(position), expected)
        elif kind is Kind.TIME:
            assert np.isnan(frame.numbers(position)).tolist() == missing
            seconds = frame.numbers(position) * 86400
            for value, second in zip(values, seconds, strict=True):
                if value is not None:
                    assert (value.hour * 60 + value.minute) * 60 + value.second == round(second)
        elif kind is Kind.DATE:
            expected = [np.datetime64("NaT") if v is None else np.datetime64(v) for v in values]
            np.testing.assert_array_equal(
                frame.instants(position), np.array(expected, "datetime64[us]")
            )
        else:
            assert frame.texts(position) == values


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_and_columns_are_selected(library):
    frame = as_frame(LIBRARIES[library](people()))
    index = np.array([79, 0, 0, 5])
    part = frame.rows(index).select([5, 1])
    assert part.names == ["level", "age"]
    assert part.texts(0) == [frame.texts(5)[row] for row in index]
    np.testing.assert_array_equal(part.numbers(1), frame.numbers(1)[index])
    assert frame.rows(slice(70, 99)).texts(4) == frame.texts(4)[70:]
    assert len(frame.rows(slice(3, 3))) == 0
    assert part.nbytes < frame.nbytes
    assert type(part.native) is type(frame.native)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_are_compared_by_all_values(library):
    """Two frames have the same bytes if, and only if, every value is the same."""
    columns = people()
    frame = as_frame(LIBRARIES[library](columns))
    assert frame.row_bytes() == as_frame(LIBRARIES[library](columns)).row_bytes()
    index = np.array([7, 3, 3, 60])
    assert len({frame.rows(index[[i]]).row_bytes() for i in range(4)}) == 3
    for position in range(len(columns)):
        column = frame.select([position])
        values = column.objects(0)
        found = [column.rows(np.array([row])).row_bytes() for row in range(80)]
        for row in range(1, 80):
            same = values[row] == values[0]
            assert (found[row] == found[0]) == same, (column.names, row)


def test_rows_of_a_table_in_chunks():
    table = pa.table({"a": np.arange(100), "b": [str(i) for i in range(100)]})
    frame = as_frame(pa.concat_tables([table.slice(i, 7) for i in range(0, 100, 7)]))
    for index in ([], [99], [50, 3, 99, 3], range(20, 40)):
        rows = np.array(index, np.int64)
        assert frame.rows(rows).objects(0) == rows.tolist()
        assert frame.rows(rows).texts(1) == [str(row) for row in rows]


def test_lazy_frames_are_collected():
    frame = pl.DataFrame({"a": np.arange(30.0), "city": ["Rome", "Bonn", None] * 10})
    model = aleator.RandomFeatures(n_features=8, random_state=0).fit(frame.lazy())
    lazy = model.transform(frame.lazy().select("city", "a"))
    np.testing.assert_array_equal(lazy, model.transform(frame))


def test_large_whole_numbers_and_decimals_are_rounded_alike():
    whole = [2**60 + 12345, None, 3]
    exact = [decimal.Decimal("123456789.123"), None, decimal.Decimal("0.100")]
    frames = [
        as_frame(
            pd.DataFrame({"w": pd.array(whole, "Int64"), "d": pd.Series(exact, dtype=object)})
        ),
        as_frame(pl.DataFrame({"w": whole, "d": pl.Series(exact, dtype=pl.Decimal(20, 3))})),
        as_frame(pa.table({"w": pa.array(whole), "d": pa.array(exact, pa.decimal128(20, 3))})),
    ]
    for frame in frames:
        np.testing.assert_array_equal(frame.numbers(0), [float(2**60 + 12345), np.nan, 3.0])
        np.testing.assert_array_equal(frame.numbers(1), [123456789.123, np.nan, 0.1])
        assert frame.kind(1) is Kind.NUMBER


def test_instants_with_a_time_zone_are_in_utc_and_end_at_microseconds():
    stamps = ["2024-07-01 12:00:00.123456789", None, "1960-01-01 00:00:00.000000001"]
    local = pd.to_datetime(pd.Series(stamps)).dt.tz_localize("Europe/Rome")
    table = pa.table({"t": pa.array(local)})
    frames = [as_frame(pd.DataFrame({"t": local})), as_frame(table), as_frame(pl.from_arrow(table))]
    expected = ["2024-07-01T10:00:00.123456", "NaT", "1959-12-31T23:00:00.000000"]
    for frame in frames:
        assert frame.instants(0).astype(str).tolist()[:2] == [*expected[:1], "NaT"]
        assert frame.instants(0).astype(str).tolist() == expected
    mixed = pd.Series([datetime.date(2024, 7, 1), None], dtype=object)
    assert as_frame(pd.DataFrame({"t": mixed})).kind(0) is Kind.DATE
    aware = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    objects = as_frame(pd.DataFrame({"t": pd.Series([aware, None], dtype=object)}))
    assert objects.instants(0).astype(str).tolist() == ["2024-07-01T10:00:00.000000", "NaT"]


def test_text_of_other_values():
    objects = pd.DataFrame({"a": pd.Series([1, 2.0, "x ", None, True], dtype=object)})
    assert as_frame(objects).texts(0) == ["1", "2", "x", None, "True"]
    numbers = pd.DataFrame({"a": pd.Series([1.0, 2.5, np.nan]).astype("category")})
    assert as_frame(numbers).texts(0) == ["1", "2.5", None]
    assert as_frame(pl.DataFrame({"a": [1.0, 2.5, float("nan")]})).texts(0) == ["1", "2.5", None]
    assert as_frame(pa.table({"a": [1.0, 2.5, None]})).texts(0) == ["1", "2.5", None]
    assert as_frame(np.array([[1.0], [np.nan]])).texts(0) == ["1", None]


def test_types_of_pandas():
    frame = as_frame(
        pd.DataFrame(
            {
                "float32": np.array([1, 2], np.float32),
                "nullable": pd.array([1.5, None], "Float64"),
                "flag": pd.array([True, None], "boolean"),
                "string": pd.array(["a", None], "string"),
                "arrow": pd.array([1, None], dtype=pd.ArrowDtype(pa.int64())),
                "arrow text": pd.array(["a", None], dtype=pd.ArrowDtype(pa.string())),
                "period": pd.period_range("2024-01", periods=2, freq="M"),
                "sparse": pd.arrays.SparseArray([0.0, 1.0]),
                "nothing": [None, None],
            }
        )
    )
    kinds = [frame.kind(column).value for column in range(9)]
    expected = "number number boolean text number text date number empty"
    assert kinds == expected.split()
    assert frame.numbers(4).tolist()[0] == 1
    assert np.isnan(frame.numbers(4)[1])
    assert frame.numbers(2).tolist()[0] == 1
    assert frame.texts(5) == ["a", None]
    assert frame.instants(6).astype("datetime64[D]").astype(str).tolist() == [
        "2024-01-01", "2024-02-01",
    ]  # fmt: skip


def test_libraries_are_not_imported_before_they_are_needed():
    program = """
import sys
import numpy as np
import aleator
model = aleator.RandomFeatures(n_features=8, random_state=0).fit(np.eye(4) + [np.nan, 0, 0, 1])
model.transform(np.eye(4))
print(sorted({"polars", "skrub"} & set(sys.modules)))  # scikit-learn imports pandas
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_views_of_text_are_text(tmp_path):
    """Tables of other programs have them; pyarrow cannot choose rows of them."""
    texts = [*(f"city {i % 5}" for i in range(49)), None]
    kinds = (pa.string(), pa.string_view())
    tables = [pa.table({"x": np.arange(50.0), "city": pa.array(texts, kind)}) for kind in kinds]
    pq.write_table(tables[1], tmp_path / "view.parquet")
    expected, *found = (
        aleator.RandomFeatures(n_features=8, random_state=0).fit_transform(X)
        for X in (*tables, str(tmp_path / "view.parquet"))
    )
    for embedding in found:
        np.testing.assert_array_equal(embedding, expected)
