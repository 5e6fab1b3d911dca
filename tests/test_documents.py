"""Every example in the documents runs."""

import doctest
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_large_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(
        str(DOCS / "large-data.md"), module_relative=False, optionflags=options
    )
    assert result.failed == 0
    assert result.attempted > 10
