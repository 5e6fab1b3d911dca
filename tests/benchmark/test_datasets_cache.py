"""What was read once is kept, made again when damaged, and never in the way."""

import os
from dataclasses import replace

import numpy as np
import pytest

from aleator.benchmark.datasets import Split, cache
from tests.benchmark.test_datasets import own_cache  # noqa: F401


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2,3\n")
    return path


@pytest.fixture
def load(source, random, monkeypatch):
    """Read a data set, however quickly, through the cache; `load.reads` counts how often."""
    monkeypatch.setattr(cache, "_WORTH_KEEPING_S", 0.0)
    X, y = random.normal(size=(6, 3)).astype(np.float32), np.arange(6)

    def read():
        load.reads += 1
        return Split(X, y, X[:2], y[:2])

    def load():
        return cache.through_cache("some", [source], read)

    load.reads = 0
    return load


def entry(folder):
    (only,) = folder.iterdir()
    return only


def test_the_second_time_nothing_is_read(load, own_cache):  # noqa: F811
    first, second = load(), load()
    assert load.reads == 1
    assert first.sha256 == second.sha256 == Split(**second.arrays()).sha256
    assert replace(second, y_test=second.y_test + 1).sha256 != second.sha256
    for a, b in zip(first.arrays().values(), second.arrays().values(), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    assert sorted(file.name for file in entry(own_cache).iterdir()) == [
        "X_test.npy", "X_train.npy", "about.json", "y_test.npy", "y_train.npy",
    ]  # fmt: skip


def test_what_reads_quickly_is_not_kept(load, own_cache, monkeypatch):  # noqa: F811
    monkeypatch.setattr(cache, "_WORTH_KEEPING_S", 60.0)
    load()
    load()
    assert load.reads == 2
    assert not list(own_cache.iterdir())


def test_other_files_make_another_entry(load, source, own_cache, monkeypatch):  # noqa: F811
    load()
    os.utime(source, (1, 1))
    load()
    source.write_text("1,2,3,4\n")
    load()
    monkeypatch.setattr(cache, "_READERS_VERSION", 99)
    load()
    assert load.reads == len(list(own_cache.iterdir())) == 4


def test_a_file_within_a_folder_counts(tmp_path):
    (tmp_path / "set" / "inner").mkdir(parents=True)
    before = cache.fingerprint([tmp_path / "set"])
    (tmp_path / "set" / "inner" / "a.txt").write_text("a")
    after = cache.fingerprint([tmp_path / "set"])
    assert before != after
    (tmp_path / "set" / "inner" / "a.txt").rename(tmp_path / "set" / "inner" / "b.txt")
    assert cache.fingerprint([tmp_path / "set"]) != after


@pytest.mark.parametrize("damage", ["cut", "gone", "no json", "garbage"])
def test_a_damaged_entry_is_made_again(damage, load, own_cache):  # noqa: F811
    whole = load()
    folder = entry(own_cache)
    if damage == "cut":
        path = folder / "X_train.npy"
        path.write_bytes(path.read_bytes()[:-4])
    elif damage == "gone":
        (folder / "y_test.npy").unlink()
    elif damage == "no json":
        (folder / "about.json").write_text("{")
    else:
        path = folder / "X_train.npy"
        path.write_bytes(b"x" * path.stat().st_size)
    assert load().sha256 == whole.sha256
    assert load.reads == 2
    assert load().sha256 == whole.sha256
    assert load.reads == 2


def test_a_folder_that_cannot_be_written_is_no_hindrance(load, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ALEATOR_CACHE", str(tmp_path / "file" / "cache"))
    assert len(load().X_train) == 6
    assert len(load().X_train) == 6
    assert load.reads == 2


def test_nothing_is_left_of_an_entry_that_could_not_be_finished(load, own_cache, monkeypatch):  # noqa: F811
    def full(array, path, digest):
        path.write_bytes(b"some")
        raise OSError("no space left on device")

    monkeypatch.setattr(cache, "_write", full)
    assert len(load().X_train) == 6
    assert not list(own_cache.iterdir())


def test_large_arrays_are_mapped(load, monkeypatch):
    monkeypatch.setattr(cache, "_MAPPED_BYTES", 150)
    load()
    whole = load()
    assert isinstance(whole.X_train, np.memmap)
    assert not isinstance(whole.y_test, np.memmap)


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("ALEATOR_CACHE", "mine")
    assert str(cache.cache_folder()) == "mine"
    monkeypatch.delenv("ALEATOR_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "aleator"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "aleator"
