"""Random features side by side: standardization and principal components."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.drawn import scale_of
from aleator.projectors.feature_bank import FeatureBank, draw_families, principal_components
from aleator.projectors.spectrum import SpectralBands
from aleator.projectors.trees import RandomTrees
from tests.projectors.families import generator, sample_of


def series_bank(n_components=None, n_samples=300):
    x = sample_of("series", n_samples)
    torch.manual_seed(0)
    families = [RandomConvolutions.build, SpectralBands.build]
    modules = draw_families(families, (3, 30), 61, x)
    return x, modules, FeatureBank.fit(modules, x, n_components)


def test_features_are_those_of_the_families_standardized():
    x, modules, bank = series_bank()
    raw = np.concatenate([module(x).numpy() for module in modules], 1)
    assert [module(x).shape[1] for module in modules] == [31, 30], "a surplus goes to the first"
    expected = (raw - raw.mean(0)) / raw.std(0)
    np.testing.assert_allclose(bank(x), expected, atol=1e-3)


@pytest.mark.parametrize("count", [1, 5, 20])
def test_components_are_those_of_scikit_learn(count):
    x, _, bank = series_bank(count)
    standardized = ((bank.raw(x) - bank.mean) / bank.scale).double().numpy()
    theirs = PCA(count, svd_solver="full").fit(standardized)
    ours = bank.components.double().numpy()
    np.testing.assert_allclose(ours.T @ ours, np.eye(count), atol=1e-4)
    overlap = np.linalg.svd(theirs.components_ @ ours, compute_uv=False)
    assert overlap.min() > 0.999, "they span the same subspace"
    deviation = np.sqrt(theirs.explained_variance_ * 299 / 300)
    np.testing.assert_allclose(bank.deviation, deviation, rtol=1e-3)
    np.testing.assert_allclose(bank(x).std(0, correction=0), deviation, rtol=1e-3)


def test_components_have_a_definite_sign():
    features = torch.randn(50, 6, generator=generator())
    first, second = (principal_components(part, 4) for part in (features, -features))
    torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-4)


def test_a_direction_in_which_the_sample_does_not_vary_is_no_component():
    """Ten centered rows span nine directions; the tenth would be one of rounding."""
    torch.manual_seed(0)
    x = sample_of("table", 10)
    modules = draw_families([RandomTrees.build], (6,), 400, x)
    bank = FeatureBank.fit(modules, x, 10)
    assert bank.deviation[-1] == 0
    assert (bank.deviation[:-1] > 0).all()
    assert (bank(sample_of("table", 30, seed=1))[:, -1] == 0).all()


def test_constant_features_are_not_scaled_up():
    scale = scale_of(torch.tensor([0.0, 1e-9, 0.2, 0.4, 0.6]), torch.tensor([3.0, 1, 0, 0, 0]))
    np.testing.assert_allclose(scale, [0.4, 0.4, 0.2, 0.4, 0.6])
    assert scale_of(torch.zeros(3), torch.ones(3)).tolist() == [1, 1, 1]
    # Of two rows, most leaves are empty; new rows that reach them must not become outliers.
    x = sample_of("table", 2)
    bank = FeatureBank.fit([RandomTrees.draw(x, 80, generator())], x)
    assert bank(sample_of("table", 50, seed=1)).abs().max() < 10


def test_an_empty_bank_is_filled_by_a_state_dict():
    x, _, bank = series_bank(7)
    families = [RandomConvolutions.build, SpectralBands.build]
    empty = FeatureBank(draw_families(families, (3, 30), 61, None))
    empty.load_state_dict(bank.state_dict())
    assert torch.equal(empty(x), bank(x))
