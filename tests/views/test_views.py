"""Views: what they change, how much of it, and what they leave alone."""

import sys

import numpy as np
import pytest
import torch
from torch import nn

from aleator.views import Corrupted, Mixed, Scaled, Shuffled
from aleator.views.choice import single_view, view_pair
from aleator.views.image import Photographed
from aleator.views.mixing import partners


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_the_weak_view_scales_each_step_of_all_channels_alike():
    x = torch.rand(2000, 3, 7) + 1
    factors = Scaled(0.1)(x) / x
    torch.testing.assert_close(factors[:, :1].expand_as(factors), factors)
    assert factors.mean().item() == pytest.approx(1, abs=0.005)
    assert factors[:, 0].std().item() == pytest.approx(0.1, rel=0.05)
    assert len(factors[:, 0].unique()) > 13_000  # a draw for every step of every series


def test_the_strong_view_moves_whole_segments_of_all_channels_alike():
    steps = 30
    x = torch.arange(float(steps)).repeat(3000, 2, 1)
    x[:, 1] += 100
    moved = Shuffled(4, noise=0.0)(x)
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
    assert Shuffled(4, noise=0.05)(x).std().item() == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_series_views_of_very_short_series(steps):
    x = torch.rand(5, 2, steps)
    assert Scaled()(x).shape == Shuffled()(x).shape == x.shape


def test_corruption_replaces_exactly_its_share_of_every_row():
    table = torch.arange(50.0)[:, None] * 100 + torch.arange(10.0)  # a cell names row and column
    changed = Corrupted(table, share=0.6)
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
    out = Corrupted(table, share=0.5)(torch.full((20_000, 4), -1.0))
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
        other = partners(count, torch.device("cpu"))
        assert (other != torch.arange(count)).all()
        assert torch.equal(other.sort().values, torch.arange(count))
    assert partners(1, torch.device("cpu")).tolist() == [0]


def test_linear_mixing_by_hand():
    x = torch.tensor([[0.0, 0.0], [1.0, 10.0]])
    mixed = Mixed(["linear"], least=0.8)(x)
    share = mixed[1, 0]  # sample 1 is all ones and tens, its partner zeros
    assert 0.8 <= share <= 1
    torch.testing.assert_close(mixed[1], share * x[1])


def test_geometric_mixing_by_hand():
    x = torch.tensor([[1.0, 1.0], [2.0, 8.0]])
    mixed = Mixed(["geometric"], least=0.5)(x)
    share = mixed[1, 0].log2()
    assert 0.5 <= share <= 1
    torch.testing.assert_close(mixed[1, 1], 8.0**share)


def test_binary_mixing_takes_whole_values():
    x = torch.stack([torch.zeros(4000), torch.ones(4000)])
    mixed = Mixed(["binary"], least=0.9)(x)
    assert set(mixed.unique().tolist()) <= {0.0, 1.0}
    assert 0.88 < mixed[1].mean().item() <= 1
    assert 0 <= mixed[0].mean().item() < 0.12


def test_several_kinds_are_drawn_sample_by_sample():
    x = torch.rand(300, 50) + 1
    mixed = Mixed(["linear", "binary"], least=0.5)(x)
    whole = (mixed[:, :, None] == x.T[None]).any(2).all(1)  # binary rows hold given values only
    assert 100 < whole.sum() < 200


@pytest.fixture
def photograph():
    pytest.importorskip("kornia")

    def make(**changes):
        off = {"least_area": 1.0, "flip": 0.0, "jitter_share": 0.0, "grey_share": 0.0,
               "blur_share": 0.0}  # fmt: skip
        return Photographed(torch.zeros(3), torch.ones(3), **{**off, **changes})

    return make


def test_a_photograph_with_everything_off_keeps_the_middle(photograph):
    x = torch.rand(4, 3, 12, 12)
    # The shape of the crop still varies; with the whole area and a square it is the image itself.
    square = photograph()
    square._uniform = lambda image, low, high: torch.full((len(image),), (low + high) / 2)
    torch.testing.assert_close(square(x), x, rtol=1e-4, atol=1e-4)


def test_crops_stay_inside_the_image(photograph):
    x = torch.zeros(200, 3, 16, 20)
    x[:, 0] = torch.linspace(0, 1, 20)  # the column, and
    x[:, 1] = torch.linspace(0, 1, 16)[:, None]  # the row that a pixel came from
    out = photograph(least_area=0.2)(x)
    assert out[:, :2].min() >= 0
    assert out[:, :2].max() <= 1
    wide = (out[:, 0, :, -1] - out[:, 0, :, 0]).mean(1)
    tall = (out[:, 1, -1] - out[:, 1, 0]).mean(1)
    assert (wide * tall).min() > 0.1  # a crop of a fifth, less half a pixel at each edge
    assert (wide * tall).std() > 0.1


def test_flips(photograph):
    x = torch.linspace(0, 1, 20).expand(400, 3, 16, 20).contiguous()
    out = photograph(flip=0.5)(x)
    assert (out[:, 0, 0, 0] > out[:, 0, 0, -1]).float().mean().item() == pytest.approx(0.5, abs=0.1)


