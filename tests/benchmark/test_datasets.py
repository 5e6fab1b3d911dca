"""Readers on small files of exactly the published formats, made here."""

import gzip
import io
import os
import pickle
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from aleator.benchmark import datasets
from aleator.benchmark.datasets import SOURCES, Split


@pytest.fixture
def expect(monkeypatch):
    """Let a small data set pass for a whole one."""

    def set_counts(name, train, test, classes, shape=None):
        source = SOURCES[name]
        small = replace(
            source, train=train, test=test, classes=classes, shape=shape or source.shape
        )
        monkeypatch.setitem(SOURCES, name, small)

    return set_counts


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_missing_data_set_names_source_files_and_terms(name, tmp_path):
    source = SOURCES[name]
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name, tmp_path)
    message = str(caught.value)
    assert source.title in message
    assert source.address in message
    assert source.terms in message
    assert repr(source.files[0][0]) in message


@pytest.mark.parametrize("name", ["har", "epilepsy", "income", "theorem"])
def test_a_checksum_names_the_values(name, data_folder):
    split = datasets.load(name, data_folder)
    assert split.sha256 == datasets.load(name, data_folder).sha256
    changed = split.y_test.copy()
    changed[0] += 1
    assert Split(split.X_train, split.y_train, split.X_test, changed).sha256 != split.sha256


def test_kvasir_version_1(data_folder):
    split = datasets.load("kvasir-v1", data_folder)
    assert split.X_train.shape == (3000, 3, 80, 100)
    assert split.X_test.shape == (1000, 3, 80, 100)
    assert split.X_train.dtype == np.float32
    assert np.bincount(split.y_test).min() > 50


