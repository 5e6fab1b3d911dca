"""Families of series against slow implementations in NumPy."""

import numpy as np
import pytest
import torch

from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.dilated_filters import draw_channels, draw_dilations, in_order
from aleator.projectors.hydra import CompetingConvolutions
from aleator.projectors.pooled_convolutions import draw_thresholds
from aleator.projectors.spectrum import SpectralBands
from aleator.projectors.subsequences import RandomSubsequences
from tests.projectors.families import generator, sample_of


def responses_of(series, weight, dilation, differenced):
    """Responses of one filter at every step, with zeros beyond the ends, by explicit loops."""
    x = series.double().numpy()
    if differenced:
        x = x[:, 1:] - x[:, :-1]
    n_channels, n_steps = x.shape
    length = weight.shape[1]
    before = (length - 1) * dilation // 2
    found = np.zeros(n_steps)
    for step in range(n_steps):
        for k in range(length):
            place = step - before + k * dilation
            if 0 <= place < n_steps:
                for channel in range(n_channels):
                    found[step] += float(weight[channel, k]) * x[channel, place]
    return found


def filters_of(module):
    for k in range(len(module.weight)):
        yield module.weight[k], int(module.dilation[k]), bool(module.differenced[k])


@pytest.mark.parametrize(
    ("family", "n_thresholds"), [(RandomConvolutions, 2), (RandomSubsequences, 1)]
)
def test_pooled_convolutions(family, n_thresholds):
    x = sample_of("series", 4)
    module = family.draw(x, 30, generator())
    count = len(module.weight)
    assert count == 10
    assert set(module.differenced.tolist()) == {True, False}
    expected = np.zeros((4, 3, count))
    for k, (weight, dilation, differenced) in enumerate(filters_of(module)):
        for row in range(4):
            found = responses_of(x[row], weight, dilation, differenced)
            above = [
                np.mean(found > float(t)) - np.mean(found < float(t)) for t in module.threshold[k]
            ]
            maximum = [found.max()] if family is RandomSubsequences else []
            expected[row, :, k] = [*above, *maximum, np.log(found.std())]
    assert len(above) == n_thresholds
    np.testing.assert_allclose(module(x), expected.reshape(4, -1), rtol=1e-3, atol=1e-4)


def test_filters_have_unit_length_and_do_not_see_the_level():
    x = sample_of("series")
    for family in (RandomConvolutions, RandomSubsequences):
        weight = family.draw(x, 90, generator()).weight
        np.testing.assert_allclose(weight.flatten(1).norm(dim=1), 1, rtol=1e-5)
        np.testing.assert_allclose(weight.sum(2), 0, atol=1e-5)


def test_subsequences_are_pieces_of_the_data():
    x = sample_of("series", 5).cumsum(2)
    module = RandomSubsequences.draw(x, 30, generator())
    length = module.weight.shape[2]
    for weight, dilation, _ in filters_of(module):
        used = weight.abs().sum(1) > 0
        found = []
        for series in x:
            for start in range(30 - (length - 1) * dilation):
                piece = series[:, start : start + (length - 1) * dilation + 1 : dilation]
                piece = (piece - piece.mean(1, keepdim=True)) * used[:, None]
                found.append((piece / piece.norm() - weight).abs().max())
        assert min(found) < 1e-5


def test_thresholds_are_quantiles_of_responses_to_the_data():
    """With one series to draw from, ranks of thresholds among its responses are uniform."""
    x = sample_of("series", 1)
    count = 400
    draw = generator()
    weight = torch.randn(count, 3, 9, generator=draw)
    dilation = torch.full((count,), 2)
    differenced = torch.zeros(count, dtype=torch.bool)
    threshold = draw_thresholds(x, weight, dilation, differenced, 2, draw)
    ranks = []
    for k in range(count):
        found = responses_of(x[0], weight[k], 2, False)
        slack = 1e-4 * np.abs(found).max()
        assert (threshold[k].numpy() >= found.min() - slack).all()
        assert (threshold[k].numpy() <= found.max() + slack).all()
        ranks += [np.mean(found < float(t)) for t in threshold[k]]
    for quantile in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert np.quantile(ranks, quantile) == pytest.approx(quantile, abs=0.06)


def test_competing_convolutions():
    x = sample_of("series", 4)
    module = CompetingConvolutions.draw(x, 48, generator())
    n_groups, n_filters = module.weight.shape[:2]
    assert (n_groups, n_filters) == (3, 8)
    expected = np.zeros((4, n_groups, 2, n_filters))
    for group, (weights, dilation, differenced) in enumerate(filters_of(module)):
        for row in range(4):
            found = np.stack([responses_of(x[row], w, dilation, differenced) for w in weights])
            for step in range(found.shape[1]):
                expected[row, group, 0, found[:, step].argmax()] += 1 / found.shape[1]
                expected[row, group, 1, found[:, step].argmin()] += 1 / found.shape[1]
    np.testing.assert_allclose(module(x), expected.reshape(4, -1), atol=1e-5)
    channels = module.weight.abs().sum(3) > 0
    assert (channels == channels[:, :1]).all(), "filters of a group see the same channels"


@pytest.mark.parametrize("n_steps", [29, 30])
def test_spectral_bands(n_steps):
    x = sample_of("series", 6)[:, :, :n_steps]
    module = SpectralBands.draw(x, 40, generator())
    expected = np.zeros((6, 40))
    for k in range(40):
        first, last = module.band[k].tolist()
        assert 0 <= first < last <= n_steps // 2 + 1
        mixed = np.einsum("c,mct->mt", module.mixing[k].double().numpy(), x.double().numpy())
        power = np.abs(np.fft.rfft(mixed) / np.sqrt(n_steps)) ** 2
        expected[:, k] = np.log(power[:, first:last].sum(1) + float(module.floor))
    np.testing.assert_allclose(module(x), expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(module.mixing.norm(dim=1), 1, rtol=1e-5)


def test_dilations_are_spread_and_filters_fit_in_a_series():
    dilation = draw_dilations(2000, 100, 9, generator())
    assert dilation.min() == 1
    assert dilation.max() * 8 < 100
    shares = [(dilation <= limit).float().mean().item() for limit in (1, 3, 12)]
    assert shares[2] == 1
    # Log-uniform up to 12, rounded down to powers of the root of two, which are rounded to 1, 1, 2,
    # 3, 4 and so on: the first two are below 2, and the first four below 4.
    assert shares[0] == pytest.approx(np.log(2) / np.log(12), abs=0.05)
    assert shares[1] == pytest.approx(np.log(4) / np.log(12), abs=0.05)


def test_filters_see_few_channels_most_often():
    sizes = draw_channels(4000, 8, generator()).sum(1).flatten()
    assert set(sizes.tolist()) == set(range(1, 9))
    for size in (1, 2, 5):
        expected = np.log((size + 1) / size) / np.log(9)
        assert (sizes == size).float().mean().item() == pytest.approx(expected, abs=0.03)


def test_filters_that_are_applied_together_are_neighbors():
    draw = generator()
    differenced = torch.rand(50, generator=draw) < 0.5
    dilation = torch.randint(1, 5, (50,), generator=draw)
    order = in_order(differenced, dilation)
    kinds = [(bool(differenced[k]), int(dilation[k])) for k in order]
    assert kinds == sorted(kinds)
    assert sorted(order.tolist()) == list(range(50))
