"""Every example in the documents runs."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    "name", ["large-data", "tables", "text", "images", "series", "graphs", "audio"]
)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(DOCS / f"{name}.md"), module_relative=False, optionflags=options)
    assert result.failed == 0
    assert result.attempted > 5
