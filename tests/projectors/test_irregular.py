"""Families of features for series of different lengths and with gaps, against plain loops."""

import math

import numpy as np
import pytest
import torch

from aleator.networks.observed import differences_within, fill_gaps, series_lengths
from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.hydra import CompetingConvolutions
from aleator.projectors.irregular import IrregularFeatures
from aleator.projectors.pooled_convolutions import RAMP, PooledConvolutions
from aleator.projectors.subsequences import RandomSubsequences
from aleator.projectors.summaries import WindowSummaries

FAMILIES = [RandomConvolutions, RandomSubsequences, CompetingConvolutions]


def series(n=30, channels=3, longest=25, gaps=0.3, seed=0):
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(n, channels, longest, generator=random)
    x[torch.rand(x.shape, generator=random) < gaps] = torch.nan
    ends = torch.randint(1, longest + 1, (n,), generator=random)
    return x.masked_fill(torch.arange(longest) >= ends[:, None, None], torch.nan)


def responses_of(values, weight, dilation):
    """Responses of one filter to one series (channels, time), with zeros beyond its ends."""
    channels, steps = values.shape
    length = weight.shape[1]
    left = (length - 1) * dilation // 2
    found = []
    for step in range(steps):
        total = 0.0
        for channel in range(channels):
            for k in range(length):
                at = step - left + k * dilation
                if 0 <= at < steps:
                    total += float(weight[channel, k] * values[channel, at])
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize("differenced", [False, True])
def test_pooled_convolutions_are_those_of_each_series_by_itself(differenced):
    x = series(gaps=0.0)
    filled, lengths = fill_gaps(x)
    random = torch.Generator().manual_seed(1)
    weight, threshold = (torch.randn(1, *s, generator=random) for s in ((3, 5), (2,)))
    kind = torch.tensor([2]), torch.tensor([differenced])
    module = PooledConvolutions(weight, *kind, threshold, output_dim=4, with_maximum=True)
    found = module(filled, lengths).numpy()
    for row, length in enumerate(lengths.tolist()):
        values = filled[row, :, :length]
        if differenced:
            values = values.diff(dim=1) if length > 1 else torch.zeros(3, 1)
        responses = responses_of(values, weight[0], 2)
        shares = [np.clip((responses - t) / RAMP, -1, 1).mean() for t in threshold[0].tolist()]
        expected = [*shares, responses.max(), math.log(responses.var() + 1e-3) / 2]
        np.testing.assert_allclose(found[row], expected, rtol=1e-4, atol=1e-4)


def test_competing_convolutions_are_those_of_each_series_by_itself():
    filled, lengths = fill_gaps(series(gaps=0.0))
    weight = torch.randn(1, 4, 3, 5, generator=torch.Generator().manual_seed(1))
    one = torch.ones(1, dtype=torch.int64)
    found = CompetingConvolutions(weight, one, one < 0, output_dim=8)(filled, lengths).numpy()
    for row, length in enumerate(lengths.tolist()):
        responses = np.stack([responses_of(filled[row, :, :length], w, 1) for w in weight[0]])
        wins = np.clip(1 + (responses - responses.max(0)) / RAMP, 0, None).mean(1)
        losses = np.clip(1 + (responses.min(0) - responses) / RAMP, 0, None).mean(1)
        np.testing.assert_allclose(found[row], [*wins, *losses], rtol=1e-4, atol=1e-4)


def test_gaps_have_the_last_value_and_differences_end_with_the_series():
    nan = torch.nan
    x = torch.tensor([[[nan, 1.0, nan, 4.0, nan]], [[2.0, nan, nan, nan, nan]]])
    filled, lengths = fill_gaps(x)
    assert lengths.tolist() == [4, 1]
    assert filled.tolist() == [[[0, 1, 1, 4, 0]], [[2, 0, 0, 0, 0]]]
    steps, counts = differences_within(filled, lengths)
    assert steps.tolist() == [[[1, 0, 3, 0, 0]], [[0, 0, 0, 0, 0]]]
    assert counts.tolist() == [3, 1]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_there_is_a_channel_of_what_was_observed_if_there_are_gaps(family, gaps):
    x = series(gaps=gaps)
    made = IrregularFeatures.build((3, 25), 24, x, family=family)
    assert made.features.weight.shape[-2] == 3 + (gaps > 0)
    assert made(x).isfinite().all()
    assert made(x).std(0).gt(0).float().mean() > 0.8
    again = IrregularFeatures.build((3, 25), 24, family=family)
    again.load_state_dict(made.state_dict())
    assert torch.equal(again(x), made(x))


