"""Label-free diagnostics of fitted estimators."""

import numpy as np
import pytest

from aleator import DACL, SCARF, TSTCC, RandomEncoder, SimCLR, SimSiam
from aleator.evaluation import diagnose, diagnose_model


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        (SimCLR, "table"), (SimSiam, "table"), (SCARF, "table"), (DACL, "table"),
        (SimCLR, "series"), (DACL, "series"), (TSTCC, "series"),
    ],
)  # fmt: skip
def test_lidar_of_an_estimator_that_compares_views(method, kind, table, series, monkeypatch):
    X = table if kind == "table" else series
    model = method(epochs=1, random_state=0, progress=False).fit(X)
    calls = []
    monkeypatch.setattr(
        "aleator.evaluation.model_diagnostics.diagnose",
        lambda rows, views, device: calls.append((rows, views)) or diagnose(rows, views, device),
    )
    diagnosis = diagnose_model(model, X, n_views=4, device="cpu")
    assert 1 <= diagnosis.lidar <= model.embedding_dim_
    ((rows, views),) = calls
    assert views.shape == (len(X), 4, model.embedding_dim_)
    np.testing.assert_array_equal(rows, model.transform(X))
    assert not np.allclose(views[:, 1], views[:, 3])  # every view is drawn independently
    assert diagnose_model(model, X, n_views=4, device="cpu").lidar == diagnosis.lidar
    if method is SCARF:  # one of its two views is the unchanged sample
        np.testing.assert_allclose(views[:, 0], rows, atol=1e-5)


def test_other_estimators_have_no_lidar(table):
    model = RandomEncoder(embedding_dim=8, random_state=0).fit(table)
    assert diagnose_model(model, table, device="cpu").lidar is None
    with pytest.raises(ValueError, match="n_views"):
        diagnose_model(model, table, n_views=1)
