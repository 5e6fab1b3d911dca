"""Embedding with Spark on two cores, where PySpark and Java are (CI does not have them)."""

import shutil

import numpy as np
import pytest

from aleator import RandomEncoder
from aleator.benchmark import engines
from aleator.integrations import transform_spark

pytest.importorskip("pyspark", exc_type=ImportError)
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    # PySpark uses what pandas has deprecated.
    pytest.mark.filterwarnings("default:::pyspark"),
]


def test_two_workers_load_the_model_once_each(tmp_path):
    proof = engines.prove("spark", tmp_path)
    assert proof["loads_per_worker"] == [1, 1]
    assert proof["partitions"] == 13
    assert proof["rows"] == 2400
    assert proof["rows_in_order"]
    assert proof["columns_as_named"]
    assert proof["largest_difference"] <= 1e-6 * max(1, proof["largest_value"])


def test_schema_names_and_arrays(people, folder, expected, series, tmp_path):
    with engines.spark_session() as spark:
        frame = spark.createDataFrame(people.rename(columns={"id": "the.id"}))
        embedded = transform_spark(frame, folder, keep=["the.id"])
        kinds = [field.dataType.simpleString() for field in embedded.schema]
        assert kinds == ["string", "float", "float", "float", "float"]
        found = embedded.toPandas()
        assert found["the.id"].tolist() == people["id"].tolist()
        assert np.abs(found.iloc[:, 1:].to_numpy() - expected.iloc[:, 1:].to_numpy()).max() <= 1e-6

        with pytest.raises(ValueError, match="needs the column 'age', but there is none"):
            transform_spark(frame.drop("age"), folder)

        encoder = RandomEncoder(embedding_dim=4, random_state=0).fit(series)
        encoder.save(tmp_path / "series")
        rows = [(i, x.tolist()) for i, x in enumerate(series)]
        arrays = spark.createDataFrame(rows, "id int, signal array<array<float>>")
        embedded = transform_spark(arrays, tmp_path / "series", keep=["id"], columns="signal")
        found = embedded.toPandas()
        assert np.abs(found.iloc[:, 1:].to_numpy() - encoder.transform(series)).max() <= 1e-6
        assert found["id"].tolist() == list(range(len(series)))
