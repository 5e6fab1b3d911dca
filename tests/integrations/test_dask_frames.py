"""Embedding with Dask: in threads, and on a real cluster of two processes."""

import pandas as pd
import pytest

from aleator.benchmark import engines
from aleator.integrations import batches, transform_dask

dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)


@pytest.fixture
def frame(people):
    parts = [people[:10], people[10:10], people[10:25], people[25:]]
    return dd.from_map(lambda part: part, parts, meta=people[:0])


def test_nothing_is_embedded_before_compute(frame, folder, expected, monkeypatch):
    """Columns and types are known without the model; an empty partition does no harm."""
    with monkeypatch.context() as patch:
        patch.setattr(batches.BatchEmbedder, "_embed", _embed_nothing(batches.BatchEmbedder._embed))
        embedded = transform_dask(frame, folder, keep=["id"])
        assert embedded.npartitions == 4
        assert embedded.columns.tolist() == expected.columns.tolist()
        assert (embedded.dtypes.iloc[1:] == "float32").all()
        assert embedded.dtypes["id"] == frame.dtypes["id"]
    found = embedded.compute(scheduler="threads")
    # Products of another number of rows are rounded in other ways.
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=0, atol=1e-6)
    assert found.dtypes.to_dict() == embedded.dtypes.to_dict()


def _embed_nothing(embed):
    def only_no_rows(self, X):
        assert len(X) == 0
        return embed(self, X)

    return only_no_rows


def test_a_missing_column_is_found_before_compute(frame, folder):
    with pytest.raises(ValueError, match="needs the column 'age', but there is none"):
        transform_dask(frame.drop(columns="age"), folder)


def test_two_workers_load_the_model_once_each(tmp_path):
    pytest.importorskip("distributed")
    proof = engines.prove("dask", tmp_path)
    assert proof["loads_per_worker"] == [1, 1]
    assert proof["partitions"] == 13
    assert proof["rows"] == 2400
    assert proof["rows_in_order"]
    assert proof["columns_as_named"]
    assert proof["largest_difference"] <= 1e-6 * max(1, proof["largest_value"])
