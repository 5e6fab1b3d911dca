"""Fixtures of the benchmark tests."""

import pytest

from aleator.benchmark import cells


@pytest.fixture(autouse=True)
def empty_cache(tmp_path_factory, monkeypatch):
    """Give every test its own cache folder, and no data set loaded by another test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ALEATOR_CACHE", str(folder))
    cells.loaded.cache_clear()
    return folder
