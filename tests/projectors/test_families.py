"""What all families of projectors that are drawn from data have in common."""

import pytest
import torch

from aleator.projectors import dilated_filters, patch_filters
from aleator.projectors.convolutions import RandomConvolutions
from tests.projectors.families import FAMILIES, IMAGES, SERIES, TABLES, generator, sample_of

every_family = pytest.mark.parametrize(("family", "modality"), FAMILIES)

SMALL_SHAPES = [
    *((family, (channels, steps)) for family in SERIES for channels in (1, 2)
      for steps in (1, 2, 3, 5)),
    *((family, (channels, *size)) for family in IMAGES for channels in (1, 3)
      for size in ((1, 1), (1, 4), (2, 2), (3, 3), (4, 4))),
    *((family, (columns,)) for family in TABLES for columns in (1, 2, 50)),
]  # fmt: skip


@every_family
@pytest.mark.parametrize("width", [1, 2, 7, 16, 33, 100])
def test_the_width_is_exact(family, modality, width):
    x = sample_of(modality)
    features = family.draw(x, width, generator())(x)
    assert features.shape == (40, width)
    assert features.dtype == torch.float32
    assert torch.isfinite(features).all()
    if width > 1:
        assert (features.std(0) > 0).sum() > width / 2


@every_family
def test_a_seed_fixes_the_features(family, modality):
    x = sample_of(modality)
    first, second, other = (family.draw(x, 33, generator(seed))(x) for seed in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.allclose(first, other)


@every_family
def test_drawing_uses_torchs_generator_only_through_build(family, modality):
    x = sample_of(modality)
    state = torch.get_rng_state()
    family.draw(x, 9, generator())
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(3)
    first = family.build(x.shape[1:], 9, x)(x)
    second = family.build(x.shape[1:], 9, x)(x)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(family.build(x.shape[1:], 9, x)(x), first)


@every_family
def test_a_state_dict_fills_an_empty_module(family, modality):
    x = sample_of(modality)
    drawn = family.draw(x, 21, generator())
    empty = family.build(x.shape[1:], 21)
    assert all(part.numel() <= 1 for part in empty.state_dict().values())
    empty.load_state_dict(drawn.state_dict())
    assert torch.equal(empty(x), drawn(x))
    assert not list(drawn.parameters())


@every_family
def test_single_precision_is_close_to_double(family, modality):
    x = sample_of(modality)
    drawn = family.draw(x, 33, generator())
    single = drawn(x)
    double = drawn.double()(x.double())
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, rtol=1e-3, atol=1e-3)
    assert torch.equal(drawn.float()(x), single)


@every_family
def test_batches_and_pieces_do_not_change_the_result(family, modality, monkeypatch):
    x = sample_of(modality)
    drawn = family.draw(x, 33, generator())
    whole = drawn(x)
    single = torch.cat([drawn(rows) for rows in x.split(1)])
    torch.testing.assert_close(single, whole, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(dilated_filters, "_CACHED", 1)
    monkeypatch.setattr(patch_filters, "_VALUES_PER_PIECE", 1)
    torch.testing.assert_close(drawn(x), whole, rtol=1e-4, atol=1e-5)


@every_family
@pytest.mark.parametrize("n_samples", [2, 3])
def test_few_samples_are_enough(family, modality, n_samples):
    x = sample_of(modality, n_samples)
    features = family.draw(x, 40, generator())(sample_of(modality, seed=1))
    assert features.shape == (40, 40)
    assert torch.isfinite(features).all()


@every_family
@pytest.mark.parametrize(
    "spoil",
    [
        torch.zeros_like,
        torch.ones_like,
        lambda x: x.index_fill(1, torch.tensor([0]), 2.5),
        lambda x: (x > 0).float(),
        lambda x: 1e6 * x,
        lambda x: 1e-6 * x,
    ],
    ids=["zeros", "ones", "constant channel", "binary", "large", "small"],
)
def test_degenerate_data_give_finite_features(family, modality, spoil):
    x = spoil(sample_of(modality))
    drawn = family.draw(x, 25, generator())
    assert torch.isfinite(drawn(x)).all()
    assert torch.isfinite(drawn(sample_of(modality, seed=1))).all()


@pytest.mark.parametrize(("family", "shape"), SMALL_SHAPES)
def test_the_smallest_samples_have_features_that_vary(family, shape):
    x = torch.randn(30, *shape, generator=generator())
    features = family.draw(x, 24, generator())(x)
    assert features.shape == (30, 24)
    assert torch.isfinite(features).all()
    assert (features - features[0]).abs().max() > 1e-3


def test_rounding_does_not_decide_about_constant_stretches():
    """A threshold from a constant stretch equals the responses to all others, but for rounding."""
    x = sample_of("series", 20)
    x[:, :, 8:] = 3.7
    drawn = RandomConvolutions.draw(x, 90, generator())
    shares = drawn(x)[:, :60]  # two thresholds of thirty filters; the rest are deviations
    double = drawn.double()(x.double())[:, :60]
    assert (shares.double() - double).abs().max() < 1e-5
