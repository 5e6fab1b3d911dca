"""Every example runs."""

import importlib.util
import json
from pathlib import Path

import pytest

import aleator

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def demo():
    spec = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_demo(demo, tmp_path, monkeypatch, capsys):
    every = list(demo.data_sets())
    short = [(*rest, {**settings, "epochs": 1}) for *rest, settings in every]
    monkeypatch.setattr(demo, "data_sets", lambda: short)
    monkeypatch.chdir(tmp_path)
    demo.main()
    out = capsys.readouterr().out
    assert "LFR" in out
    assert "demo-output/results.json" in out
    results = json.loads((tmp_path / "demo-output" / "results.json").read_text())
    assert [result["kind"] for result in results] == ["image", "table", "series"]
    for result in results:
        assert set(result["accuracy"]) == {"raw", "random", "lfr"}
        assert all(0.5 < score <= 1 for score in result["accuracy"].values())
    for kind, _, X, _, _ in every:
        encoder = demo.small_cnn((1, 8, 8), 256) if kind == "image" else None
        loaded = aleator.load(tmp_path / "demo-output" / kind, encoder=encoder)
        assert loaded.transform(X[:3]).shape[0] == 3