class TestHAR:
    @pytest.fixture
    def files(self, random):
        """As the publisher has them: one text file a signal, numbers in columns of 16."""
        made = {}
        for part, rows in (("train", 12), ("test", 6)):
            for kind in ("body_acc", "body_gyro", "total_acc"):
                for axis in "xyz":
                    values = random.normal(size=(rows, 128))
                    text = "\n".join("".join(f"{v:16.7e}" for v in row) for row in values)
                    made[f"{part}/Inertial Signals/{kind}_{axis}_{part}.txt"] = text + "\n"
            made[f"{part}/y_{part}.txt"] = "".join(f"{1 + i % 6}\n" for i in range(rows))
        return made

    def in_folder(self, files, folder):
        for name, text in files.items():
            path = folder / "UCI HAR Dataset" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def test_folder_and_zip(self, files, tmp_path, expect):
        expect("har", 12, 6, 6)
        self.in_folder(files, tmp_path / "a")
        (tmp_path / "b").mkdir()
        with zipfile.ZipFile(tmp_path / "b" / "UCI HAR Dataset.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"UCI HAR Dataset/{name}", text)
        split = datasets.load("har", tmp_path / "a")
        assert split.sha256 == datasets.load("har", tmp_path / "b").sha256
        gyro_y = np.loadtxt(io.StringIO(files["test/Inertial Signals/body_gyro_y_test.txt"]))
        np.testing.assert_allclose(split.X_test[:, 4], gyro_y, rtol=1e-6)
        assert split.y_train.tolist() == [1 + i % 6 for i in range(12)]

    def test_an_incomplete_one_is_refused(self, files, tmp_path, expect):
        expect("har", 12, 6, 6)
        del files["test/Inertial Signals/total_acc_z_test.txt"]
        self.in_folder(files, tmp_path)
        with pytest.raises(FileNotFoundError, match="lacks test/Inertial Signals/total_acc_z_test"):
            datasets.load("har", tmp_path)

    def test_a_truncated_one_is_refused(self, files, tmp_path, expect):
        expect("har", 12, 6, 6)
        files["train/y_train.txt"] = "1\n2\n3\n4\n5\n6\n"
        self.in_folder(files, tmp_path)
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("har", tmp_path)


class TestHEPMASS:
    def write(self, folder, random, columns=27, rows=(40, 20)):
        for name, count in zip(("train", "test"), rows, strict=True):
            header = ",".join(["# label", *(f"f{k}" for k in range(columns)), "mass"])
            values = random.normal(size=(count, columns + 2))
            values[:, 0] = np.arange(count) % 2
            lines = [",".join(f"{v:.18e}" for v in row) for row in values]
            with gzip.open(folder / f"all_{name}.csv.gz", "wt") as file:
                file.write("\n".join([header, *lines]) + "\n")
        return values

    def test_label_features_and_no_mass(self, random, tmp_path, expect):
        expect("hepmass", 40, 20, 2)
        last = self.write(tmp_path, random)
        split = datasets.load("hepmass", tmp_path)
        np.testing.assert_allclose(split.X_test, last[:, 1:28], rtol=1e-6)
        assert split.y_test.tolist() == [0, 1] * 10

    def test_another_file_of_that_name_is_refused(self, random, tmp_path, expect):
        expect("hepmass", 40, 20, 2)
        self.write(tmp_path, random, columns=20)
        with pytest.raises(ValueError, match="has 22 columns; HEPMASS has 29"):
            datasets.load("hepmass", tmp_path)
        self.write(tmp_path, random, rows=(39, 20))
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("hepmass", tmp_path)


class TestCIFAR10:
    @pytest.fixture
    def batches(self, random):
        names = [f"data_batch_{k}" for k in range(1, 6)] + ["test_batch"]
        return {
            name: (
                random.integers(256, size=(10, 3072), dtype=np.uint8),
                random.permutation(10).tolist(),
            )
            for name in names
        }

    def test_all_four_forms_agree(self, batches, tmp_path, expect):
        expect("cifar10", 50, 10, 10)
        python = {
            name: pickle.dumps({b"data": data, b"labels": labels}, protocol=2)
            for name, (data, labels) in batches.items()
        }
        binary = {
            f"{name}.bin": np.column_stack([np.array(labels, np.uint8), data]).tobytes()
            for name, (data, labels) in batches.items()
        }
        sums = set()
        for at, (stem, files) in enumerate((("batches-py", python), ("batches-bin", binary))):
            unpacked = tmp_path / f"{at}" / f"cifar-10-{stem}"
            unpacked.mkdir(parents=True)
            for name, content in files.items():
                (unpacked / name).write_bytes(content)
            packed = tmp_path / f"{at} packed"
            packed.mkdir()
            name = "cifar-10-python.tar.gz" if at == 0 else "cifar-10-binary.tar.gz"
            with tarfile.open(packed / name, "w:gz") as archive:
                archive.add(unpacked, f"cifar-10-{stem}")
            sums |= {
                datasets.load("cifar10", folder).sha256 for folder in (unpacked.parent, packed)
            }
        assert len(sums) == 1
        split = datasets.load("cifar10", packed)
        data, labels = batches["test_batch"]
        np.testing.assert_allclose(split.X_test[3, 2, 1, 7] * 255, data[3, 2048 + 39])
        assert split.y_test.tolist() == labels

    def test_a_pickle_that_would_run_something_is_refused(self, batches, tmp_path, expect):
        expect("cifar10", 50, 10, 10)

        class Trap:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "sprung"),)

        folder = tmp_path / "cifar-10-batches-py"
        folder.mkdir()
        for name in batches:
            (folder / name).write_bytes(pickle.dumps({b"data": Trap()}, protocol=2))
        with pytest.raises(ValueError, match=r"altered: it asks for \w+\.mkdir"):
            datasets.load("cifar10", tmp_path)
        assert not (tmp_path / "sprung").exists()

    def test_what_is_cut_short_is_refused(self, batches, tmp_path, expect):
        expect("cifar10", 50, 10, 10)
        folder = tmp_path / "cifar-10-batches-bin"
        folder.mkdir()
        for name, (data, _) in batches.items():
            (folder / f"{name}.bin").write_bytes(data.tobytes()[:-1])
        with pytest.raises(ValueError, match="cut short"):
            datasets.load("cifar10", tmp_path)
        (folder / "test_batch.bin").unlink()
        with pytest.raises(FileNotFoundError, match="is it complete"):
            datasets.load("cifar10", tmp_path)
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "cifar-10-python.tar.gz").write_bytes(b"not an archive")
        with pytest.raises(ValueError, match="no archive"):
            datasets.load("cifar10", tmp_path / "other")


class TestKvasirVersion2:
    def test_folder_and_zip(self, random, tmp_path, expect):
        from PIL import Image

        expect("kvasir", 12, 4, 2)
        folder = tmp_path / "a" / "kvasir-dataset-v2"
        (tmp_path / "b").mkdir()
        with zipfile.ZipFile(tmp_path / "b" / "kvasir-dataset-v2.zip", "w") as archive:
            for name in ("polyps", "normal-cecum"):
                (folder / name).mkdir(parents=True)
                for k in range(8):
                    pixels = random.integers(256, size=(90, 120, 3), dtype=np.uint8)
                    path = folder / name / f"{k}.jpg"
                    Image.fromarray(pixels).save(path)
                    archive.write(path, f"kvasir-dataset-v2/{name}/{k}.jpg")
        split = datasets.load("kvasir", tmp_path / "a")
        assert split.X_train.shape == (12, 3, 80, 100)
        assert 0 <= split.X_train.min() < split.X_train.max() <= 1
        assert np.bincount(split.y_test).tolist() == [2, 2]
        assert split.sha256 == datasets.load("kvasir", tmp_path / "b").sha256

    def test_an_empty_one_is_refused(self, tmp_path):
        (tmp_path / "kvasir-dataset-v2").mkdir()
        with pytest.raises(ValueError, match=r"no \.jpg file"):
            datasets.load("kvasir", tmp_path)
