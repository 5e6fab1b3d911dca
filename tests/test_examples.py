"""Every example runs."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import aleator

EXAMPLES = Path(__file__).parents[1] / "examples"


DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["checkpoints.md"])
def test_the_examples_of_a_page(page, tmp_path, monkeypatch, capsys):
    """The blocks of a page are one program, run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec("\n".join(blocks), {})
    for line in re.findall(r"print\(.*\)  # (.*?)…", text):
        assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("engine", "package"), [("dask", "dask.dataframe"), ("ray", "ray.data"), ("spark", "pyspark")]
)
@pytest.mark.filterwarnings("default")  # those of the engines are not ours
def test_the_examples_of_engines(engine, package, tmp_path, monkeypatch):
    """The first block of the page and that of an engine are one program."""
    pytest.importorskip(package, exc_type=ImportError)
    if engine == "spark":
        if shutil.which("java") is None:
            pytest.skip("Spark needs Java")
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "engines.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"```python(?: {engine})?\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 2
    names = {}
    try:
        exec("\n".join(blocks), names)
        written = pq.read_table(f"embedded-{engine}").to_pandas().set_index("id")
    finally:
        if engine == "ray":
            names["ray"].shutdown()
        if engine == "spark" and "spark" in names:
            names["spark"].stop()
    people, lfr = names["people"], names["lfr"]
    expected = lfr.transform(people[["age", "income", "visits"]])
    assert written.columns[:8].tolist() == lfr.get_feature_names_out().tolist()
    found = written.loc[people["id"]].to_numpy()[:, :8].astype(np.float32)
    assert np.abs(found - expected).max() < 1e-6


@pytest.fixture
def demo():
    spec = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_demo(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "DRAWS", 3)
    monkeypatch.chdir(tmp_path)
    demo.main()
    out = capsys.readouterr().out
    assert "5 per class" in out
    assert "demo-output/results.json" in out
    results = json.loads((tmp_path / "demo-output" / "results.json").read_text())
    assert [result["kind"] for result in results] == ["image", "table", "series"]
    for result in results:
        raw, network, lfr = (
            result["accuracy"][name] for name in ("raw values", "random network", "LFR")
        )
        # With all labels LFR is not behind, up to the sampling error of the small test sets.
        assert lfr[1] > max(raw[1], network[1]) - 0.015
    for kind, _, X, _ in demo.data_sets():
        loaded = aleator.load(tmp_path / "demo-output" / kind)
        assert loaded.transform(X[:3]).shape == (3, 512)
