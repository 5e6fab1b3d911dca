"""The two ways to diverse weights."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator.networks.cnn2d import image_projector
from aleator.projectors import initialize


def test_beta_puts_convolution_weights_near_the_ends():
    torch.manual_seed(0)
    layer = initialize(nn.Conv2d(16, 64, 3), "beta", 0.0)
    weights = layer.weight.detach().flatten().numpy()
    assert np.abs(weights).max() <= 1
    # Beta(0.5, 0.5) is the arcsine law: a third of it lies beyond ±cos(π / 6) of its range.
    assert (np.abs(weights) > np.cos(np.pi / 6)).mean() == pytest.approx(1 / 3, abs=0.02)
    assert weights.mean() == pytest.approx(0, abs=0.03)
    linear = nn.Linear(5, 5)
    before = linear.weight.clone()
    assert torch.equal(initialize(linear, "beta", 0.0).weight, before)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.4, 0.9])
def test_exactly_the_share_is_dropped_in_every_layer(share):
    torch.manual_seed(0)
    projector = initialize(image_projector((3, 16, 16), 32), "beta", share)
    for layer in projector.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            assert int((layer.weight == 0).sum()) == round(share * layer.weight.numel())
            assert (layer.bias != 0).all()


def test_which_weights_are_dropped_is_random():
    torch.manual_seed(0)
    counts = sum(
        (initialize(nn.Linear(20, 20), "default", 0.4).weight == 0).int() for _ in range(200)
    )
    assert counts.float().mean() == pytest.approx(80)
    assert counts.min() > 40
    assert counts.max() < 120
