"""Views: what they change, how much of it, and what they leave as it is."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator.views import FeatureCorruption, Mixup, RandomScaling, SegmentPermutation
from aleator.views.mixup import draw_partners
from aleator.views.simclr_augmentation import SimCLRAugmentation
from aleator.views.user_view import RandomChoice


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_the_weak_view_scales_each_step_of_all_channels_alike():
    x = torch.rand(2000, 3, 7) + 1
    factors = RandomScaling(0.1)(x) / x
    torch.testing.assert_close(factors[:, :1].expand_as(factors), factors)
    assert factors.mean().item() == pytest.approx(1, abs=0.005)
    assert factors[:, 0].std().item() == pytest.approx(0.1, rel=0.05)
    assert len(factors[:, 0].unique()) > 13_000  # a draw for every step of every series


def test_the_strong_view_moves_whole_segments_of_all_channels_alike():
    steps = 30
    x = torch.arange(float(steps)).repeat(3000, 2, 1)
    x[:, 1] += 100
    moved = SegmentPermutation(4, noise=0.0)(x)
    assert torch.equal(moved[:, 1] - 100, moved[:, 0])
    assert torch.equal(moved[:, 0].sort(dim=1).values, x[:, 0])
    jumps = (moved[:, 0].diff(dim=1) != 1).sum(dim=1)
    assert jumps.max() == 3  # four segments have three seams
    shares = [(jumps == count).float().mean().item() for count in range(4)]
    # One in four has a single segment; others may land in their old order.
    assert 0.25 < shares[0] < 0.5
    assert min(shares) > 0.05


def test_the_strong_views_noise():
    x = torch.zeros(500, 2, 40)
    assert SegmentPermutation(4, noise=0.05)(x).std().item() == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_series_views_of_very_short_series(steps):
    x = torch.rand(5, 2, steps)
    assert RandomScaling()(x).shape == SegmentPermutation()(x).shape == x.shape


def test_corruption_replaces_exactly_its_share_of_every_row():
    table = torch.arange(50.0)[:, None] * 100 + torch.arange(10.0)  # a cell names row and column
    changed = FeatureCorruption(table, share=0.6)
    x = table[:20] + 0.5
    out = changed(x)
    replaced = out != x
    assert (replaced.sum(dim=1) == 6).all()
    # A replaced cell holds a value of its own column; the others are untouched.
    columns = torch.arange(10.0).expand_as(out)
    assert torch.equal((out % 100)[replaced], columns[replaced])
    assert torch.equal(out[~replaced], x[~replaced])


def test_corruption_draws_cells_and_rows_evenly_and_independently():
    table = torch.arange(5.0)[:, None].repeat(1, 4)
    out = FeatureCorruption(table, share=0.5)(torch.full((20_000, 4), -1.0))
    replaced = out >= 0
    np.testing.assert_allclose(replaced.float().mean(dim=0), 0.5, atol=0.02)
    drawn = out[replaced]
    np.testing.assert_allclose(
        [(drawn == value).float().mean() for value in range(5)], 0.2, atol=0.01
    )
    both = replaced[:, 0] & replaced[:, 1]
    same = (out[both][:, 0] == out[both][:, 1]).float().mean().item()
    assert same == pytest.approx(0.2, abs=0.03)  # two cells of a row come from different rows


def test_partners_are_others_and_each_is_taken_once():
    for count in (2, 3, 10):
        other = draw_partners(count, torch.device("cpu"))
        assert (other != torch.arange(count)).all()
        assert torch.equal(other.sort().values, torch.arange(count))
    assert draw_partners(1, torch.device("cpu")).tolist() == [0]


def test_linear_mixing_by_hand():
    x = torch.tensor([[0.0, 0.0], [1.0, 10.0]])
    mixed = Mixup(["linear"], least_share=0.8)(x)
    share = mixed[1, 0]  # sample 1 is all ones and tens, its partner zeros
    assert 0.8 <= share <= 1
    torch.testing.assert_close(mixed[1], share * x[1])


def test_geometric_mixing_by_hand():
    x = torch.tensor([[1.0, 1.0], [2.0, 8.0]])
    mixed = Mixup(["geometric"], least_share=0.5)(x)
    share = mixed[1, 0].log2()
    assert 0.5 <= share <= 1
    torch.testing.assert_close(mixed[1, 1], 8.0**share)


def test_binary_mixing_takes_whole_values():
    x = torch.stack([torch.zeros(4000), torch.ones(4000)])
    mixed = Mixup(["binary"], least_share=0.9)(x)
    assert set(mixed.unique().tolist()) <= {0.0, 1.0}
    assert 0.88 < mixed[1].mean().item() <= 1
    assert 0 <= mixed[0].mean().item() < 0.12


def test_several_mixings_are_drawn_sample_by_sample():
    x = torch.rand(300, 50) + 1
    mixed = Mixup(["linear", "binary"], least_share=0.5)(x)
    whole = (mixed[:, :, None] == x.T[None]).any(2).all(1)  # binary rows hold given values only
    assert 100 < whole.sum() < 200


@pytest.fixture
def augmentation():
    pytest.importorskip("kornia")

    def make(**changes):
        off = {"least_area": 1.0, "flip": 0.0, "jitter_share": 0.0, "gray_share": 0.0,
               "blur_share": 0.0}  # fmt: skip
        return SimCLRAugmentation(torch.zeros(3), torch.ones(3), **{**off, **changes})

    return make


def test_an_augmentation_with_everything_off_keeps_the_middle(augmentation):
    x = torch.rand(4, 3, 12, 12)
    # The shape of the crop still varies; with the whole area and a square it is the image itself.
    square = augmentation()
    square._uniform = lambda image, low, high: torch.full((len(image),), (low + high) / 2)
    torch.testing.assert_close(square(x), x, rtol=1e-4, atol=1e-4)


def test_crops_stay_inside_the_image(augmentation):
    x = torch.zeros(200, 3, 16, 20)
    x[:, 0] = torch.linspace(0, 1, 20)  # the column, and
    x[:, 1] = torch.linspace(0, 1, 16)[:, None]  # the row that a pixel came from
    out = augmentation(least_area=0.2)(x)
    assert out[:, :2].min() >= 0
    assert out[:, :2].max() <= 1
    wide = (out[:, 0, :, -1] - out[:, 0, :, 0]).mean(1)
    tall = (out[:, 1, -1] - out[:, 1, 0]).mean(1)
    assert (wide * tall).min() > 0.1  # a crop of a fifth, less half a pixel at each edge
    assert (wide * tall).std() > 0.1


def test_flips(augmentation):
    x = torch.linspace(0, 1, 20).expand(400, 3, 16, 20).contiguous()
    out = augmentation(flip=0.5)(x)
    assert (out[:, 0, 0, 0] > out[:, 0, 0, -1]).float().mean().item() == pytest.approx(0.5, abs=0.1)


def test_jitter_keeps_gray_gray_and_colors_in_range(augmentation):
    view = augmentation(jitter_share=1.0)
    gray = torch.rand(20, 1, 8, 8).expand(-1, 3, -1, -1).contiguous()
    out = view(gray)
    torch.testing.assert_close(out[:, 0], out[:, 1], atol=1e-5, rtol=0)
    assert not torch.allclose(out, gray, atol=0.02)
    colorful = view(torch.rand(20, 3, 8, 8))
    assert colorful.min() >= 0
    assert colorful.max() <= 1.0001


def test_gray_share(augmentation):
    out = augmentation(gray_share=0.2)(torch.rand(2000, 3, 2, 2))
    gray = (out[:, 0] == out[:, 1]).flatten(1).all(1)
    assert gray.float().mean().item() == pytest.approx(0.2, abs=0.04)


def test_blur_smooths_and_keeps_the_mean(augmentation):
    x = torch.rand(10, 3, 30, 30)
    out = augmentation(blur_share=1.0)(x)
    assert out.std() < 0.9 * x.std()
    assert out.mean().item() == pytest.approx(x.mean().item(), abs=0.02)


def test_the_scale_of_an_image_is_respected():
    pytest.importorskip("kornia")
    low, high = torch.tensor([-2.0, 0.0, 5.0]), torch.tensor([2.0, 10.0, 6.0])
    x = torch.rand(50, 3, 9, 9) * (high - low)[:, None, None] + low[:, None, None]
    out = SimCLRAugmentation(low, high)(x)
    for channel in range(3):
        values = out[:, channel]
        assert values.min() >= low[channel] - 1e-3
        assert values.max() <= high[channel] + 1e-3


@pytest.mark.parametrize("shape", [(1, 8, 8), (4, 5, 5), (3, 2, 3), (3, 1, 1)])
def test_any_number_of_channels_and_tiny_images(shape):
    pytest.importorskip("kornia")
    view = SimCLRAugmentation(torch.zeros(shape[0]), torch.ones(shape[0]))
    assert view(torch.rand(6, *shape)).shape == (6, *shape)


def test_a_random_choice_is_made_for_every_sample():
    seen = RandomChoice(nn.Identity(), RandomScaling(0.0, mean=-1.0))(torch.ones(200, 3, 4))
    assert seen.flatten(1).std(dim=1).max() == 0
    assert 50 < (seen[:, 0, 0] > 0).sum() < 150
    assert set(seen[:, 0, 0].tolist()) == {-1.0, 1.0}
