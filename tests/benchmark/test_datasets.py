"""Errors, checks and checksums of all data sets, and synthetic data."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from aleator.benchmark import datasets
from aleator.benchmark.datasets import DATASETS, Split, split
from tests.benchmark.helpers import expect_size


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_error_for_missing_files_names_address_and_terms(name, tmp_path):
    info = DATASETS[name]
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name, tmp_path)
    message = str(caught.value)
    assert info.title in message
    assert info.address in message
    assert info.terms in message
    assert repr(info.files[0][0]) in message


def test_error_for_mimic3_mentions_credentials(tmp_path):
    with pytest.raises(FileNotFoundError, match="credentialed access"):
        datasets.load("mimic3", tmp_path)


def test_unknown_names_raise(tmp_path):
    with pytest.raises(ValueError, match=r"unknown data set 'iris'; known: har, .*physionet2012"):
        datasets.load("iris", tmp_path)
    with pytest.raises(ValueError, match="use one of fault-a, fault-b"):
        datasets.load("fault", tmp_path)
    with pytest.raises(ValueError, match="'har' has no domains"):
        datasets.domains("har")


@pytest.mark.parametrize("name", ["har", "epilepsy", "income", "theorem"])
def test_checksum_depends_on_values(name, data_folder):
    whole = datasets.load(name, data_folder)
    assert whole.sha256 == datasets.load(name, data_folder).sha256
    changed = whole.y_test.copy()
    changed[0] += 1
    assert Split(whole.X_train, whole.y_train, whole.X_test, changed).sha256 != whole.sha256


def test_checksum_is_the_same_for_pieces_and_memory_maps(random, tmp_path, monkeypatch):
    X, y = random.normal(size=(50, 3, 4)), np.arange(50)
    at_once = Split(X, y, X[:7], y[:7]).sha256
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setattr(split, "_PIECE_BYTES", 1000)
    assert [len(piece) for piece in split.pieces(mapped)] == [10] * 5
    assert Split(mapped, y, mapped[:7], y[:7]).sha256 == at_once


def test_labeled_drops_samples_without_a_label():
    X, y = np.arange(8).reshape(4, 2), np.array([1, 0, 2, -1])
    some = Split(X, y, X[:2], y[:2]).labeled
    assert some.X_train.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert some.X_train.base is not None  # a view, not a copy
    assert len(some.X_test) == 2
    assert some.labeled is some


@pytest.mark.parametrize("name", ["income", "theorem", "har", "epilepsy"])
def test_real_data(data_folder, name):
    split = datasets.load(name, data_folder)
    assert split.X_train.dtype == np.float32
    assert np.isfinite(split.X_train).all()
    if name == "epilepsy":
        assert split.X_train.min() == 0
        assert max(split.X_train.max(), split.X_test.max()) == 1
        assert split.y_train.mean() == pytest.approx(0.2, abs=0.01)
    if name == "income":
        assert split.y_train.mean() == pytest.approx(0.249, abs=0.001)


@pytest.mark.parametrize(("name", "whole"), [("har-5881", "har"), ("epilepsy-7360", "epilepsy")])
def test_fewer_rows_are_drawn_from_the_training_part(data_folder, name, whole):
    some, all_rows = datasets.load(name, data_folder), datasets.load(whole, data_folder)
    assert np.array_equal(some.X_test, all_rows.X_test)
    rows = {row.tobytes() for row in all_rows.X_train}
    assert len(some.X_train) == int(name.rpartition("-")[2])
    assert all(row.tobytes() in rows for row in some.X_train)
    assert np.bincount(some.y_train) / len(some.y_train) == pytest.approx(
        np.bincount(all_rows.y_train) / len(all_rows.y_train), abs=0.01
    )


def test_missing_folder_and_incomplete_files_raise(tmp_path, monkeypatch):
    monkeypatch.delenv("ALEATOR_DATA", raising=False)
    with pytest.raises(ValueError, match="ALEATOR_DATA"):
        datasets.load("har")
    with pytest.raises(FileNotFoundError, match="uci_har_inertial"):
        datasets.load("har", tmp_path)
    X, y = np.zeros((10, 9, 128), np.float32), np.arange(10) % 6
    np.savez(tmp_path / "uci_har_inertial.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    with pytest.raises(ValueError, match="are they complete"):
        datasets.load("har", tmp_path)


class TestChecks:
    """Checks of `load`, with files in the format of Theorem, which is the simplest."""

    def write(self, folder, random, rows=(30, 12), columns=57, spoil=None):
        for name, count in zip(("train", "test"), rows, strict=True):
            values = random.normal(size=(count, columns)).round(6)
            values[:, 51:] = -1
            values[np.arange(count), 51 + np.arange(count) % 6] = 1
            if spoil:
                spoil(values)
            np.savetxt(folder / f"{name}.csv", values, delimiter=",", fmt="%.6f")

    def test_unexpected_counts_raise(self, random, tmp_path, monkeypatch):
        expect_size(monkeypatch, "theorem", 30, 12, 6)
        self.write(tmp_path, random)
        assert datasets.load("theorem", tmp_path).X_train.shape == (30, 51)
        self.write(tmp_path, random, rows=(29, 12))
        with pytest.raises(ValueError, match=r"must have 30 \+ 12 samples .* are they complete"):
            datasets.load("theorem", tmp_path)

    def test_unexpected_classes_raise(self, random, tmp_path, monkeypatch):
        expect_size(monkeypatch, "theorem", 30, 12, 7)
        self.write(tmp_path, random)
        with pytest.raises(ValueError, match=r"in 7 classes; .* labels in 6 classes"):
            datasets.load("theorem", tmp_path)

    def test_missing_values_raise(self, random, tmp_path, monkeypatch):
        expect_size(monkeypatch, "theorem", 30, 12, 6)
        self.write(tmp_path, random, spoil=lambda values: values.__setitem__((3, 4), np.nan))
        with pytest.raises(ValueError, match="must not have missing values"):
            datasets.load("theorem", tmp_path)

    def test_unbalanced_classes_raise(self, random, tmp_path, monkeypatch):
        expect_size(monkeypatch, "theorem", 30, 12, 6)
        monkeypatch.setitem(DATASETS, "theorem", replace(DATASETS["theorem"], balanced=True))
        self.write(tmp_path, random)
        assert datasets.load("theorem", tmp_path).y_train.tolist() == list(range(6)) * 5

        def one_more(values):
            values[0, 51:53] = [-1, 1]

        self.write(tmp_path, random, spoil=one_more)
        with pytest.raises(ValueError, match="from 4 to 6: were they modified"):
            datasets.load("theorem", tmp_path)


class TestSyntheticData:
    @pytest.mark.parametrize("name", sorted(DATASETS))
    def test_small_data_can_be_learned(self, name):
        small = datasets.small(name, 144)
        assert small.X_train.shape[1:] == small.X_test.shape[1:]
        assert len(small.X_train.shape[1:]) == len(DATASETS[name].shape)
        assert len(np.unique(small.y_train)) == DATASETS[name].classes
        assert small.X_train.dtype == np.float32
        features = [X.reshape(len(X), -1) for X in (small.X_train, small.X_test)]
        if small.X_train.ndim == 3:  # the phase is random
            spectra = [np.abs(np.fft.rfft(X)) for X in (small.X_train, small.X_test)]
            features = [X.reshape(len(X), -1) for X in spectra]
        probe = LogisticRegression(max_iter=500).fit(features[0], small.y_train)
        assert probe.score(features[1], small.y_test) > 2 / DATASETS[name].classes or (
            DATASETS[name].classes == 2 and probe.score(features[1], small.y_test) > 0.8
        )

    def test_small_data_is_reproducible_and_differs_by_name(self):
        assert datasets.small("har").sha256 == datasets.small("har").sha256
        assert datasets.small("fault-a", 12).sha256 != datasets.small("fault-b", 12).sha256

    def test_generated_data_has_the_shape_of_real_data(self):
        made = datasets.generated("har")
        assert made.X_train.shape == (7352, 9, 128)
        assert made.X_test.shape == (2947, 9, 128)
        assert datasets.generated("hepmass", rows=5).X_train.shape == (5, 27)
        with pytest.raises(ValueError, match="would take 24 GiB"):
            datasets.generated("mimic3")
