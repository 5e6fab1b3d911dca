"""What `aleator.describe` says of every kind of data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import aleator
from tests.frames import LIBRARIES, people, to_arrow, to_pandas


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table(library):
    found = aleator.describe(LIBRARIES[library](people()), device="cpu")
    assert (found.modality, found.n_samples, found.given_shape) == ("table", 80, (15,))
    model = aleator.RandomFeatures(n_features=8).fit(to_pandas(people()))
    assert found.columns == model.adapter_.columns_
    assert found.input_shape == model.adapter_.shape
    gaps = sum(values.count(None) + values.count("?") for _, values in people().values())
    assert found.missing == pytest.approx(gaps / (15 * 80))
    assert found.placement.bytes == 4 * 80 * found.input_shape[0]
    lines = repr(found).splitlines()
    assert lines[0] == f"table: 80 rows of 15 columns, which become {found.input_shape[0]} features"
    assert "missing: " in lines[1]
    assert "now in memory; for training on cpu: kept on the device" in lines[2]
    assert any(line.startswith("hired") and "%m/%d/%Y" in line for line in lines)


@pytest.mark.parametrize(
    ("X", "modality", "line"),
    [
        (np.ones((5, 3)) * np.arange(5)[:, None], "table", "table: 5 rows of 3 columns"),
        (np.zeros((5, 2, 30)), "series", "series: 5 samples of 2 × 30 values"),
        (torch.zeros(5, 3, 8, 9), "image", "image: 5 samples of 3 × 8 × 9 values"),
    ],
)
def test_other_data(X, modality, line):
    found = aleator.describe(X, device="cpu")
    assert found.modality == modality
    assert repr(found).startswith(line)
    assert found.missing == 0
    assert (found.columns == []) == (modality != "table")


def test_files_and_where_they_will_be(tmp_path):
    pq.write_table(to_arrow(people()), tmp_path / "x.parquet")
    found = aleator.describe(tmp_path / "x.parquet", device="cpu")
    assert found.source == "files"
    assert found.placement.where == "streamed"
    model = aleator.LFR(epochs=1, random_state=0, device="cpu", progress=False)
    model.fit(tmp_path / "x.parquet")
    assert model.plan_.where("input") == found.placement.where
    frame = to_pandas(people())
    described = aleator.describe(frame, device="cpu").placement
    assert model.fit(frame).plan_.where("input") == described.where == "device"
    values = np.random.default_rng(0).normal(size=(40, 3))
    assert model.fit(values).plan_.where("input") == "host"
    assert aleator.describe(values, device="cpu").placement.where == "host"


def test_errors_are_those_of_fit():
    with pytest.raises(ValueError, match=r"inf.*row 1, column 'a'"):
        aleator.describe(pd.DataFrame({"a": [1.0, np.inf], "b": ["x", "y"]}))
    with pytest.raises(ValueError, match="more than one column 'a'"):
        aleator.describe(pa.table([[1], [2]], names=["a", "a"]))


def test_several_parts():
    random = np.random.default_rng(0)
    X = {
        "people": pd.DataFrame({"age": [1.0, None, 3.0, 4.0], "city": list("abca")}),
        "pulse": random.normal(size=(4, 2, 30)),
    }
    found = aleator.describe(X, device="cpu")
    assert (found.modality, found.n_samples, found.input_shape) == ("parts", 4, (5 + 60,))
    for name, part in X.items():
        alone = aleator.describe(part, device="cpu")
        assert found.parts[name].plan.placements == alone.plan.placements
        # What is free on the device changes from one moment to the next.
        assert replace(found.parts[name], plan=None) == replace(alone, plan=None)
    lines = repr(found).splitlines()
    assert lines[0] == "parts: 4 samples of 'people' and 'pulse', which become 65 features"
    assert "part 'people'" in lines
    assert "  missing: 12.5 % of the values" in lines
    assert "  lengths: all 30 time steps of 2 channels" in lines
    assert any(line.startswith("  city") for line in lines)


@pytest.mark.parametrize("shape", [(3,), (2, 9)])
def test_the_plan_is_that_of_lfr(shape):
    X = np.random.default_rng(0).normal(size=(40, *shape)).astype(np.float32)
    planned = aleator.describe(X, device="cpu").plan
    model = aleator.LFR(epochs=1, random_state=0, device="cpu", progress=False).fit(X)
    assert planned.placements == model.plan_.placements
    assert (planned.batch_size, planned.device) == (model.plan_.batch_size, "cpu")


@pytest.mark.parametrize("n", [2047, 2048])
def test_the_plan_knows_how_wide_features_are(n):
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    planned = {place.name: place.bytes for place in aleator.describe(X).plan.placements}
    model = aleator.RandomEncoder(encoder="random-features", random_state=0).fit(X)
    assert planned["features"] == 4 * n * model.embedding_dim_


def test_columns_without_names_that_are_alike_have_one_line():
    values = np.random.default_rng(0).normal(size=(9, 12))
    lines = repr(aleator.describe(values, device="cpu")).splitlines()
    assert lines[-1].split() == ["0", "to", "11", "number", "12", "standardized"]
    values[2, 4] = np.nan
    lines = repr(aleator.describe(values, device="cpu")).splitlines()
    assert [line.split()[:3] for line in lines[-3:]] == [
        ["0", "to", "3"], ["4", "number", "11.1"], ["5", "to", "11"],
    ]  # fmt: skip
