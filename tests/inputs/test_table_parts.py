"""Files of a folder whose columns have other types: no value changes, or an error says why."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from aleator import RandomEncoder, RandomFeatures, open_table

DAY, NOON = datetime.date(2024, 2, 1), datetime.datetime(2024, 2, 1, 12)
LARGE = 2**30 + np.arange(60)

# Types and values of two files, and the type that holds both.
UNIFIED = {
    "widths": (pa.int16(), [0, None], pa.int64(), LARGE, pa.int64()),
    "signs": (pa.uint32(), [2**32 - 1], pa.int8(), [-1], pa.int64()),
    "long": (pa.uint64(), [2**53], pa.int64(), [-(2**53)], pa.float64()),
    "fractions": (pa.int32(), [2**31 - 1], pa.float32(), [0.5], pa.float64()),
    "none": (pa.null(), [None], pa.float64(), [0.1], pa.float64()),
    "none and text": (pa.null(), [None], pa.string(), ["ab"], pa.string()),
    "text": (pa.string(), ["a"], pa.large_string(), ["b"], pa.large_string()),
    "views": (pa.string(), ["a"], pa.string_view(), ["b"], pa.large_string()),
    "categories": (
        *(pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
        *(pa.dictionary(pa.int32(), pa.string()), ["c", "b"]),
        pa.dictionary(pa.int32(), pa.string()),
    ),
    "none and categories": (
        *(pa.null(), [None], pa.dictionary(pa.int8(), pa.string()), ["c", "b"]),
        pa.dictionary(pa.int8(), pa.string()),
    ),
    "category and text": (
        *(pa.dictionary(pa.int8(), pa.string()), ["a"], pa.string(), ["b"]),
        pa.string(),
    ),
    "days": (pa.date32(), [DAY], pa.timestamp("ms"), [NOON], pa.timestamp("ms")),
    "times": (pa.timestamp("s"), [NOON], pa.timestamp("ns"), [NOON], pa.timestamp("ns")),
    "decimals": (
        *(pa.decimal128(5, 2), [decimal.Decimal("1.25")], pa.int64(), [2**62]),
        pa.decimal128(22, 2),
    ),
}


def write(folder, *tables, ending="parquet"):
    folder.mkdir()
    for number, table in enumerate(tables):
        path = folder / f"{number}.{ending}"
        if ending == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
    return folder


def values(table, name="a"):
    return table.read_columns([name], 0, len(table))[name]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", UNIFIED)
def test_a_column_has_the_type_that_holds_all_values(case, backwards, ending, tmp_path):
    first, ones, second, others, unified = UNIFIED[case]
    parts = [pa.table({"a": pa.array(ones, first)}), pa.table({"a": pa.array(others, second)})]
    parts = parts[::-1] if backwards else parts
    folder = write(tmp_path / "x", *parts, ending=ending)
    expected = [value for part in parts for value in part["a"].to_pylist()]
    table = open_table(folder)
    assert table.arrow_schema.field("a").type == unified
    found = values(table)
    assert found.type == unified
    if case == "days":
        midnight = datetime.datetime(2024, 2, 1)
        expected = [midnight if value == DAY else value for value in expected]
    assert found.to_pylist() == expected
    rows = table.frame_at(np.arange(len(table)))
    assert rows.native["a"].to_pylist() == expected
    if table.holds_only_numbers:
        numbers = [np.nan if value is None else float(value) for value in expected]
        np.testing.assert_array_equal(table.gather(np.arange(len(table)))[:, 0], numbers)


def test_a_folder_whose_parts_are_divided_keeps_its_values(tmp_path):
    first = pa.table({"a": pa.array([0] * 60, pa.int16())})
    folder = write(tmp_path / "x", first, pa.table({"a": LARGE}))
    table = open_table(folder, buffer_size=100)
    assert len(table.starts) > 20
    assert table.gather(np.arange(60, 120))[:, 0].tolist() == LARGE.tolist()
    assert values(table).to_pylist() == [0] * 60 + LARGE.tolist()


def test_whole_numbers_that_fractions_do_not_hold_are_rounded_as_features_only(tmp_path):
    parts = [pa.table({"a": [2**53 + 1]}), pa.table({"a": [0.5]})]
    table = open_table(write(tmp_path / "x", *parts))
    assert table.gather(np.arange(2))[:, 0].tolist() == [2.0**53, 0.5]
    assert table.frame_at(np.arange(2)).numbers(0).tolist() == [2.0**53, 0.5]
    message = r"0\.parquet cannot be read: column 'a' is int64 in this file and cannot become doub"
    with pytest.raises(ValueError, match=message):
        values(table)


@pytest.mark.parametrize(
    ("first", "second"),
    [([1, 2], ["007", "8"]), (["a", "b"], [1, 2]), ([True, False], [0, 1]), ([DAY], [1])],
)
def test_types_that_do_not_agree_are_an_error_if_the_column_is_used(first, second, tmp_path):
    first, second = pa.array(first), pa.array(second)
    parts = [pa.table({"a": part, "b": np.arange(len(part))}) for part in (first, second)]
    folder = write(tmp_path / "x", parts[0].slice(0, 1), *parts)
    message = rf"column 'a' is {first.type} in 0\.parquet, but {second.type} in 2\.parquet: write"
    message = message.replace("[", r"\[").replace("]", r"\]")
    for use in (open_table, RandomFeatures().fit):
        with pytest.raises(ValueError, match=message):
            use(folder)
    table = open_table(folder, exclude=["a"])
    assert table.gather(np.arange(2))[:, 0].tolist() == [0, 0]
    for use in (
        lambda: table.select(["a"]),
        lambda: values(table),
        lambda: (
            RandomEncoder(embedding_dim=2)
            .fit(table)
            .transform_to(table, tmp_path / "out", keep=["a"])
        ),
    ):
        with pytest.raises(ValueError, match=message):
            use()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("first", "second", "unified"),
    [(pa.int8(), pa.int64(), pa.int64()), (pa.null(), pa.float64(), pa.float64())],
)
def test_identifiers_are_copied_in_one_type(first, second, unified, tmp_path, random):
    ids = [pa.nulls(5) if first == pa.null() else pa.array(range(5), first), pa.array([7] * 5)]
    ids[1] = ids[1].cast(second)
    parts = [pa.table({"id": each, "b": random.normal(size=5)}) for each in ids]
    folder = write(tmp_path / "x", *parts)
    table = open_table(folder, exclude=["id"])
    model = RandomEncoder(embedding_dim=2, random_state=0).fit(table)
    model.transform_to(folder, tmp_path / "out", keep=["id"], rows_per_part=7)
    found = pq.read_table(tmp_path / "out")["id"]
    assert found.type == unified
    assert found.to_pylist() == [*ids[0].to_pylist(), *ids[1].to_pylist()]


def test_the_schema_of_a_dataset_counts(tmp_path):
    folder = write(tmp_path / "x", pa.table({"zip": [7], "a": [1]}))
    schema = pa.schema({"zip": pa.string(), "a": pa.float64()})
    table = open_table(pyarrow.dataset.dataset(folder, schema=schema))
    assert table.frame_at(np.arange(1)).texts(0) == values(table, "zip").to_pylist() == ["7"]
    pq.write_table(pa.table({"zip": [8], "a": [2**30]}), folder / "1.parquet")
    narrow = pyarrow.dataset.dataset(folder, schema=pa.schema({"a": pa.int16()}))
    message = r"1\.parquet cannot be read: column 'a' is int64 in this file and cannot become int16"
    with pytest.raises(ValueError, match=message):
        open_table(narrow).gather(np.arange(2))
