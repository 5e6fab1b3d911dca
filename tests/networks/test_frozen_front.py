"""Encoders of which only the second part is trained."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator import LFR, Supervised
from aleator.networks.frozen_front import FrozenFront
from tests.small import SETTINGS


def made():
    torch.manual_seed(0)
    front = nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.Tanh(), nn.Dropout(0.5))
    return FrozenFront(front, nn.Sequential(nn.Linear(12, 8), nn.Dropout(0.1)))


def lfr(**changes):
    parameters = {**SETTINGS, "encoder": made(), "epochs": 3, **changes}
    return LFR(**parameters)


def test_the_front_is_always_in_evaluation_mode():
    encoder = made().train()
    assert not any(module.training for module in encoder.front.modules())
    assert all(module.training for module in encoder.trunk.modules())
    assert not any(module.training for module in encoder.eval().modules())
    assert not any(value.requires_grad for value in encoder.front.parameters())


def test_the_front_is_never_computed_in_half_precision():
    encoder = made().eval()
    seen = []
    encoder.front.register_forward_hook(lambda module, given, out: seen.append(out.dtype))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert encoder(torch.randn(3, 5)).dtype == torch.bfloat16
    assert seen == [torch.float32]


@pytest.mark.parametrize("training", ["joint", "alternating"])
def test_only_the_trunk_is_trained(table, training):
    given = made()
    trained = lfr(training=training).fit(table).encoder_
    for name, value in given.front.state_dict().items():
        assert torch.equal(trained.front.state_dict()[name], value), name
    assert not torch.equal(trained.trunk[0].weight, given.trunk[0].weight)


def test_other_methods_train_only_the_trunk_too(table):
    given = made()
    labels = table[:, 0] > 0
    trained = Supervised(encoder=given, epochs=2, progress=False).fit(table, labels).encoder_
    for name, value in given.front.state_dict().items():
        assert torch.equal(trained.front.state_dict()[name], value), name
    assert not torch.equal(trained.trunk[0].weight, given.trunk[0].weight)


@pytest.mark.parametrize("training", ["joint", "alternating"])
def test_it_does_not_matter_whether_features_are_kept(table, training):
    kept = lfr(training=training).fit(table)
    recomputed = lfr(training=training, memory_limit=0).fit(table)
    assert kept.plan_.where("features") == "device"
    assert recomputed.plan_.where("features") == "recomputed"
    losses = [[record["loss"] for record in model.history_] for model in (kept, recomputed)]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    expected = kept.transform(table)
    np.testing.assert_allclose(recomputed.transform(table), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", ["joint", "alternating"])
def test_the_front_runs_once_for_all_samples(table, training):
    rows = []

    class Counting(nn.Identity):
        def forward(self, x):
            rows.append(len(x))
            return x

    encoder = FrozenFront(Counting(), nn.Linear(5, 8))
    lfr(encoder=encoder, training=training, epochs=10).fit(table)
    # All samples, those of the monitor, and single ones that show the width of the output.
    assert sum(rows) <= 60 + 60 + 8


def test_it_trains_as_the_same_network_with_frozen_weights(table):
    """Without dropout, which draws other numbers."""
    torch.manual_seed(0)
    front, trunk = nn.Sequential(nn.Linear(5, 12), nn.Tanh()), nn.Linear(12, 8)
    plain = nn.Sequential(front, trunk)
    front.requires_grad_(False)
    expected = lfr(encoder=plain).fit(table)
    found = lfr(encoder=FrozenFront(front, trunk)).fit(table)
    np.testing.assert_allclose(
        found.transform(table), expected.transform(table), rtol=1e-3, atol=1e-4
    )
