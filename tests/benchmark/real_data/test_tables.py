"""Reading of public tables, on small files of their formats."""

import gzip
import zipfile

import numpy as np
import pytest

from aleator.benchmark.real_data.tables import load_adult, load_mixed
from aleator.exceptions import DamagedFileError


def write_csv(folder, name, lines):
    path = folder / "mixed" / name
    path.parent.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            stem = name.removesuffix(".zip")
            archive.writestr(f"{stem}/metadata.json", "{}")
            archive.writestr(f"{stem}/{stem}.csv", text)
    else:
        path.write_bytes(gzip.compress(text.encode()))


def test_the_word_none_is_a_value_of_birdstrikes(tmp_path):
    lines = ["Effect Amount of damage,Wildlife Size,Cost Other,Cost Repair,Cost Total $"]
    lines += ["None,None,0,0,0", "Minor,,1,2,3"] * 10
    write_csv(tmp_path, "birdstrikes.csv.gz", lines)
    parts = load_mixed(tmp_path, "birdstrikes")
    assert list(parts.X_train.columns) == ["Wildlife Size"]
    assert len(parts.y_train) == 16
    assert parts.y_test.tolist().count(1) == 2
    assert parts.X_train["Wildlife Size"].isna().tolist() == (parts.y_train == 1).tolist()
    assert set(parts.X_train["Wildlife Size"].dropna()) == {"None"}


def test_numbers_are_predicted_on_the_scale_that_is_named(tmp_path):
    header = "Rank,Name,NA_Sales,EU_Sales,JP_Sales,Other_Sales,Global_Sales"
    lines = [header, *(f"{i},game {i},1,1,1,1,{i}" for i in range(20))]
    write_csv(tmp_path, "videogame_sales.zip", lines)
    parts = load_mixed(tmp_path, "videogame-sales")
    assert parts.is_regression
    assert list(parts.X_train.columns) == ["Name"]
    numbers = parts.X_train["Name"].str.removeprefix("game ").astype(float)
    np.testing.assert_allclose(parts.y_train, np.log1p(numbers))


def test_a_missing_column_is_named(tmp_path):
    write_csv(tmp_path, "titanic.csv.gz", ["Survived,Age", *["0,1", "1,2"] * 5])
    with pytest.raises(DamagedFileError, match=r"titanic.csv.gz .* no column 'PassengerId'"):
        load_mixed(tmp_path, "titanic")


def test_adult_is_read_as_it_is(tmp_path):
    row = "39, ?, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 1, 0, 40, ?, "
    content = {"adult.data.gz": row + "<=50K\n", "adult.test.gz": "|1x3 Test\n" + row + ">50K.\n"}
    for name, text in content.items():
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    parts = load_adult(tmp_path)
    assert parts.X_train.loc[0, "workclass"] == "?"
    assert (parts.y_train.tolist(), parts.y_test.tolist()) == (["<=50K"], [">50K"])
