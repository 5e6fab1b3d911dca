import numpy as np
import pytest
import torch
from torch import nn

from aleator.networks.image import cnn_projector
from aleator.projectors import draw, initialise, select


def test_beta_puts_convolution_weights_near_the_ends():
    torch.manual_seed(0)
    layer = initialise(nn.Conv2d(16, 64, 3), "beta", 0.0)
    weights = layer.weight.detach().flatten().numpy()
    assert np.abs(weights).max() <= 1
    # Beta(0.5, 0.5) is the arcsine law: a third of it lies beyond ±cos(π / 6) of its range.
    assert (np.abs(weights) > np.cos(np.pi / 6)).mean() == pytest.approx(1 / 3, abs=0.02)
    assert weights.mean() == pytest.approx(0, abs=0.03)
    linear = nn.Linear(5, 5)
    before = linear.weight.clone()
    assert torch.equal(initialise(linear, "beta", 0.0).weight, before)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.4, 0.9])
def test_exactly_the_share_is_dropped_in_every_layer(share):
    torch.manual_seed(0)
    projector = initialise(cnn_projector((3, 16, 16), 32), "beta", share)
    for layer in projector.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            assert int((layer.weight == 0).sum()) == round(share * layer.weight.numel())
            assert (layer.bias != 0).all()


def test_which_weights_are_dropped_is_random():
    torch.manual_seed(0)
    counts = sum(
        (initialise(nn.Linear(20, 20), "default", 0.4).weight == 0).int() for _ in range(200)
    )
    assert counts.float().mean() == pytest.approx(80)
    assert counts.min() > 40
    assert counts.max() < 120


def test_selection_prefers_difference():
    torch.manual_seed(0)
    same = nn.Linear(4, 6)
    candidates = [same, same, same, nn.Sequential(nn.Linear(4, 6), nn.ReLU())]
    selection = select(candidates, torch.randn(30, 4), 2, given=False)
    assert 3 in selection.chosen
    assert selection.kernel[0, 1] == pytest.approx(1, abs=1e-5)


def test_drawn_projectors_differ():
    torch.manual_seed(0)
    first, second = draw(lambda: nn.Linear(3, 3), 2, "default", 0.0)
    assert not torch.equal(first.weight, second.weight)


def test_a_projector_that_explodes_is_refused():
    class Exploding(nn.Module):
        def forward(self, x):
            return x / 0

    with pytest.raises(ValueError, match="projector 1 puts out NaN or infinity"):
        select([nn.Identity(), Exploding()], torch.randn(5, 2), 1, given=False)
