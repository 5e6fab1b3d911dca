"""The cache of data sets."""

import os
from dataclasses import replace

import numpy as np
import pytest

from aleator.benchmark.datasets import Split, cache


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2,3\n")
    return path


@pytest.fixture
def load(source, random, monkeypatch):
    """Load a data set through the cache; `load.reads` counts how often it is read."""
    monkeypatch.setattr(cache, "_MIN_SECONDS", 0.0)
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


def test_second_load_reads_the_cache(load, empty_cache):
    first, second = load(), load()
    assert load.reads == 1
    assert first.sha256 == second.sha256 == Split(**second.arrays()).sha256
    assert replace(second, y_test=second.y_test + 1).sha256 != second.sha256
    for a, b in zip(first.arrays().values(), second.arrays().values(), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    assert sorted(file.name for file in entry(empty_cache).iterdir()) == [
        "X_test.npy", "X_train.npy", "about.json", "y_test.npy", "y_train.npy",
    ]  # fmt: skip


def test_fast_reads_are_not_cached(load, empty_cache, monkeypatch):
    monkeypatch.setattr(cache, "_MIN_SECONDS", 60.0)
    load()
    load()
    assert load.reads == 2
    assert not list(empty_cache.iterdir())


def test_changed_files_make_a_new_entry(load, source, empty_cache, monkeypatch):
    load()
    os.utime(source, (1, 1))
    load()
    source.write_text("1,2,3,4\n")
    load()
    monkeypatch.setattr(cache, "_READERS_VERSION", 99)
    load()
    assert load.reads == len(list(empty_cache.iterdir())) == 4


def test_fingerprint_includes_files_in_folders(tmp_path):
    (tmp_path / "set" / "inner").mkdir(parents=True)
    before = cache.fingerprint([tmp_path / "set"])
    (tmp_path / "set" / "inner" / "a.txt").write_text("a")
    after = cache.fingerprint([tmp_path / "set"])
    assert before != after
    (tmp_path / "set" / "inner" / "a.txt").rename(tmp_path / "set" / "inner" / "b.txt")
    assert cache.fingerprint([tmp_path / "set"]) != after


@pytest.mark.parametrize("damage", ["cut", "gone", "no json", "garbage"])
def test_damaged_entry_is_written_again(damage, load, empty_cache):
    whole = load()
    folder = entry(empty_cache)
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


def test_unwritable_cache_folder_is_ignored(load, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ALEATOR_CACHE", str(tmp_path / "file" / "cache"))
    assert len(load().X_train) == 6
    assert len(load().X_train) == 6
    assert load.reads == 2


def test_failed_write_leaves_no_files(load, empty_cache, monkeypatch):
    def full(array, path, digest):
        path.write_bytes(b"some")
        raise OSError("no space left on device")

    monkeypatch.setattr(cache, "_write_array", full)
    assert len(load().X_train) == 6
    assert not list(empty_cache.iterdir())


def test_large_arrays_are_memory_mapped(load, monkeypatch):
    monkeypatch.setattr(cache, "_MAX_LOADED_BYTES", 150)
    load()
    whole = load()
    assert isinstance(whole.X_train, np.memmap)
    assert not isinstance(whole.y_test, np.memmap)


def test_cache_folder_from_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ALEATOR_CACHE", "mine")
    assert str(cache.cache_folder()) == "mine"
    monkeypatch.delenv("ALEATOR_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "aleator"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "aleator"