@pytest.mark.parametrize("family", FAMILIES)
def test_filters_fit_usual_series_and_one_long_series_changes_nothing(family):
    torch.manual_seed(0)
    x = series(60, longest=12)
    usual = IrregularFeatures.build((3, 12), 30, x, family=family)
    torch.manual_seed(0)
    with_long = torch.full((61, 3, 400), torch.nan)
    with_long[:60, :, :12] = x
    with_long[60] = 0.0
    other = IrregularFeatures.build((3, 400), 30, with_long, family=family)
    assert other.features.dilation.max() <= usual.features.dilation.max()


def test_summaries_are_statistics_of_what_was_observed():
    x = series(gaps=0.5)
    torch.manual_seed(0)
    made = WindowSummaries.draw(x, 7 * 3, torch.Generator().manual_seed(0))
    assert made.window[0].tolist() == [0, 1]
    # One statistic per feature, of the whole series, as it is.
    made.term = torch.arange(21)[:, None].repeat(1, 4)
    made.weight = torch.tensor([1.0, 0, 0, 0]).repeat(21, 1)
    made.bend = torch.full((21,), -torch.inf)
    made.mean, made.scale = torch.zeros_like(made.mean), torch.ones_like(made.scale)
    found = made(x).numpy().reshape(len(x), 7, 3)
    for row, one in enumerate(x.numpy()):
        for channel, values in enumerate(one):
            known = values[~np.isnan(values)]
            statistics = [0.0] * 6
            if len(known):
                spread = math.log(known.var() + 1e-4) / 2
                ends = [known[0], known[-1]]
                statistics = [known.mean(), known.min(), known.max(), *ends, spread]
            expected = np.clip([*statistics, math.log1p(len(known))], -4, 4)
            np.testing.assert_allclose(found[row, :, channel], expected, rtol=1e-4, atol=1e-5)


def test_windows_are_shares_of_the_length_of_a_series():
    x = torch.full((2, 1, 20), torch.nan)
    x[0, 0, :10] = torch.arange(10.0) / 10
    x[1, 0, :20] = torch.arange(20.0) / 20
    made = WindowSummaries.draw(x, 4, torch.Generator().manual_seed(0))
    made.window = torch.tensor([[0.0, 1.0], [0.5, 1.0], [0.0, 0.5], [0.5, 0.5]])
    made.term = torch.tensor([[1], [8], [15], [22]]).repeat(1, 4)  # the minimum of each window
    made.weight = torch.tensor([1.0, 0, 0, 0]).repeat(4, 1)
    made.bend = torch.full((4,), -torch.inf)
    made.mean, made.scale = torch.zeros_like(made.mean), torch.ones_like(made.scale)
    np.testing.assert_allclose(made(x), [[0, 0.5, 0, 0.5], [0, 0.5, 0, 0.5]], atol=1e-6)


def test_typing_errors_do_not_drown_a_channel():
    x = torch.randn(400, 1, 10, generator=torch.Generator().manual_seed(0))
    clean = WindowSummaries.draw(x, 64, torch.Generator().manual_seed(0))
    x[:4] = 1e6
    made = WindowSummaries.draw(x, 64, torch.Generator().manual_seed(0))
    assert made(x[:4]).abs().max() < 10
    ratio = made(x[4:]).std(0) / clean(x[4:]).std(0)
    assert 0.7 < ratio.nanmedian() < 1.4  # the number of observations is constant


def test_lengths_of_series():
    x = series()
    expected = [max(1, int((~one.isnan().all(0)).nonzero().max()) + 1)
                if (~one.isnan()).any() else 1 for one in x]  # fmt: skip
    assert series_lengths(x).tolist() == expected
