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


def test_views_take_their_values_from_the_training_data(table, monkeypatch):
    """Cells of a corrupted row are those of other rows of the training data."""
    model = SCARF(epochs=1, embedding_dim=4, random_state=0, progress=False).fit(table)
    low, high = table.min(0), table.max(0)
    one_row = np.repeat((low + high)[None] / 2, 3, axis=0)
    # Rows without variation are corrupted to themselves, and give no information.
    assert diagnose_model(model, one_row).lidar < 1.5
    assert diagnose_model(model, one_row, X_train=table).lidar != pytest.approx(
        diagnose_model(model, one_row).lidar
    )
    sources = []
    views = SCARF.training_views
    monkeypatch.setattr(
        SCARF, "training_views", lambda self, source: sources.append(source) or views(self, source)
    )
    diagnose_model(model, table[:5], X_train=table)
    assert [len(source) for source in sources] == [len(table)]
