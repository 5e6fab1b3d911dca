"""HAR, Epilepsy and Fault Diagnosis, with small files in the published formats."""

import gzip
import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch

from aleator.benchmark import datasets
from tests.benchmark.helpers import expect_size


class TestHAR:
    @pytest.fixture(autouse=True)
    def counts(self, monkeypatch):
        expect_size(monkeypatch, "har", 12, 6, 6)

    @pytest.fixture
    def files(self, random):
        """Files as published: one text file per signal, numbers in columns of 16 characters."""
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

    def in_zip(self, files, folder):
        folder.mkdir(exist_ok=True)
        with zipfile.ZipFile(folder / "UCI HAR Dataset.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"UCI HAR Dataset/{name}", text)

    def test_folder_and_zip_agree(self, files, tmp_path):
        self.in_folder(files, tmp_path / "a")
        self.in_zip(files, tmp_path / "b")
        split = datasets.load("har", tmp_path / "a")
        assert split.sha256 == datasets.load("har", tmp_path / "b").sha256
        gyro_y = np.loadtxt(io.StringIO(files["test/Inertial Signals/body_gyro_y_test.txt"]))
        np.testing.assert_allclose(split.X_test[:, 4], gyro_y, rtol=1e-6)
        assert split.y_train.tolist() == [1 + i % 6 for i in range(12)]

    def test_missing_file_raises(self, files, tmp_path):
        del files["test/Inertial Signals/total_acc_z_test.txt"]
        self.in_folder(files, tmp_path)
        with pytest.raises(FileNotFoundError, match="Inertial Signals/total_acc_z_test"):
            datasets.load("har", tmp_path)

    def test_truncated_files_raise(self, files, tmp_path):
        self.in_zip(files, tmp_path)
        whole = (tmp_path / "UCI HAR Dataset.zip").read_bytes()
        (tmp_path / "UCI HAR Dataset.zip").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=r"UCI HAR Dataset\.zip is truncated or damaged"):
            datasets.load("har", tmp_path)
        files["train/y_train.txt"] = "1\n2\n3\n4\n5\n6\n"
        self.in_folder(files, tmp_path)
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("har", tmp_path)

    def test_text_instead_of_numbers_raises(self, files, tmp_path):
        files["train/Inertial Signals/body_acc_x_train.txt"] = "one two three\n"
        self.in_folder(files, tmp_path)
        with pytest.raises(ValueError, match=r"body_acc_x_train\.txt is truncated or damaged"):
            datasets.load("har", tmp_path)

    def test_damaged_packed_copy_raises(self, tmp_path, random):
        packed = io.BytesIO()
        np.savez(packed, X_train=random.normal(size=(12, 9, 128)), y_train=np.arange(12))
        path = tmp_path / "uci_har_inertial.npz"
        path.write_bytes(packed.getvalue())
        with pytest.raises(ValueError, match=r"inertial\.npz is truncated or damaged: 'X_test"):
            datasets.load("har", tmp_path)
        path.write_bytes(packed.getvalue()[:5000])
        with pytest.raises(ValueError, match=r"inertial\.npz is truncated or damaged"):
            datasets.load("har", tmp_path)


class TestEpilepsy:
    @pytest.fixture
    def text(self, random):
        lines = [",".join(["Unnamed", *(f"X{k}" for k in range(1, 179)), "y"])]
        for row in range(20):
            values = random.integers(-900, 900, size=178)
            lines.append(",".join([f"X21.V1.{row}", *map(str, values), str(1 + row % 5)]))
        return "\n".join(lines) + "\n"

    def test_values_are_scaled_and_labels_are_binary(self, text, tmp_path, monkeypatch):
        expect_size(monkeypatch, "epilepsy", 16, 4, 2)
        (tmp_path / "Epileptic Seizure Recognition.csv").write_text(text)
        split = datasets.load("epilepsy", tmp_path)
        both = np.concatenate([split.X_train, split.X_test])[:, 0]
        assert both.min(0).tolist() == [0] * 178
        assert both.max(0).tolist() == [1] * 178
        assert split.y_train.sum() + split.y_test.sum() == 4

    def test_damaged_files_raise(self, text, tmp_path, monkeypatch):
        expect_size(monkeypatch, "epilepsy", 16, 4, 2)
        path = tmp_path / "epileptic_seizure_data.csv.gz"
        path.write_bytes(gzip.compress(text.encode())[:-900])
        with pytest.raises(ValueError, match=r"seizure_data\.csv\.gz is truncated or damaged"):
            datasets.load("epilepsy", tmp_path)
        path.write_bytes(gzip.compress(text.replace("Unnamed,", "", 1).encode()))
        with pytest.raises(ValueError, match="it has 179 columns"):
            datasets.load("epilepsy", tmp_path)
        path.write_bytes(gzip.compress("\n".join(text.split("\n")[:18]).encode()))
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("epilepsy", tmp_path)