def test_jitter_keeps_grey_grey_and_colours_in_range(photograph):
    view = photograph(jitter_share=1.0)
    grey = torch.rand(20, 1, 8, 8).expand(-1, 3, -1, -1).contiguous()
    out = view(grey)
    torch.testing.assert_close(out[:, 0], out[:, 1], atol=1e-5, rtol=0)
    assert not torch.allclose(out, grey, atol=0.02)
    colourful = view(torch.rand(20, 3, 8, 8))
    assert colourful.min() >= 0
    assert colourful.max() <= 1.0001


def test_grey_share(photograph):
    out = photograph(grey_share=0.2)(torch.rand(2000, 3, 2, 2))
    grey = (out[:, 0] == out[:, 1]).flatten(1).all(1)
    assert grey.float().mean().item() == pytest.approx(0.2, abs=0.04)


def test_blur_smooths_and_keeps_the_mean(photograph):
    x = torch.rand(10, 3, 30, 30)
    out = photograph(blur_share=1.0)(x)
    assert out.std() < 0.9 * x.std()
    assert out.mean().item() == pytest.approx(x.mean().item(), abs=0.02)


def test_the_scale_of_an_image_is_respected():
    pytest.importorskip("kornia")
    low, high = torch.tensor([-2.0, 0.0, 5.0]), torch.tensor([2.0, 10.0, 6.0])
    x = torch.rand(50, 3, 9, 9) * (high - low)[:, None, None] + low[:, None, None]
    out = Photographed(low, high)(x)
    for channel in range(3):
        values = out[:, channel]
        assert values.min() >= low[channel] - 1e-3
        assert values.max() <= high[channel] + 1e-3


@pytest.mark.parametrize("shape", [(1, 8, 8), (4, 5, 5), (3, 2, 3), (3, 1, 1)])
def test_any_number_of_channels_and_tiny_images(shape):
    pytest.importorskip("kornia")
    view = Photographed(torch.zeros(shape[0]), torch.ones(shape[0]))
    assert view(torch.rand(6, *shape)).shape == (6, *shape)


def test_views_by_modality():
    names = {
        "table": ["Identity", "Corrupted"],
        "series": ["Scaled", "Shuffled"],
        "image": ["Photographed", "Photographed"],
    }
    pytest.importorskip("kornia")
    data = {"table": (6, 3), "series": (6, 2, 9), "image": (6, 3, 5, 5)}
    for modality, expected in names.items():
        pair = view_pair("auto", modality, torch.rand(data[modality]))
        assert [type(view).__name__ for view in pair] == expected
    assert isinstance(single_view(None, "image", torch.rand(2, 3, 5, 5)), nn.Identity)
    assert isinstance(single_view("auto", "image", torch.rand(2, 3, 5, 5)), Photographed)


def test_views_of_ones_own():
    first, second = view_pair((torch.neg, torch.abs), "table", torch.zeros(2, 3))
    x = torch.tensor([[-1.0, 2.0]])
    assert first(x).tolist() == [[1.0, -2.0]]
    assert second(x).tolist() == [[1.0, 2.0]]
    module = nn.Dropout(0.5).eval()
    dropped, _ = view_pair(module, "table", torch.zeros(2, 3))
    assert (dropped.eval()(torch.ones(50, 50)) == 0).any()
    assert not module.training  # it was copied
    wrong, _ = view_pair(lambda batch: batch[:, :1], "table", torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"shape \(1, 2\), not torch.Size\(\[1, 1\]\)"):
        wrong(x)
    for choice in ("blurred", 3, (torch.neg,)):
        with pytest.raises(ValueError, match="views"):
            view_pair(choice, "table", torch.zeros(2, 3))
    with pytest.raises(ValueError, match="views"):
        single_view("blurred", "table", torch.zeros(2, 3))


def test_built_in_views_can_be_adjusted():
    weak, strong = view_pair(
        "auto", "series", torch.zeros(2, 1, 9),
        {"weak_scale": 1.1, "weak_mean": 2.0, "segments": 7, "strong_noise": 0.8},
    )  # fmt: skip
    scaled = weak(torch.ones(4000, 1, 9))
    assert scaled.mean().item() == pytest.approx(2, abs=0.05)
    assert scaled.std().item() == pytest.approx(1.1, abs=0.05)
    assert (strong.segments, strong.noise) == (7, 0.8)
    assert view_pair("auto", "table", torch.zeros(2, 10), {"corruption": 0.3})[1].count == 3
    pytest.importorskip("kornia")
    image = view_pair("auto", "image", torch.rand(2, 3, 5, 5), {"blur_share": 0.0})[0]
    assert image.blur_share == 0
    with pytest.raises(ValueError, match="view_options has 'blur', which views of a table do not"):
        view_pair("auto", "table", torch.zeros(2, 3), {"blur": 1})
    with pytest.raises(ValueError, match="leave views at 'auto'"):
        view_pair(torch.neg, "table", torch.zeros(2, 3), {"corruption": 0.3})


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kornia", None)
    with pytest.raises(ImportError, match=r"pip install 'aleator\[image\]'"):
        view_pair("auto", "image", torch.rand(2, 3, 5, 5))
