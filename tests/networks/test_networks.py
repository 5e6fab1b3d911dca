"""Shapes and properties of appendix C's networks."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator.networks import TCNEncoder, image, resnet18, series, tcn
from aleator.networks.bank import HeadBank, normalises_batches
from aleator.networks.mlp import mlp, mlp_predictor
from aleator.networks.registry import ENCODERS, PROJECTORS, redrawn
from aleator.networks.shapes import flat_width

SHAPES = {
    "table": [(1,), (10,), (300,)],
    "series": [(1, 1), (9, 128), (1, 178), (3, 7), (42, 48)],
    "image": [(1, 1, 1), (3, 32, 32), (1, 8, 8), (4, 5, 70), (3, 80, 100)],
}


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("factory", "shape"),
    [
        pytest.param(factory, shape, id=f"{role}-{modality}-{name}-{shape}")
        for role, registry in (("encoder", ENCODERS), ("projector", PROJECTORS))
        for modality, named in registry.items()
        for name, factory in named.items()
        for shape in SHAPES[modality]
    ],
)
def test_every_network_takes_every_size(factory, shape):
    network = factory(shape, 12)
    out = network(torch.randn(3, *shape))
    assert out.shape == (3, 12)
    out.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_widths_of_the_papers_encoders():
    assert flat_width(series.cnn_encoder((9, 128)), (9, 128)) == 2304
    assert flat_width(series.cnn_encoder((1, 178)), (1, 178)) == 3072
    assert flat_width(series.cnn_encoder((1, 5120)), (1, 5120)) == 2048
    assert flat_width(ENCODERS["table"]["mlp"]((104,), None), (104,)) == 256
    assert flat_width(tcn.tcn_encoder((42, 48)), (42, 48)) == 64
    assert flat_width(resnet18((3, 32, 32)), (3, 32, 32)) == 2048


def test_layers_of_the_tables():
    encoder = mlp((104,), 256, layers=4)
    assert [m.out_features for m in encoder if isinstance(m, nn.Linear)] == [256] * 4
    assert not isinstance(encoder[-1], nn.ReLU)
    assert parameters(mlp((104,), 256, layers=2)) == 104 * 256 + 256 + 256 * 256 + 256


def test_series_cnn_is_the_papers_one_dimensional_one():
    """The same weights in plain Conv1d layers give the same numbers."""
    torch.manual_seed(0)
    ours = series.cnn_encoder((9, 128)).eval()
    plain, width = [], 9
    for out in (32, 64, 128):
        plain += [nn.Conv1d(width, out, 8, padding=4, bias=False), nn.BatchNorm1d(out), nn.ReLU()]
        plain += [nn.MaxPool1d(2, 2, padding=1)]
        width = out
    theirs = nn.Sequential(*plain, nn.Flatten()).eval()
    mine = [m for m in ours if isinstance(m, (nn.Conv2d, nn.BatchNorm2d))]
    other = [m for m in theirs if isinstance(m, (nn.Conv1d, nn.BatchNorm1d))]
    for a, b in zip(mine, other, strict=True):
        state = a.state_dict()
        if isinstance(a, nn.Conv2d):
            state["weight"] = state["weight"].squeeze(2)
        b.load_state_dict(state)
    x = torch.randn(5, 9, 128)
    torch.testing.assert_close(ours(x), theirs(x))
    kinds = [type(m).__name__ for m in ours]
    assert kinds.index("Dropout") == 5, "dropout follows the first block"
    assert ours[5].p == 0.35


def test_tcn_is_causal_and_splits_the_static_channel_off():
    torch.manual_seed(0)
    block = tcn.CausalBlock(3, 4, dilation=4)
    x = torch.randn(1, 3, 20, requires_grad=True)
    block(x)[0, :, 10].sum().backward()
    reached = x.grad.abs().sum((0, 1)).nonzero().flatten()
    assert reached.max() == 10
    encoder = TCNEncoder((3, 20), 8, static_channel=1).eval()
    x = torch.randn(2, 3, 20)
    changed = x.clone()
    changed[:, 1, :-1] += 5  # only the last step of a static channel is read
    assert torch.equal(encoder(x), encoder(changed))
    changed[:, 1, -1] += 5
    assert not torch.allclose(encoder(x), encoder(changed))
    assert tcn.tcn_encoder((1, 9)).static_channel is None
    assert len(encoder.blocks) == 5
    assert [b.dilation for b in encoder.blocks] == [1, 2, 4, 8, 16]
    assert encoder.blocks[0].convolutions[0].weight.std() < 0.02
    with pytest.raises(ValueError, match="besides the static one"):
        TCNEncoder((1, 9), static_channel=0)


def test_resnet18_has_the_published_size():
    """11 176 512 weights before the classifier (He et al. 2016, as counted in every framework)."""
    for stem, first in (("large", 64 * 3 * 49), ("small", 64 * 3 * 9)):
        network = resnet18((3, 224, 224), 10, stem=stem)
        head = 512 * 10 + 10
        assert parameters(network) - head - first == 11_176_512 - 64 * 3 * 49
    blocks = [m for m in network.modules() if isinstance(m, image.ResidualBlock)]
    assert len(blocks) == 8
    assert all((block.norm2.weight == 0).all() for block in blocks)
    x = torch.rand(2, 64, 5, 5)
    torch.testing.assert_close(blocks[0](x), x)  # a new block passes its input through
    assert not list(network[-1].parameters()), "the embedding is normalised without scale or shift"


def test_resnet_stems_follow_the_image_size():
    def resolution(shape):
        seen = []
        network = resnet18(shape, 4)
        first = next(m for m in network if isinstance(m, image.ResidualBlock))
        first.register_forward_hook(lambda module, x, out: seen.append(out.shape[-2:]))
        network.eval()(torch.zeros(1, *shape))
        return tuple(seen[0])

    assert resolution((3, 32, 32)) == (32, 32)
    assert resolution((3, 80, 100)) == (20, 25)


def heads(kind, count=3):
    torch.manual_seed(1)
    return [
        {
            "linear": lambda: nn.Linear(6, 4),
            "no bias": lambda: nn.Linear(6, 4, bias=False),
            "mlp": lambda: mlp_predictor(6, 4, layers=3, hidden=5),
            "nested": lambda: nn.Sequential(
                nn.Sequential(nn.Linear(6, 5), nn.GELU()), nn.Linear(5, 4)
            ),
            "own": lambda: nn.Sequential(nn.Linear(6, 4), nn.PReLU()),
        }[kind]()
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["linear", "no bias", "mlp", "nested", "own"])
@pytest.mark.parametrize("training", [True, False])
def test_a_bank_is_its_heads_side_by_side(kind, training):
    alone = heads(kind)
    bank = HeadBank(heads(kind))
    assert bank.batched == (kind != "own")
    bank.train(training)
    x = torch.randn(7, 6, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    out = bank(x)
    expected = torch.stack([head.train(training)(y) for head in alone], dim=1)
    torch.testing.assert_close(out, expected)
    slope = torch.randn_like(out)
    out.backward(slope)
    expected.backward(slope)
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-5)
    for head, mine in zip(alone, bank.separate(), strict=True):
        for name, value in head.state_dict().items():
            torch.testing.assert_close(mine.state_dict()[name], value)


def test_unlike_heads_run_one_by_one():
    bank = HeadBank([nn.Linear(6, 4), nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 4))])
    assert not bank.batched
    assert bank(torch.zeros(2, 6)).shape == (2, 2, 4)
    assert normalises_batches(HeadBank(heads("mlp")))
    assert not normalises_batches(HeadBank(heads("linear")))


def test_redrawing_needs_reset_parameters():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.scale

    with pytest.raises(ValueError, match=r"no reset_parameters\(\)"):
        redrawn(nn.Sequential(nn.Linear(2, 2), Own()))


def test_learning_a_width_changes_nothing():
    network = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout())
    network[1].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    assert flat_width(network, (4,)) == 4
    assert torch.equal(torch.rand(2), expected)
    assert network.training
    assert not network[1].training
    assert all(torch.equal(v, before[k]) for k, v in network.state_dict().items())


def test_weights_are_drawn_as_torch_draws_them():
    torch.manual_seed(0)
    drawn = np.concatenate([mlp((50,), 8, layers=2)[1].weight.detach().ravel() for _ in range(20)])
    assert np.abs(drawn).max() <= 50**-0.5
