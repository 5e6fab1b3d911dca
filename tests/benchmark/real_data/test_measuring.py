"""Measurements on real data: what a line holds, the command, and the tables."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from aleator.benchmark.real_data import report
from aleator.benchmark.real_data.__main__ import main
from aleator.benchmark.real_data.measuring import measure, models_of
from aleator.benchmark.real_data.parts import fold_parts, split_parts


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.where(random.random(200) < 0.2, np.nan, random.normal(size=200)),
            "town": random.choice(["Bern", "Rome", None], 200),
        }
    )


def test_classes_are_learned_from_the_same_few_labels(frame):
    parts = split_parts(frame, (frame["town"] == "Rome").to_numpy().astype(str))
    assert models_of(parts) == ["LFR", "RandomFeatures", "RandomEncoder", "pipeline"]
    lines = [measure(name, [parts], seed=0) for name in ("RandomFeatures", "pipeline")]
    for line in lines:
        assert line["n_labels"] == {"5 %": 10, "all": 160}
        assert line["metrics"]["all"]["accuracy"] == 100
        assert 50 < line["metrics"]["5 %"]["auroc"] <= 100
    assert [line["width"] for line in lines] == [4096, None]


def test_numbers_are_evaluated_by_r2(frame):
    y = frame["age"].fillna(0).to_numpy() + (frame["town"] == "Rome").to_numpy()
    parts = split_parts(frame, y)
    for name in ("RandomFeatures", "pipeline"):
        found = measure(name, [parts], seed=0)["metrics"]
        assert found["all"]["r2"] > 80
        assert found["5 %"]["r2"] < found["all"]["r2"]


def test_metrics_are_averaged_over_folds(frame):
    folds = fold_parts(frame, (frame["age"] > 0).to_numpy().astype(int), seed=0)
    lines = [measure("pipeline", [parts], seed=0) for parts in folds]
    line = measure("pipeline", folds, seed=0)
    assert (line["folds"], line["n_train"], line["n_test"]) == (10, 180, 20)
    for labels in ("5 %", "all"):
        values = [other["metrics"][labels]["accuracy"] for other in lines]
        assert line["metrics"][labels]["accuracy"] == pytest.approx(np.mean(values), abs=0.02)
    assert "folds" not in lines[0]


def test_texts_are_compared_with_the_frequencies_of_words():
    texts = [
        f"{'win' if i % 2 else 'meet'} {i * i} {'pounds' if i % 2 else 'at'}" for i in range(50)
    ]
    parts = split_parts(texts, np.arange(50) % 2)
    assert models_of(parts)[-1] == "tf-idf"
    line = measure("tf-idf", [parts], seed=1)
    assert line["metrics"]["all"]["accuracy"] == 100
    assert line["width"] < 60


def test_the_command_replaces_earlier_lines_of_the_same_run(tmp_path, capsys):
    text = "\n".join(f"ham\tsee you at {i}\nspam\tWIN {i} pounds" for i in range(30))
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "SMSSpamCollection.gz").write_bytes(gzip.compress(text.encode()))
    out = tmp_path / "lines.jsonl"
    chosen = ["sms-spam", "--data", str(tmp_path), "--models", "RandomFeatures", "--out", str(out)]
    for seeds in ("0", "1", "0"):
        assert main([*chosen, "--seeds", seeds]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["seed"] for line in printed] == [0, 1, 0]
    assert [line["seed"] for line in kept] == [0, 1]
    assert kept[0] == printed[2]


def test_the_tables_show_the_best_in_bold_and_the_spread():
    found = {"LFR": (80.0, 82.0), "pipeline": (70.0, 71.0)}
    lines = [
        {"dataset": "bank", "model": model,
         "metrics": {n: {"accuracy": value, "auroc": value} for n in ("5 %", "all")}}
        for model, values in found.items()
        for value in values
    ]  # fmt: skip
    row = next(line for line in report.tables(lines).splitlines() if line.startswith("| bank"))
    assert "70.5 ± 0.7" in row
    assert "**81.0** ± 1.4" in row
