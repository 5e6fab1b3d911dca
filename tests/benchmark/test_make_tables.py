"""benchmarks/make_tables.py: sections of README files, from generated result lines."""

import importlib.util
import json
from pathlib import Path

import pytest

from aleator.benchmark import method_names, recipes
from aleator.benchmark.cells import identity_fields
from aleator.benchmark.studies import STUDIES
from aleator.benchmark.study import label_counts

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "make_tables.py"
BEGIN, END = "<!-- labels: benchmarks/make_tables.py -->", "<!-- end of labels -->"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script as a module, with an empty folder of results."""
    spec = importlib.util.spec_from_file_location("make_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    return module


def write_lines(folder, accuracy):
    """Store lines of two seeds; `accuracy` maps a method to its accuracy with few labels."""
    cells = STUDIES["labels"].cells(["theorem"], list(accuracy), [0, 1])
    lines = [
        {
            **identity_fields(cell, protocol),
            "seconds": 1.0,
            "metrics": {
                "accuracy": accuracy[cell.recipe.method] + 0.1 * number + 0.02 * cell.seed,
                "labels": [*label_counts("theorem"), 3059][number],
                "draws": 3,
            },
        }
        for cell in cells
        for number, protocol in enumerate(cell.protocols)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "runs.jsonl").write_text(text, encoding="utf-8")


def test_section_is_empty_without_results(script):
    assert script.label_section() == ""
    text = f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n"
    empty = f"before\n\n{BEGIN}\n{END}\n\nafter\n"
    assert script.filled(text) == script.filled(empty) == empty


def test_section_of_label_curves(script, tmp_path):
    write_lines(tmp_path, {"logreg": 0.2, "supervised": 0.3, "dacl": 0.41, "stab": 0.4, "lfr": 0.5})
    text = script.filled(f"before\n{BEGIN}\n{END}\nafter\n")
    assert text.splitlines() == [
        "before",
        BEGIN,
        "![Accuracy against the number of labels](benchmarks/results/figures/labels.svg)",
        "",
        "| method | Theorem, 1000 | Theorem, all |",
        "| --- | --- | --- |",
        "| Raw values | 41.0 | 51.0 |",
        "| Supervised | 51.0 | 61.0 |",
        "| LFR, paper's recipe | **71.0** | **81.0** |",
        "| Best other method | 62.0 | 72.0 |",
        END,
        "after",
    ]
    assert script.filled(text) == text


def test_section_includes_methods_that_are_added_later(script, tmp_path, monkeypatch):
    monkeypatch.setitem(method_names.METHODS, "lfr-default", "LFR")
    known = recipes.read("theorem", "lfr")
    monkeypatch.setattr(recipes, "methods_for", lambda dataset: ["lfr", "lfr-default"])
    monkeypatch.setattr(
        recipes, "read", lambda dataset, method: recipes.Recipe(**{**vars(known), "method": method})
    )
    write_lines(tmp_path, {"lfr": 0.5, "lfr-default": 0.6})
    assert script.label_section().splitlines()[-2:] == [
        "| LFR, paper's recipe | 71.0 | 81.0 |",
        "| LFR | **81.0** | **91.0** |",
    ]


def test_other_sections_are_kept(script):
    assert script.filled("no markers\n") == "no markers\n"
    pages = {"docs/real-data.md", "docs/research.md", "docs/scaling.md"}
    assert set(script.DOCUMENTS) == {"README.md", "benchmarks/README.md", *pages}


def test_every_study_of_lfr_has_a_section_in_its_page(script):
    text = script.read("docs/research.md")
    for name in script.SECTIONS:
        begin = f"<!-- {name}: benchmarks/make_tables.py -->"
        assert text.count(begin) == name.startswith("research-")
    # Without results no section has a table or a number.
    empty = script.filled(text)
    assert empty.count("*Not measured yet.*") == len(script.RESEARCH_STUDIES) + 2
    assert not [line for line in empty.splitlines() if line.startswith("|")]


def test_check_names_documents_that_are_not_generated(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "DOCUMENTS", ("a.md", "b.md"))
    (tmp_path / "a.md").write_text(f"{BEGIN}\n{END}\n")
    (tmp_path / "b.md").write_text("no markers\n")
    script.main(["--check"])
    (tmp_path / "a.md").write_text(f"{BEGIN}\ntyped by hand\n{END}\n")
    with pytest.raises(SystemExit, match=r"not generated from the results: a\.md"):
        script.main(["--check"])