class TestFault:
    @pytest.fixture(autouse=True)
    def counts(self, monkeypatch):
        expect_size(monkeypatch, "fault-b", 6, 3, 3, (1, 40))

    def write(self, folder, letter, random, change=lambda part: part):
        folder.mkdir(exist_ok=True)
        for name, rows in (("train", 6), ("val", 3), ("test", 3)):
            part = {
                "samples": torch.from_numpy(random.normal(size=(rows, 40))),
                "labels": torch.arange(rows) % 3,
            }
            torch.save(change(part), folder / f"{name}_{letter}.pt")
        return part

    def test_one_domain(self, random, tmp_path):
        self.write(tmp_path, "a", random)
        last = self.write(tmp_path, "b", random)
        split = datasets.load("fault-b", tmp_path)
        np.testing.assert_allclose(split.X_test[:, 0], last["samples"].numpy(), rtol=1e-6)
        assert split.X_train.dtype == np.float32
        assert split.y_train.tolist() == [0, 1, 2, 0, 1, 2]

    @pytest.mark.parametrize("shape", [(-1, 1, 40), (-1, 40, 1)])
    def test_channel_axis_first_or_last(self, shape, random, tmp_path):
        def reshape(part):
            return part | {"samples": part["samples"].reshape(shape)}

        self.write(tmp_path / "FD", "b", random, reshape)
        assert datasets.load("fault-b", tmp_path).X_train.shape == (6, 1, 40)

    def test_damaged_files_raise(self, random, tmp_path):
        self.write(tmp_path, "b", random)
        path = tmp_path / "test_b.pt"
        path.write_bytes(path.read_bytes()[:-700])
        with pytest.raises(ValueError, match=r"test_b\.pt is truncated or damaged"):
            datasets.load("fault-b", tmp_path)
        path.unlink()
        with pytest.raises(FileNotFoundError, match=r"'FD/test_b\.pt' or 'test_b\.pt' not found"):
            datasets.load("fault-b", tmp_path)

    def test_other_files_of_the_same_name_raise(self, random, tmp_path):
        self.write(tmp_path, "b", random, lambda part: part["samples"])
        with pytest.raises(ValueError, match=r"train_b\.pt .* a dictionary with 'samples'"):
            datasets.load("fault-b", tmp_path)
        self.write(tmp_path, "b", random, lambda part: {k: v[:2] for k, v in part.items()})
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("fault-b", tmp_path)

    def test_pickled_code_is_not_run(self, tmp_path):
        class Trap:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "sprung"),)

        for part in ("train", "test"):
            torch.save({"samples": Trap()}, tmp_path / f"{part}_b.pt", pickle_module=pickle)
        with pytest.raises(ValueError, match=r"train_b\.pt is truncated or damaged"):
            datasets.load("fault-b", tmp_path)
        assert not (tmp_path / "sprung").exists()


class TestBearings:
    CLASSES = ("Normal", "B007", "B014", "B021", "IR007", "IR014", "IR021",
               "OR007@6", "OR014@6", "OR021@6")  # fmt: skip

    @pytest.fixture
    def packed(self, tmp_path):
        """Four windows per recording, whose values are its number and the window's."""
        recordings = [(bearing, load) for load in range(4) for bearing in range(10)]
        rows = [(bearing, load, window) for bearing, load in recordings for window in range(4)]
        bearing, load, window = np.array(rows).T
        x = np.stack([10 * load + bearing, window], 1).astype(np.float16)
        arrays = {"x": x, "y": bearing.astype(np.int8), "load": load.astype(np.int8)}
        path = tmp_path / "cwru12k_de_4loads_w2048_f16.npz"
        np.savez(path, **arrays, classes=np.array(self.CLASSES))
        return path

    def test_domain_of_a_load(self, packed, monkeypatch):
        expect_size(monkeypatch, "cwru-load-2", 30, 10, 10, (1, 2))
        split = datasets.load("cwru-load-2", packed.parent)
        assert split.X_train.dtype == np.float32
        # The last quarter of every recording is for testing.
        assert split.X_train[:, 0, 1].tolist() == [0, 1, 2] * 10
        assert split.X_test[:, 0].tolist() == [[20 + bearing, 3] for bearing in range(10)]
        assert split.y_test.tolist() == list(range(10))

    def test_domain_of_a_size_has_the_faulty_part_as_class(self, packed, monkeypatch):
        expect_size(monkeypatch, "cwru-size-14", 36, 12, 3, (1, 2))
        split = datasets.load("cwru-size-14", packed.parent)
        expected = [(10 * load + bearing, part) for load in range(4)
                    for bearing, part in ((2, 0), (5, 1), (8, 2))]  # fmt: skip
        found = zip(split.X_test[:, 0, 0].tolist(), split.y_test.tolist(), strict=True)
        assert list(found) == expected

    def test_damaged_files_raise(self, packed):
        packed.write_bytes(packed.read_bytes()[:-100])
        with pytest.raises(ValueError, match=r"w2048_f16\.npz is truncated or damaged"):
            datasets.load("cwru-load-0", packed.parent)

    def test_other_numbers_of_windows_raise(self, packed):
        with pytest.raises(ValueError, match="CWRU bearings, load 0 must have 440"):
            datasets.load("cwru-load-0", packed.parent)
