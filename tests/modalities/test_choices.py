"""From the user's choice of a network or view to a module."""

import sys

import numpy as np
import pytest
import torch
from torch import nn

from aleator import DIET
from aleator.inputs import ArraySource
from aleator.modalities import get_modality
from aleator.modalities.choices import make_single_view, make_view_pair, redraw
from aleator.views import FeatureCorruption, RandomScaling, SegmentPermutation
from aleator.views.simclr_augmentation import SimCLRAugmentation
from aleator.views.user_view import RandomChoice
from tests.small import small

SHAPES = {"table": (10,), "series": (2, 9), "image": (3, 5, 5)}


def data(modality, rows=6):
    rng = np.random.default_rng(0)
    return ArraySource(rng.random((rows, *SHAPES[modality]), dtype=np.float32))


def pair(modality, choice="auto", options=None):
    return make_view_pair(get_modality(modality), choice, data(modality), options)


def single(modality, choice, options=None):
    return make_single_view(get_modality(modality), choice, data(modality), options)


def test_redrawing_needs_reset_parameters():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.scale

    with pytest.raises(ValueError, match=r"no reset_parameters\(\)"):
        redraw(nn.Sequential(nn.Linear(2, 2), Own()))


def test_views_by_modality():
    names = {
        "table": ["Identity", "FeatureCorruption"],
        "series": ["RandomScaling", "SegmentPermutation"],
        "image": ["SimCLRAugmentation", "SimCLRAugmentation"],
    }
    pytest.importorskip("kornia")
    for modality, expected in names.items():
        assert [type(view).__name__ for view in pair(modality)] == expected
    assert isinstance(single("image", None), nn.Identity)
    assert isinstance(single("image", "auto"), SimCLRAugmentation)


def test_views_of_images_know_the_range_of_every_channel():
    pytest.importorskip("kornia")
    view, _ = pair("image")
    values = data("image").array
    np.testing.assert_array_equal(view.low.flatten(), values.min(axis=(0, 2, 3)))
    high = view.low.flatten() + view.range.flatten()
    np.testing.assert_allclose(high, values.max(axis=(0, 2, 3)), rtol=1e-6)


def test_user_views():
    first, second = pair("table", (torch.neg, torch.abs))
    x = torch.tensor([[-1.0, 2.0]])
    assert first(x).tolist() == [[1.0, -2.0]]
    assert second(x).tolist() == [[1.0, 2.0]]
    module = nn.Dropout(0.5).eval()
    dropped, _ = pair("table", module)
    assert (dropped.eval()(torch.ones(50, 50)) == 0).any()
    assert not module.training  # it was copied
    wrong, _ = pair("table", lambda batch: batch[:, :1])
    with pytest.raises(ValueError, match=r"\(1, 2\), got torch.Size\(\[1, 1\]\)"):
        wrong(x)
    for choice in ("blurred", 3, (torch.neg,)):
        with pytest.raises(ValueError, match="views"):
            pair("table", choice)
    with pytest.raises(ValueError, match="views"):
        single("table", "blurred")


def test_built_in_views_can_be_adjusted():
    torch.manual_seed(0)
    options = {"weak_scale": 1.1, "weak_mean": 2.0, "segments": 7, "strong_noise": 0.8}
    weak, strong = pair("series", options=options)
    scaled = weak(torch.ones(4000, 1, 9))
    assert scaled.mean().item() == pytest.approx(2, abs=0.05)
    assert scaled.std().item() == pytest.approx(1.1, abs=0.05)
    assert (strong.segments, strong.noise) == (7, 0.8)
    assert pair("table", options={"corruption": 0.3})[1].count == 3
    pytest.importorskip("kornia")
    assert pair("image", options={"blur_share": 0.0})[0].blur_share == 0
    with pytest.raises(ValueError, match=r"view_options has 'blur', .*not an option.*tables"):
        pair("table", options={"blur": 1})
    with pytest.raises(ValueError, match="leave views at 'auto'"):
        pair("table", torch.neg, {"corruption": 0.3})


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kornia", None)
    with pytest.raises(ImportError, match=r"pip install 'aleator\[image\]'"):
        pair("image")


def test_either_of_two_views():
    of_series = single("series", "either", {"segments": 7})
    assert isinstance(of_series, RandomChoice)
    assert isinstance(of_series.first, RandomScaling)
    assert isinstance(of_series.second, SegmentPermutation)
    assert of_series.second.segments == 7
    of_table = single("table", "either", {"corruption": 0.3})
    assert isinstance(of_table.second, FeatureCorruption)
    assert of_table.second.count == 3


@pytest.mark.parametrize("choice", ["auto", "either"])
def test_images_have_one_kind_of_view(choice):
    pytest.importorskip("kornia")
    made = single("image", choice, {"blur_share": 0.0})
    assert isinstance(made, SimCLRAugmentation)
    assert made.blur_share == 0


def test_without_views_nothing_changes():
    assert isinstance(single("image", None), nn.Identity)
    assert isinstance(single("series", "auto"), nn.Identity)


@pytest.mark.parametrize("name", ["DIET", "Supervised"])
def test_training_on_either_view(name, series):
    labels = ["a", "b"] * 20
    plain = small(name, views=None).fit(series, labels).transform(series)
    changed = small(name, views="either").fit(series, labels).transform(series)
    assert changed.shape == plain.shape
    assert abs(changed - plain).max() > 1e-4


def test_wrong_views_are_explained(series):
    with pytest.raises(ValueError, match="views must be one of 'auto', 'either', None or a func"):
        DIET(views="blurred").fit(series)
    with pytest.raises(ValueError, match=r"views='auto' uses none for series: set views='either'"):
        DIET(view_options={"segments": 3}).fit(series)
    with pytest.raises(ValueError, match=r"view_options has 'blur', .*not an option.*series"):
        DIET(views="either", view_options={"blur": 3}).fit(series)
