"""MIMIC-III and PhysioNet 2012, with small files in the published formats."""

import builtins
import tarfile
import zipfile

import numpy as np
import pytest

from aleator.benchmark import datasets
from aleator.benchmark.datasets import cache, physionet2012, split
from aleator.benchmark.real_data.series import load_physionet2012
from tests.benchmark.helpers import expect_size

_HOURS = {"train": (60, 5), "test": (9,), "val": (4,)}  # of each stay in MIMIC-III
_DAYS = {"a": (3, 9, -1, 20), "b": (1, 5)}  # of each stay in PhysioNet 2012


def _deaths(days):
    """Of made-up stays, those of an odd number of days ended with death."""
    return np.array(days) % 2


class TestMIMIC3:
    @pytest.fixture(autouse=True)
    def counts(self, monkeypatch):
        expect_size(monkeypatch, "mimic3", 65, 9, 10)

    def write(self, folder, random, columns=42, tasks=("los", "decomp"), change=None):
        h5py = pytest.importorskip("h5py")
        made = {}
        with h5py.File(folder / "scaled.h5", "w") as file:
            for group in ("data", "labels", "patient_windows"):
                file.create_group(group)
            for part, lengths in _HOURS.items():
                rows = sum(lengths)
                data = random.normal(size=(rows, columns)).astype(np.float32)
                labels = np.full((rows, 2), np.nan, dtype=np.float32)
                windows, start = [], 0
                for number, length in enumerate(lengths):
                    # The label counts down to the end of the stay; the first five hours have none.
                    labels[start + 5 : start + length, 0] = np.linspace(400, 1, max(length - 5, 0))
                    windows.append([start, start + length - 1, 1_000_000 + number])
                    start += length
                made[part] = data, labels
                file["data"].create_dataset(part, data=data)
                file["labels"].create_dataset(part, data=labels)
                file["patient_windows"].create_dataset(part, data=np.array(windows, np.int32))
            file["data"].attrs["columns"] = [f"c{k}" for k in range(columns)]
            file["labels"].attrs["tasks"] = list(tasks)
            if change:
                change(file)
        return made

    def test_windows_and_labels(self, random, tmp_path):
        made = self.write(tmp_path, random)
        whole = datasets.load("mimic3", tmp_path)
        data, labels = made["train"]
        assert whole.X_train.shape == (65, 42, 48)
        assert whole.X_train.dtype == np.float32
        # The first sample is the first with a label: hour 5 of the first stay.
        assert not whole.X_train[0, :, :42].any()
        np.testing.assert_array_equal(whole.X_train[0, :, 42:].T, data[:6])
        np.testing.assert_array_equal(whole.X_train[54].T, data[12:60])
        # Then those without, the last of which is the last hour of the second stay.
        assert not whole.X_train[64, :, :43].any()
        np.testing.assert_array_equal(whole.X_train[64, :, 43:].T, data[60:])
        assert (whole.y_train[55:] == -1).all()
        assert whole.y_train[0] == 9
        assert whole.y_train[54] == 0
        assert np.unique(whole.y_train).tolist() == list(range(-1, 10))
        some = whole.labeled
        assert len(some.X_train) == len(some.y_train) == np.isfinite(labels[:, 0]).sum() == 55
        assert len(some.X_test) == 4

    def test_windows_are_cached_in_pieces_and_memory_mapped(self, random, tmp_path, monkeypatch):
        self.write(tmp_path, random)
        at_once = datasets.load("mimic3", tmp_path)
        monkeypatch.setenv("ALEATOR_CACHE", str(tmp_path / "another"))
        monkeypatch.setattr(cache, "_MAX_LOADED_BYTES", 1000)
        monkeypatch.setattr(split, "_PIECE_BYTES", 20_000)
        in_pieces = datasets.load("mimic3", tmp_path)
        assert isinstance(in_pieces.X_train, np.memmap)
        np.testing.assert_array_equal(in_pieces.X_train, at_once.X_train)
        assert in_pieces.sha256 == at_once.sha256
        arrays = at_once.arrays()
        assert split.Split(**arrays).sha256 == at_once.sha256  # the one kept is the true one

    def test_windows_are_in_memory_without_a_cache(self, random, tmp_path, monkeypatch):
        self.write(tmp_path, random)
        kept = datasets.load("mimic3", tmp_path)
        (tmp_path / "file").write_text("not a folder")
        monkeypatch.setenv("ALEATOR_CACHE", str(tmp_path / "file"))
        monkeypatch.setattr(split, "_PIECE_BYTES", 20_000)
        assert datasets.load("mimic3", tmp_path).sha256 == kept.sha256

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda file: file["labels"].pop("test"), "test"),
            (lambda file: file["data"]["train"].__setitem__((3, 4), np.nan), "the scaled file"),
            (
                lambda file: file["patient_windows"]["train"].__setitem__((0, 1), 50),
                "the stays in 'patient_windows/train' do not cover 'data/train'",
            ),
        ],
    )
    def test_damaged_files_raise(self, damage, message, random, tmp_path):
        self.write(tmp_path, random, change=damage)
        with pytest.raises(ValueError, match=rf"scaled\.h5 is truncated or damaged: .*{message}"):
            datasets.load("mimic3", tmp_path)

    def test_other_files_of_the_same_name_raise(self, random, tmp_path, monkeypatch):
        self.write(tmp_path, random, columns=18)
        with pytest.raises(ValueError, match=r"has shape \(65, 18\); 42 columns are expected"):
            datasets.load("mimic3", tmp_path)
        self.write(tmp_path, random, tasks=("sepsis", "decomp"))
        with pytest.raises(ValueError, match="'los' is not in list"):
            datasets.load("mimic3", tmp_path)
        self.write(tmp_path, random)
        whole = (tmp_path / "scaled.h5").read_bytes()
        (tmp_path / "scaled.h5").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=r"scaled\.h5 is truncated or damaged"):
            datasets.load("mimic3", tmp_path)
        self.write(tmp_path, random)
        expect_size(monkeypatch, "mimic3", 66, 9, 10)
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("mimic3", tmp_path)

    def test_error_without_h5py_names_the_extra(self, tmp_path, monkeypatch):
        (tmp_path / "scaled.h5").write_bytes(b"")
        real = builtins.__import__

        def without(name, *arguments):
            if name == "h5py":
                raise ImportError(name)
            return real(name, *arguments)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r"pip install 'aleator\[bench\]'"):
            datasets.load("mimic3", tmp_path)


