"""Embedding with Ray Data on a real cluster, where Ray is installed (CI does not have it)."""

import numpy as np
import pandas as pd
import pytest

from aleator import RandomEncoder
from aleator.benchmark import engines
from aleator.integrations import transform_ray

pytest.importorskip("ray.data", exc_type=ImportError)
# Ray warns of settings of its own that it uses itself.
pytestmark = pytest.mark.filterwarnings("default:::ray")


def test_two_actors_load_the_model_once_each(tmp_path):
    proof = engines.prove("ray", tmp_path)
    assert proof["loads_per_worker"] == [1, 1]
    assert proof["rows"] == 2400
    assert proof["rows_in_order"]
    assert proof["columns_as_named"]
    assert proof["largest_difference"] <= 1e-6 * max(1, proof["largest_value"])


def test_order_columns_and_tensors(people, folder, expected, series, tmp_path):
    with engines.ray_cluster() as data:
        actors = data.ActorPoolStrategy(size=2)
        # The first block takes longer than all others together, which another actor gets.
        many = pd.concat([people] * 3000)
        dataset = data.from_pandas([many, *[people[:3]] * 8])
        found = transform_ray(dataset, folder, keep=["id"], compute=actors).to_pandas()
        assert found["id"].tolist() == many["id"].tolist() + people["id"].tolist()[:3] * 8
        numbers = found.iloc[:30, 1:].to_numpy(np.float32)
        assert np.abs(numbers - expected.iloc[:, 1:].to_numpy()).max() <= 1e-6
        assert [str(kind) for kind in found.dtypes[1:]] == ["float[pyarrow]"] * 4

        with pytest.raises(ValueError, match="needs the column 'age', but there is none"):
            transform_ray(data.from_pandas([people.drop(columns="age")]), folder)
        with pytest.raises(ValueError, match="batch_format is set by transform_ray"):
            transform_ray(dataset, folder, batch_format="pandas")

        encoder = RandomEncoder(embedding_dim=4, random_state=0).fit(series)
        encoder.save(tmp_path / "series")
        tensors = data.from_numpy(series)
        found = transform_ray(tensors, tmp_path / "series", columns="data").to_pandas()
        assert np.abs(found.to_numpy(np.float32) - encoder.transform(series)).max() <= 1e-6
