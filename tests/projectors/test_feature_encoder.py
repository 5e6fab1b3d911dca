"""The encoder that begins with random features."""

from functools import partial

import numpy as np
import pytest
import torch

from aleator.projectors.feature_encoder import FeatureTrunk, default_width, feature_encoder
from aleator.projectors.trees import RandomTrees
from tests.projectors.families import generator, sample_of


def made(n_samples=200, embedding_dim=32, sample=True):
    torch.manual_seed(0)
    x = sample_of("table", n_samples)
    encoder = feature_encoder(
        (6,),
        embedding_dim,
        x if sample else None,
        families=[RandomTrees.build],
        n_features=160,
        default_dim=24,
    )
    return x, encoder


def solved(n_samples=200, embedding_dim=32):
    x, encoder = made(n_samples, embedding_dim)
    targets = RandomTrees.draw(x, 80, generator(1))(x)
    centered = targets - targets.mean(0)
    return x, targets, encoder, encoder.fit_linear(x, centered @ centered.T)


def predictable(embedding, targets):
    """Share of the variance of targets that a linear map predicts."""
    embedding, targets = (part - part.mean(0) for part in (embedding, targets))
    error = targets - embedding @ torch.linalg.lstsq(embedding, targets).solution
    return 1 - (error.square().sum() / targets.square().sum()).item()


def test_it_is_built_with_random_weights():
    x, encoder = made()
    assert encoder.front(x).shape == (200, 32)
    assert encoder.trunk.network(encoder.front(x)).abs().max() > 0
    features = (encoder.front.raw(x) - encoder.front.mean) / encoder.front.scale
    ratio = torch.pdist(encoder.front(x)) / torch.pdist(features)
    assert 0.2 < ratio.min() < ratio.max() < 0.9, "a random projection keeps distances roughly"
    assert encoder(x).detach().var(0, correction=0).mean().item() == pytest.approx(1, rel=0.2)


def test_the_solution_predicts_targets_better_than_random_weights():
    x, encoder = made(embedding_dim=8)
    before = encoder.front(x)[:, :8]
    _, targets, encoder, after = solved(embedding_dim=8)
    assert predictable(after, targets) > predictable(before, targets) + 0.2


def test_the_embedding_starts_as_a_rotation_of_the_solution():
    x, _, encoder, embedding = solved()
    torch.testing.assert_close(encoder(x).detach(), embedding, rtol=1e-3, atol=1e-3)
    ratio = torch.pdist(embedding) / torch.pdist(encoder.front(x))
    np.testing.assert_allclose(ratio, ratio[0].item(), rtol=1e-3)
    assert embedding.var(0, correction=0).mean().item() == pytest.approx(1, rel=1e-3)
    deviation = encoder.front.deviation
    assert (deviation[:-1] >= deviation[1:] * (1 - 1e-4)).all()


def test_a_narrow_embedding_keeps_the_first_components():
    x, _, encoder, embedding = solved(embedding_dim=5)
    assert encoder.front(x).shape == (200, 24)
    ratio = torch.pdist(embedding) / torch.pdist(encoder.front(x)[:, :5])
    np.testing.assert_allclose(ratio, ratio[0].item(), rtol=1e-3)


def test_only_the_network_of_the_trunk_is_trained_and_it_starts_at_zero():
    x, _, encoder, _ = solved()
    trained = [name for name, value in encoder.named_parameters() if value.requires_grad]
    assert sorted(trained) == [
        f"trunk.network.{layer}.{kind}" for layer in (0, 2) for kind in ("bias", "weight")
    ]
    components = encoder.front(x)
    assert not encoder.trunk.network(components).any()
    scaled = components * encoder.trunk.scale
    assert scaled.square().mean().item() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("n_samples", [2, 10])
def test_few_samples_give_the_same_sizes(n_samples):
    _, _, encoder, _ = solved(n_samples)
    _, empty = made(sample=False)
    new = sample_of("table", 50, seed=1)
    empty.load_state_dict(encoder.state_dict())
    assert torch.equal(empty(new), encoder(new))
    assert torch.isfinite(encoder(new)).all()
    assert encoder(new).abs().max() < 30
    # The network sees a component for every four samples, and at least one.
    assert (encoder.trunk.scale > 0).sum() == max(1, n_samples // 4)


@pytest.mark.parametrize(("n_samples", "n_features", "width"), [(20, 4096, 512), (2048, 8192, 600)])
def test_small_sets_have_fewer_features_and_a_narrower_embedding(n_samples, n_features, width):
    x = sample_of("table", n_samples)
    large = partial(
        feature_encoder, (6,), families=[RandomTrees.build], n_features=8192, default_dim=600
    )
    encoder = large(None, x)
    assert encoder.front.components.shape == (n_features, width)
    assert encoder(x[:2]).shape == (2, width)
    empty = large(None)
    empty.load_state_dict(encoder.state_dict())
    assert torch.equal(empty(x[:2]), encoder(x[:2]))
    assert large(550, x)(x[:2]).shape == (2, 550), "a width that is asked for is kept"


@pytest.mark.parametrize(
    ("n_sampled", "usual", "width"),
    [(1, 4096, 512), (2047, 4096, 512), (2048, 4096, 1024), (2796, 4096, 1024), (2796, 512, 512),
     (8191, 4096, 2048), (12288, 4096, 4096), (4096, 600, 600), (1000, 300, 300)],
)  # fmt: skip
def test_an_embedding_is_at_most_half_as_wide_as_there_are_samples(n_sampled, usual, width):
    assert default_width(n_sampled, usual) == width


def test_the_default_width():
    assert made(embedding_dim=None)[1](sample_of("table", 3)).shape == (3, 24)


def test_a_trunk_keeps_distances_up_to_one_scale():
    torch.manual_seed(0)
    trunk = FeatureTrunk(4, 6)
    trunk.start_at_zero()
    x = torch.randn(50, 4)
    for deviation in (torch.tensor([4.0, 2.0, 1.0, 0.5]), torch.ones(4)):
        trunk.scale_inputs(deviation)
        ratio = torch.pdist(trunk(x).detach()) / torch.pdist(x)
        np.testing.assert_allclose(ratio, ratio[0].item(), rtol=1e-4)
        expected = (6 / deviation.square().sum()).sqrt().item()
        assert ratio[0].item() == pytest.approx(expected, rel=1e-4)
