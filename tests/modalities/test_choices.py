"""Estimators that look at one view of a sample: which view, and how it is adjusted."""

import pytest
import torch
from torch import nn

from aleator import DIET, Supervised
from aleator.estimators.base import Material
from aleator.estimators.viewed import Either
from aleator.views import Corrupted, Scaled, Shuffled
from aleator.views.image import Photographed
from tests.small import small


class Door:
    def __init__(self, modality):
        self.modality = type("Modality", (), {"name": modality})


def view(modality, shape, **parameters):
    data = torch.rand(6, *shape)
    return Supervised(**parameters)._view(Material(Door(modality), data, None, None, None))


def test_either_draws_for_every_sample():
    seen = Either(nn.Identity(), Scaled(0.0, mean=-1.0))(torch.ones(200, 3, 4))
    assert seen.flatten(1).std(dim=1).max() == 0
    assert 50 < (seen[:, 0, 0] > 0).sum() < 150
    assert set(seen[:, 0, 0].tolist()) == {-1.0, 1.0}


def test_either_of_simclrs_views():
    of_series = view("series", (2, 9), views="either", view_options={"segments": 7})
    assert isinstance(of_series.first, Scaled)
    assert isinstance(of_series.second, Shuffled)
    assert of_series.second.segments == 7
    of_table = view("table", (10,), views="either", view_options={"corruption": 0.3})
    assert isinstance(of_table.second, Corrupted)
    assert of_table.second.count == 3


@pytest.mark.parametrize("choice", ["auto", "either"])
def test_images_have_one_kind_of_view(choice):
    made = view("image", (3, 5, 5), views=choice, view_options={"blur_share": 0.0})
    assert isinstance(made, Photographed)
    assert made.blur_share == 0


def test_without_views_nothing_changes():
    assert isinstance(view("image", (3, 5, 5)), nn.Identity)
    assert isinstance(view("series", (2, 9), views="auto"), nn.Identity)


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
    with pytest.raises(ValueError, match=r"views='auto' uses none on a series: set views='either'"):
        DIET(view_options={"segments": 3}).fit(series)
    with pytest.raises(ValueError, match="view_options has 'blur', which views of a series"):
        DIET(views="either", view_options={"blur": 3}).fit(series)
