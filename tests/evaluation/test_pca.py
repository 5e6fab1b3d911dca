"""Principal components against a singular value decomposition."""

import numpy as np
import pytest
import torch

from aleator.evaluation.pca import PrincipalComponents


@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
def test_components_and_variances(random, shape):
    rows = random.normal(size=shape) * np.arange(1, shape[1] + 1) + 2
    original = rows.copy()
    pca = PrincipalComponents.fit(rows, torch.device("cpu"))
    np.testing.assert_array_equal(rows, original)
    centered = rows - rows.mean(0)
    expected = np.sort(np.linalg.svd(centered, compute_uv=False) ** 2 / len(rows))
    np.testing.assert_allclose(pca.variances, expected, atol=1e-9 * expected.max())
    np.testing.assert_allclose(pca.transform(rows), pca.scores, atol=1e-9)
    np.testing.assert_allclose(pca.scores @ pca.components.T, centered, atol=1e-9)


def test_components_without_variance_are_zero(random):
    rows = random.normal(size=(4, 10)).astype(np.float32)
    rows[1] = rows[0]
    pca = PrincipalComponents.fit(rows, torch.device("cpu"))
    assert (pca.variances > 0).tolist() == [False, False, True, True]
    others = pca.transform(random.normal(size=(20, 10)))
    assert (others[:, :2] == 0).all()
    assert (others[:, 2:] != 0).all()
