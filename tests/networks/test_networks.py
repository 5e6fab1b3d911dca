"""Shapes and properties of the networks of appendix C."""

import inspect

import numpy as np
import pytest
import torch
from torch import nn

from aleator.modalities import get_modality
from aleator.networks import ResidualBlock, TCNEncoder, cnn1d, resnet18, tcn
from aleator.networks.mlp import mlp, mlp_encoder
from aleator.networks.series_transformer import SeriesTransformer
from aleator.networks.shapes import feature_maps, output_width

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
        for modality in SHAPES
        for role in ("encoder", "projector")
        for name, factory in getattr(get_modality(modality), f"{role}s").items()
        for shape in SHAPES[modality]
    ],
)
def test_every_network_takes_every_size(factory, shape):
    from_data = "sample" in inspect.signature(factory).parameters
    network = factory(shape, 12, sample=torch.randn(8, *shape)) if from_data else factory(shape, 12)
    out = network(torch.randn(3, *shape))
    assert out.shape == (3, 12)
    trained = list(network.parameters())
    if trained:
        out.sum().backward()
    else:
        assert from_data, "only projectors that are drawn from data have no weights"
        assert torch.isfinite(out).all()
    assert all(parameter.grad is not None for parameter in trained)


def test_widths_of_the_papers_encoders():
    assert output_width(cnn1d.cnn_encoder((9, 128)), (9, 128)) == 2304
    assert output_width(cnn1d.cnn_encoder((1, 178)), (1, 178)) == 3072
    assert output_width(cnn1d.cnn_encoder((1, 5120)), (1, 5120)) == 2048
    assert output_width(cnn1d.cnn_encoder((1, 5120), pooled=True), (1, 5120)) == 1024
    # 162 steps, as in TS-TCC's settings for Fault Diagnosis.
    strided = cnn1d.cnn_encoder((1, 5120), strided=True)
    assert feature_maps(strided, torch.zeros(2, 1, 5120)).shape == (2, 128, 162)
    assert output_width(get_modality("table").encoders["mlp"]((104,), None), (104,)) == 256
    assert output_width(tcn.tcn_encoder((42, 48)), (42, 48)) == 64
    assert output_width(resnet18((3, 32, 32)), (3, 32, 32)) == 2048


def test_layers_of_the_tables():
    encoder = mlp((104,), 256, layers=4)
    assert [m.out_features for m in encoder if isinstance(m, nn.Linear)] == [256] * 4
    assert not isinstance(encoder[-1], nn.ReLU)
    hidden = mlp_encoder((104,), ends_hidden=True)
    assert parameters(hidden) == parameters(encoder) - 256 * 256 - 256
    assert (hidden(torch.randn(5, 104)) >= 0).all()
    assert parameters(mlp((104,), 256, layers=2)) == 104 * 256 + 256 + 256 * 256 + 256


def test_series_cnn_is_the_papers_one_dimensional_one():
    """The same weights in plain Conv1d layers give the same numbers."""
    torch.manual_seed(0)
    ours = cnn1d.cnn_encoder((9, 128)).eval()
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


class TestSeriesTransformer:
    @pytest.mark.parametrize(
        ("time", "patch", "n_patches"), [(1, 1, 1), (64, 1, 64), (65, 2, 33), (5120, 80, 64)]
    )
    def test_long_series_have_longer_patches_not_more(self, time, patch, n_patches):
        encoder = SeriesTransformer((2, time))
        assert encoder.patch_length == patch
        assert feature_maps(encoder, torch.zeros(2, 2, time)).shape == (2, 128, n_patches)

    def test_by_hand(self):
        """Without blocks, a patch is a linear map of its values plus its position, normalized."""
        encoder = SeriesTransformer((2, 130))
        encoder.blocks = nn.Identity()
        x = torch.randn(5, 2, 130)
        padded = torch.cat([x, torch.zeros(5, 2, 2)], 2)
        weight, bias = encoder.embed.weight.flatten(1), encoder.embed.bias
        for k in (0, 20, 43):  # the last patch is filled up
            patch = padded[:, :, 3 * k : 3 * k + 3].flatten(1)
            token = patch @ weight.T + bias + encoder.positions[k]
            token = (token - token.mean(1, keepdim=True)) / token.std(1, False, True)
            found = encoder.feature_maps(x)[:, :, k]
            torch.testing.assert_close(found, token, atol=1e-3, rtol=1e-3)

    def test_every_patch_reads_every_other(self):
        encoder = SeriesTransformer((1, 128)).eval()
        x = torch.randn(1, 1, 128)
        changed = x.clone()
        changed[..., :2] += 1
        difference = (encoder.feature_maps(x) - encoder.feature_maps(changed)).abs().amax((0, 1))
        assert (difference > 1e-6).all()

    def test_order_matters(self):
        encoder = SeriesTransformer((1, 64)).eval()
        x = torch.randn(4, 1, 64)
        assert not torch.allclose(encoder(x), encoder(x.flip(2)), atol=1e-3)
        with torch.no_grad():
            encoder.positions.zero_()
        torch.testing.assert_close(encoder(x), encoder(x.flip(2)), atol=1e-4, rtol=1e-4)


def test_resnet18_has_the_published_size():
    """11 176 512 weights before the classifier (He et al. 2016, as counted in every framework)."""
    for stem, first in (("large", 64 * 3 * 49), ("small", 64 * 3 * 9)):
        network = resnet18((3, 224, 224), 10, stem=stem)
        head = 512 * 10 + 10
        assert parameters(network) - head - first == 11_176_512 - 64 * 3 * 49
    blocks = [m for m in network.modules() if isinstance(m, ResidualBlock)]
    assert len(blocks) == 8
    assert all((block.norm2.weight == 0).all() for block in blocks)
    x = torch.rand(2, 64, 5, 5)
    torch.testing.assert_close(blocks[0](x), x)  # a new block passes its input through
    assert not list(network[-1].parameters()), "the embedding is normalized without scale or shift"


def test_resnet_stems_follow_the_image_size():
    def resolution(shape):
        seen = []
        network = resnet18(shape, 4)
        first = next(m for m in network if isinstance(m, ResidualBlock))
        first.register_forward_hook(lambda module, x, out: seen.append(out.shape[-2:]))
        network.eval()(torch.zeros(1, *shape))
        return tuple(seen[0])

    assert resolution((3, 32, 32)) == (32, 32)
    assert resolution((3, 80, 100)) == (20, 25)


def test_finding_the_output_width_changes_nothing():
    network = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout())
    network[1].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    assert output_width(network, (4,)) == 4
    assert torch.equal(torch.rand(2), expected)
    assert network.training
    assert not network[1].training
    assert all(torch.equal(v, before[k]) for k, v in network.state_dict().items())


def test_weights_are_drawn_as_torch_draws_them():
    torch.manual_seed(0)
    drawn = np.concatenate([mlp((50,), 8, layers=2)[1].weight.detach().ravel() for _ in range(20)])
    assert np.abs(drawn).max() <= 50**-0.5
