"""What holds for every data set: what is said of a missing one, checks, checksums, stand-ins."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from aleator.benchmark import datasets
from aleator.benchmark.datasets import DATASETS, Split, split


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """No test touches the cache of whoever runs it."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ALEATOR_CACHE", str(folder))
    return folder


def expect(monkeypatch, name, train, test, classes, shape=None):
    """Let a small data set pass for a whole one."""
    source = DATASETS[name]
    small = replace(source, train=train, test=test, classes=classes, shape=shape or source.shape)
    monkeypatch.setitem(DATASETS, name, small)


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_a_missing_data_set_names_source_files_and_terms(name, tmp_path):
    source = DATASETS[name]
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name, tmp_path)
    message = str(caught.value)
    assert source.title in message
    assert source.address in message
    assert source.terms in message
    assert repr(source.files[0][0]) in message


def test_mimic_says_that_credentials_are_needed(tmp_path):
    with pytest.raises(FileNotFoundError, match="credentialed access"):
        datasets.load("mimic3", tmp_path)


def test_a_name_that_is_none_and_one_that_is_several(tmp_path):
    with pytest.raises(ValueError, match=r"no data set 'iris'; known: har, .*physionet2012"):
        datasets.load("iris", tmp_path)
    with pytest.raises(ValueError, match="name one: fault-a, fault-b"):
        datasets.load("fault", tmp_path)
    with pytest.raises(ValueError, match="'har' has no domains"):
        datasets.domains("har")


@pytest.mark.parametrize("name", ["har", "epilepsy", "income", "theorem"])
def test_a_checksum_names_the_values(name, data_folder):
    whole = datasets.load(name, data_folder)
    assert whole.sha256 == datasets.load(name, data_folder).sha256
    changed = whole.y_test.copy()
    changed[0] += 1
    assert Split(whole.X_train, whole.y_train, whole.X_test, changed).sha256 != whole.sha256


def test_a_checksum_is_the_same_in_pieces_and_on_a_map(random, tmp_path, monkeypatch):
    X, y = random.normal(size=(50, 3, 4)), np.arange(50)
    at_once = Split(X, y, X[:7], y[:7]).sha256
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setattr(split, "_PIECE_BYTES", 1000)
    assert [len(piece) for piece in split.pieces(mapped)] == [10] * 5
    assert Split(mapped, y, mapped[:7], y[:7]).sha256 == at_once


def test_labelled_leaves_out_what_has_no_label():
    X, y = np.arange(8).reshape(4, 2), np.array([1, 0, 2, -1])
    some = Split(X, y, X[:2], y[:2]).labeled
    assert some.X_train.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert some.X_train.base is not None  # a view, not a copy
    assert len(some.X_test) == 2
    assert some.labeled is some


class TestChecks:
    """On Theorem's format, which is the shortest."""

    def write(self, folder, random, rows=(30, 12), columns=57, spoil=None):
        for name, count in zip(("train", "test"), rows, strict=True):
            values = random.normal(size=(count, columns)).round(6)
            values[:, 51:] = -1
            values[np.arange(count), 51 + np.arange(count) % 6] = 1
            if spoil:
                spoil(values)
            np.savetxt(folder / f"{name}.csv", values, delimiter=",", fmt="%.6f")

    def test_counts(self, random, tmp_path, monkeypatch):
        expect(monkeypatch, "theorem", 30, 12, 6)
        self.write(tmp_path, random)
        assert datasets.load("theorem", tmp_path).X_train.shape == (30, 51)
        self.write(tmp_path, random, rows=(29, 12))
        with pytest.raises(ValueError, match=r"should have 30 \+ 12 samples .* are they complete"):
            datasets.load("theorem", tmp_path)

    def test_classes(self, random, tmp_path, monkeypatch):
        expect(monkeypatch, "theorem", 30, 12, 7)
        self.write(tmp_path, random)
        with pytest.raises(ValueError, match=r"in 7 classes; .* labels in 6 classes"):
            datasets.load("theorem", tmp_path)

    def test_missing_values(self, random, tmp_path, monkeypatch):
        expect(monkeypatch, "theorem", 30, 12, 6)
        self.write(tmp_path, random, spoil=lambda values: values.__setitem__((3, 4), np.nan))
        with pytest.raises(ValueError, match="no missing values"):
            datasets.load("theorem", tmp_path)

    def test_balance(self, random, tmp_path, monkeypatch):
        expect(monkeypatch, "theorem", 30, 12, 6)
        monkeypatch.setitem(DATASETS, "theorem", replace(DATASETS["theorem"], balanced=True))
        self.write(tmp_path, random)
        assert datasets.load("theorem", tmp_path).y_train.tolist() == list(range(6)) * 5

        def one_more(values):
            values[0, 51:53] = [-1, 1]

        self.write(tmp_path, random, spoil=one_more)
        with pytest.raises(ValueError, match="from 4 to 6 to train on: were they altered"):
            datasets.load("theorem", tmp_path)


class TestStandIns:
    @pytest.mark.parametrize("name", sorted(DATASETS))
    def test_small_ones_can_be_learned(self, name):
        small = datasets.small(name, 144)
        assert small.X_train.shape[1:] == small.X_test.shape[1:]
        assert len(small.X_train.shape[1:]) == len(DATASETS[name].shape)
        assert len(np.unique(small.y_train)) == DATASETS[name].classes
        assert small.X_train.dtype == np.float32
        features = [X.reshape(len(X), -1) for X in (small.X_train, small.X_test)]
        if small.X_train.ndim == 3:  # where a wave begins tells nothing
            spectra = [np.abs(np.fft.rfft(X)) for X in (small.X_train, small.X_test)]
            features = [X.reshape(len(X), -1) for X in spectra]
        probe = LogisticRegression(max_iter=50).fit(features[0], small.y_train)
        assert probe.score(features[1], small.y_test) > 2 / DATASETS[name].classes or (
            DATASETS[name].classes == 2 and probe.score(features[1], small.y_test) > 0.8
        )

    def test_they_are_the_same_each_time_but_differ_by_name(self):
        assert datasets.small("har").sha256 == datasets.small("har").sha256
        assert datasets.small("fault-a", 12).sha256 != datasets.small("fault-b", 12).sha256

    def test_random_ones_have_the_shape_of_the_real(self):
        made = datasets.generated("har")
        assert made.X_train.shape == (7352, 9, 128)
        assert made.X_test.shape == (2947, 9, 128)
        assert datasets.generated("hepmass", rows=5).X_train.shape == (5, 27)
        with pytest.raises(ValueError, match="would take 24 GiB"):
            datasets.generated("mimic3")
