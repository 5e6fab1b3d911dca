"""Random features side by side: standardization, principal components, the encoder made of them."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch import nn

from aleator.projectors import feature_encoder as encoder_module
from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.drawn import scale_of
from aleator.projectors.feature_bank import FeatureBank, draw_families, principal_components
from aleator.projectors.feature_encoder import FeatureTrunk, feature_encoder
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


class TestFeatureEncoder:
    @pytest.fixture(autouse=True)
    def few_features(self, monkeypatch):
        monkeypatch.setattr(encoder_module, "_N_FEATURES", 160)
        monkeypatch.setattr(encoder_module, "_N_COMPONENTS", 24)

    def made(self, n_samples=200, embedding_dim=32, sample=True):
        torch.manual_seed(0)
        x = sample_of("table", n_samples)
        families = [RandomTrees.build]
        return x, feature_encoder((6,), embedding_dim, x if sample else None, families=families)

    def test_it_starts_as_a_rotation_of_the_components(self):
        x, encoder = self.made()
        components, embedding = encoder.front(x), encoder(x).detach()
        assert components.shape == (200, 24)
        ratio = torch.pdist(embedding) / torch.pdist(components)
        np.testing.assert_allclose(ratio, ratio[0].item(), rtol=1e-3)
        assert embedding.var(0, correction=0).mean().item() == pytest.approx(1, rel=1e-3)

    def test_a_narrow_embedding_keeps_the_first_components(self):
        x, encoder = self.made(embedding_dim=5)
        first = encoder.front(x)[:, :5]
        ratio = torch.pdist(encoder(x).detach()) / torch.pdist(first)
        np.testing.assert_allclose(ratio, ratio[0].item(), rtol=1e-3)

    def test_only_the_network_of_the_trunk_is_trained_and_it_starts_at_zero(self):
        x, encoder = self.made()
        trained = [name for name, value in encoder.named_parameters() if value.requires_grad]
        assert sorted(trained) == [
            f"trunk.network.{layer}.{kind}" for layer in (0, 2) for kind in ("bias", "weight")
        ]
        components = encoder.front(x)
        assert not encoder.trunk.network(components).any()
        assert torch.equal(encoder(x), components @ encoder.trunk.linear)
        # Inputs of the network have a mean square of one.
        scaled = components * encoder.trunk.scale
        assert scaled.square().mean().item() == pytest.approx(1, rel=0.05)

    @pytest.mark.parametrize("n_samples", [2, 10])
    def test_few_samples_give_the_same_sizes(self, n_samples):
        _, encoder = self.made(n_samples)
        _, empty = self.made(sample=False)
        new = sample_of("table", 50, seed=1)
        empty.load_state_dict(encoder.state_dict())
        assert torch.equal(empty(new), encoder(new))
        assert torch.isfinite(encoder(new)).all()
        assert encoder(new).abs().max() < 30

    def test_the_default_width(self):
        assert self.made(embedding_dim=None)[1](sample_of("table", 3)).shape == (3, 512)


def test_a_trunk_keeps_distances_up_to_one_scale():
    torch.manual_seed(0)
    trunk = FeatureTrunk(4, 6, torch.tensor([4.0, 2.0, 1.0, 0.5]))
    x = torch.randn(50, 4)
    ratio = torch.pdist(trunk(x).detach()) / torch.pdist(x)
    np.testing.assert_allclose(ratio, ratio[0].item(), rtol=1e-4)
    assert isinstance(trunk.network[-1], nn.Linear)
