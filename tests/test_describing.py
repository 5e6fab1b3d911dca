"""What `aleator.describe` says of every kind of data."""

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