class TestPhysioNet2012:
    @pytest.fixture(autouse=True)
    def counts(self, monkeypatch):
        expect_size(monkeypatch, "physionet2012", 3, 2, 3)

    @pytest.fixture
    def records(self, random):
        """Text of each record as published, by its number."""
        made = {"a": {}, "b": {}}
        for part, days in _DAYS.items():
            for number in range(len(days)):
                record = 132539 + number + (10_000 if part == "b" else 0)
                lines = [
                    "Time,Parameter,Value",
                    f"00:00,RecordID,{record}",
                    f"00:00,Age,{50 + number}",
                ]
                lines += [
                    "00:00,Gender,1",
                    "00:00,Height,-1",
                    "00:00,ICUType,3",
                    "00:00,Weight,80.5",
                ]
                for minute in sorted(random.integers(60, 2880, size=40)):
                    what = ["HR", "Temp", "pH"][minute % 3]
                    value = random.integers(30, 40)
                    lines.append(f"{minute // 60:02}:{minute % 60:02},{what},{value}")
                made[part][record] = "\n".join([*lines, "48:00,Urine,20"]) + "\n"
        return made

    def write(self, folder, records, how="folder"):
        folder.mkdir(exist_ok=True)
        for part, texts in records.items():
            lines = ["RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death"]
            days = _DAYS[part]
            rows = zip(texts, days, _deaths(days), strict=False)
            lines += [f"{record},6,1,{n},-1,{died}" for record, n, died in rows]
            (folder / f"Outcomes-{part}.txt").write_text("\n".join(lines) + "\n")
            inside = folder / f"set-{part}"
            inside.mkdir(exist_ok=True)
            for record, text in texts.items():
                (inside / f"{record}.txt").write_text(text)
            if how == "zip":
                with zipfile.ZipFile(folder / f"set-{part}.zip", "w") as archive:
                    for record, text in texts.items():
                        archive.writestr(f"set-{part}/{record}.txt", text)
            elif how == "tar":
                with tarfile.open(folder / f"set-{part}.tar.gz", "w:gz") as archive:
                    archive.add(inside, f"set-{part}")
            if how != "folder":
                for file in inside.iterdir():
                    file.unlink()
                inside.rmdir()

    def pack(self, folder, records):
        names = sorted(["Age", "Gender", "Height", "ICUType", *physionet2012._MEASURED])
        arrays = {"params": np.array(names)}
        for part, texts in records.items():
            long = []
            for at, text in enumerate(texts.values()):
                for line in text.splitlines()[2:]:
                    time, what, value = line.split(",")
                    minute = 60 * int(time[:2]) + int(time[3:])
                    long.append((at, minute, names.index(what), float(value)))
            for key, column in zip(
                ("rec", "minute", "param", "value"), np.array(long).T, strict=True
            ):
                kind = np.float32 if key == "value" else np.uint16
                arrays[f"{part}_{key}"] = column.astype(kind)
            arrays[f"{part}_length_of_stay"] = np.array(_DAYS[part], np.int16)
            arrays[f"{part}_in_hospital_death"] = _deaths(_DAYS[part]).astype(np.uint8)
        folder.mkdir(exist_ok=True)
        np.savez(folder / "physionet2012.npz", **arrays)

    def test_all_file_formats_agree(self, records, tmp_path):
        for how in ("folder", "zip", "tar"):
            self.write(tmp_path / how, records, how)
        self.pack(tmp_path / "npz", records)
        sums = {datasets.load("physionet2012", folder).sha256 for folder in tmp_path.iterdir()}
        assert len(sums) == 1

    @pytest.mark.parametrize("how", ["folder", "npz"])
    def test_as_it_is(self, records, tmp_path, how):
        """Observations at their own minutes, and who died, without any preparation."""
        if how == "npz":
            self.pack(tmp_path, records)
        else:
            self.write(tmp_path, records)
        X_train, y_train, X_test, y_test = load_physionet2012(tmp_path)
        assert y_train.tolist() == _deaths(_DAYS["a"])[: len(records["a"])].tolist()
        assert len(X_test) == len(y_test) == len(records["b"])
        assert set(X_train.channel_names) >= {"Age", "HR", "Height", "pH"}
        times, which, values = X_train.gather(np.array([0]))[0]
        height = X_train.channel_names.index("Height")
        assert values[which == height].tolist() == [-1]  # as published
        lines = next(iter(records["a"].values())).splitlines()[2:]
        minutes = [60 * int(line[:2]) + int(line[3:5]) for line in lines]
        assert times.tolist() == sorted(minutes)

    def test_channels_and_classes(self, records, tmp_path):
        record = next(iter(records["a"]))
        head = "\n".join(records["a"][record].splitlines()[:7])
        records["a"][record] = head + "\n02:10,HR,60\n02:50,HR,80\n10:00,HR,100\n11:00,,\n"
        self.write(tmp_path, records)
        whole = datasets.load("physionet2012", tmp_path)
        channel = physionet2012.CHANNELS.index
        assert whole.X_train.shape == (3, 44, 48)
        assert whole.y_train.tolist() == [3, 8, 9]  # the third stay has no known length
        assert whole.y_test.tolist() == [2, 5]  # a stay of one day counts as two
        rate = whole.X_train[0, channel("HR")]
        assert not rate[:2].any()  # nothing was measured before
        assert (rate[2:10] == rate[2]).all()
        assert (rate[10:] == rate[10]).all()
        assert rate[10] > rate[2] != 0
        assert (whole.X_train[:, channel("ICUType 3")] == 1).all()
        assert not whole.X_train[:, channel("ICUType 1")].any()
        assert not whole.X_train[:, channel("Height")].any()  # -1 is unknown
        age = whole.X_train[:, channel("Age")]
        assert (age == age[:, :1]).all()
        assert age[0, 0] < age[1, 0] < age[2, 0]

    def test_damaged_files_raise(self, records, tmp_path):
        record = next(iter(records["a"]))
        text = records["a"][record]
        cases = [
            (text[:-7], "truncated or damaged"),
            (text.replace("RecordID,", "RecordID,9"), "does not begin with the header of record"),
            (text.replace("Age,", "Years,"), r"set-a .* unknown measurement 'Years'"),
            (text.replace("ICUType,3", "ICUType,5"), "must be 1, 2, 3 or 4"),
        ]
        for changed, message in cases:
            self.write(tmp_path, records | {"a": records["a"] | {record: changed}})
            with pytest.raises(ValueError, match=message):
                datasets.load("physionet2012", tmp_path)
        self.write(tmp_path, records)
        (tmp_path / "set-a" / f"{record}.txt").unlink()
        with pytest.raises(ValueError, match=r"set-a .*Outcomes-a\.txt lists other stays"):
            datasets.load("physionet2012", tmp_path)
        (tmp_path / "Outcomes-b.txt").unlink()
        with pytest.raises(FileNotFoundError, match=r"'Outcomes-b\.txt' not found"):
            datasets.load("physionet2012", tmp_path)

    def test_damaged_archives_raise(self, records, tmp_path):
        self.write(tmp_path / "tar", records, "tar")
        path = tmp_path / "tar" / "set-b.tar.gz"
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(ValueError, match=r"set-b\.tar\.gz is truncated or damaged"):
            datasets.load("physionet2012", tmp_path / "tar")
        self.pack(tmp_path / "npz", records)
        path = tmp_path / "npz" / "physionet2012.npz"
        path.write_bytes(path.read_bytes()[:-2000])
        with pytest.raises(ValueError, match=r"physionet2012\.npz is truncated or damaged"):
            datasets.load("physionet2012", tmp_path / "npz")

    def test_unexpected_counts_raise(self, records, tmp_path):
        records["b"].popitem()
        self.write(tmp_path, records)
        with pytest.raises(ValueError, match="are they complete"):
            datasets.load("physionet2012", tmp_path)


def test_real_physionet_2012(data_folder):
    whole = datasets.load("physionet2012", data_folder)
    assert whole.X_train.shape == (3940, 44, 48)
    assert whole.X_test.shape == (3946, 44, 48)
    assert np.unique(whole.y_train).tolist() == np.unique(whole.y_test).tolist() == [*range(2, 10)]
    assert np.abs(whole.X_train).max() < 50
