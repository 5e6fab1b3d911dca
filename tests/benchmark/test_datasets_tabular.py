"""Income, Theorem and HEPMASS, with small files in the published formats."""

import gzip

import numpy as np
import pytest

from aleator.benchmark import datasets
from tests.benchmark.helpers import expect_size

_ROWS = [
    "39, State-gov, 77516, Bachelors, 13, Never-married, Sales, Husband, White, Male, 2174, 0, 40, "
    "Cuba, <=50K",
    "50, Private, 83311, HS-grad, 9, Divorced, Sales, Wife, Black, Female, 0, 0, 13, Peru, >50K",
    "38, ?, 215646, HS-grad, 9, Divorced, Sales, Wife, White, Male, 0, 0, 40, Cuba, <=50K",
    "28, Private, 33840, Bachelors, 13, Divorced, Sales, Wife, Black, Female, 0, 9, 4, Peru, >50K",
]


class TestIncome:
    def write(self, folder, rows=_ROWS):
        (folder / "adult.data").write_text("\n".join(rows) + "\n\n")
        test = "\n".join(["|1x3 Cross validator", *(f"{row}." for row in rows)]) + "\n"
        (folder / "adult.test.gz").write_bytes(gzip.compress(test.encode()))

    def test_preprocessing(self, tmp_path, monkeypatch):
        expect_size(monkeypatch, "income", 3, 3, 2, (21,))
        self.write(tmp_path)
        split = datasets.load("income", tmp_path)
        assert split.y_train.tolist() == split.y_test.tolist() == [0, 1, 1]
        np.testing.assert_allclose(split.X_train[:, 0].mean(), 0, atol=1e-6)
        np.testing.assert_allclose(split.X_train[:, 0].std(ddof=1), 1, rtol=1e-6)
        assert set(np.unique(split.X_train[:, 6:])) == {0, 1}

    def test_damaged_files_raise(self, tmp_path, monkeypatch):
        expect_size(monkeypatch, "income", 3, 3, 2, (21,))
        self.write(tmp_path, [row.rsplit(",", 1)[0] for row in _ROWS])
        with pytest.raises(ValueError, match=r"adult\.data .* it has 14 columns; 15 are expected"):
            datasets.load("income", tmp_path)
        self.write(tmp_path, [row.replace("50K", "60K") for row in _ROWS])
        with pytest.raises(ValueError, match=r"adult\.data .* the last column contains '<=60K'"):
            datasets.load("income", tmp_path)
        self.write(tmp_path)
        whole = (tmp_path / "adult.test.gz").read_bytes()
        (tmp_path / "adult.test.gz").write_bytes(whole[:-30])
        with pytest.raises(ValueError, match=r"adult\.test\.gz is truncated or damaged"):
            datasets.load("income", tmp_path)
        (tmp_path / "adult.test.gz").rename(tmp_path / "adult.testing.gz")
        with pytest.raises(
            FileNotFoundError, match=r"'adult\.test' or 'adult\.test\.gz' not found"
        ):
            datasets.load("income", tmp_path)


class TestTheorem:
    def test_damaged_files_raise(self, random, tmp_path):
        for columns, message in ((58, "it has 58 columns; 57"), (57, "must be 1 for one class")):
            values = random.normal(size=(9, columns))
            np.savetxt(tmp_path / "train.csv", values, delimiter=",")
            np.savetxt(tmp_path / "test.csv", values, delimiter=",")
            with pytest.raises(ValueError, match=rf"train\.csv .* {message}"):
                datasets.load("theorem", tmp_path)
        text = (tmp_path / "train.csv").read_text()
        (tmp_path / "train.csv").write_text(text[: len(text) // 2])
        with pytest.raises(ValueError, match=r"train\.csv is truncated or damaged"):
            datasets.load("theorem", tmp_path)


class TestHEPMASS:
    @pytest.fixture(autouse=True)
    def counts(self, monkeypatch):
        expect_size(monkeypatch, "hepmass", 40, 20, 2)

    def write(self, folder, random, columns=27, rows=(40, 20)):
        for name, count in zip(("train", "test"), rows, strict=True):
            header = ",".join(["# label", *(f"f{k}" for k in range(columns))])
            values = random.normal(size=(count, columns + 1))
            values[:, 0] = np.arange(count) % 2
            lines = [",".join(f"{v:.18e}" for v in row) for row in values]
            with gzip.open(folder / f"1000_{name}.csv.gz", "wt") as file:
                file.write("\n".join([header, *lines]) + "\n")
        return values

    def test_labels_and_features(self, random, tmp_path):
        last = self.write(tmp_path, random)
        split = datasets.load("hepmass", tmp_path)
        np.testing.assert_allclose(split.X_test, last[:, 1:], rtol=1e-6)
        assert split.y_test.tolist() == [0, 1] * 10

    def test_another_file_of_the_same_name_raises(self, random, tmp_path):
        self.write(tmp_path, random, columns=28)  # as in the files of all masses
        with pytest.raises(ValueError, match=r"1000_train\.csv\.gz .* 29 columns; 28 are expected"):
            datasets.load("hepmass", tmp_path)
        self.write(tmp_path, random, rows=(39, 20))
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("hepmass", tmp_path)

    def test_truncated_files_raise(self, random, tmp_path):
        self.write(tmp_path, random)
        path = tmp_path / "1000_test.csv.gz"
        path.write_bytes(path.read_bytes()[:-500])
        with pytest.raises(ValueError, match=r"1000_test\.csv\.gz is truncated or damaged"):
            datasets.load("hepmass", tmp_path)
