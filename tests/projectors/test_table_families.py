"""Families of tables against slow implementations and other libraries."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.preprocessing import QuantileTransformer

from aleator.projectors.fourier import FourierFeatures, draw_bandwidths
from aleator.projectors.landmarks import Landmarks
from aleator.projectors.quantiles import QuantileNormal
from aleator.projectors.sums import RandomSums
from aleator.projectors.trees import RandomTrees, column_entropies
from tests.projectors.families import generator, sample_of


class TestTrees:
    def test_every_row_is_in_the_leaf_that_it_descends_to(self):
        x = sample_of("table", 50)
        module = RandomTrees.draw(x, 80, generator())
        assert module.column.shape == (10, 7)
        expected = np.zeros((50, 10, 8))
        for row in range(50):
            for tree in range(10):
                node = 0
                while node < 7:
                    value = x[row, module.column[tree, node]]
                    node = 2 * node + 2 if value > module.threshold[tree, node] else 2 * node + 1
                expected[row, tree, node - 7] = 1
        np.testing.assert_array_equal(module(x), expected.reshape(50, 80))

    def test_thresholds_are_between_values_of_rows_that_reach_the_node(self):
        x = sample_of("table", 100)
        module = RandomTrees.draw(x, 160, generator())
        for column, threshold in zip(module.column, module.threshold, strict=True):
            reaching = {0: torch.arange(100)}
            for node in range(7):
                values = x[reaching[node], column[node]]
                if len(values) > 1:
                    assert values.min() <= threshold[node] <= values.max()
                right = values > threshold[node]
                reaching[2 * node + 1] = reaching[node][~right]
                reaching[2 * node + 2] = reaching[node][right]
        # Uniform between two random rows, not always in the middle.
        assert module.threshold[:, 0].std() > 0.3

    def test_columns_are_drawn_in_proportion_to_their_entropy(self):
        x = sample_of("table", 400)
        x[:, 0] = 1.0
        x[:, 1] = (torch.arange(400) % 2).float()
        x[:, 2] = (torch.arange(400) % 4).float()
        entropy = column_entropies(x).double().numpy()
        np.testing.assert_allclose(entropy[:3], [0, np.log(2), np.log(4)], atol=1e-5)
        np.testing.assert_allclose(entropy[3:], np.log(32), rtol=0.03)
        column = RandomTrees.draw(x, 8 * 3000, generator()).column
        shares = np.bincount(column.flatten().numpy(), minlength=6) / column.numel()
        np.testing.assert_allclose(shares, entropy / entropy.sum(), atol=0.01)

    def test_entropies_are_those_of_counts(self):
        values = torch.tensor([0.0] * 90 + [1.0] * 10)[:, None]
        assert column_entropies(values).item() == pytest.approx(stats.entropy([0.9, 0.1]))


class TestQuantiles:
    @pytest.mark.parametrize("of", [torch.exp, torch.sinh, lambda x: x])
    def test_columns_become_normal(self, of):
        x = of(sample_of("table", 4000))
        mapped = QuantileNormal.fit(x)(x).double().numpy()
        ranks = stats.rankdata(x.numpy(), axis=0) / 4001
        inner = (ranks > 0.05) & (ranks < 0.95)
        np.testing.assert_allclose(mapped[inner], stats.norm.ppf(ranks)[inner], atol=0.03)
        assert np.abs(mapped).max() == pytest.approx(stats.norm.ppf(1 - 0.5 / 129), rel=1e-4)

    def test_scikit_learn_agrees(self):
        x, other = sample_of("table", 3000).exp(), sample_of("table", 100, seed=1).exp()
        theirs = QuantileTransformer(n_quantiles=129, output_distribution="normal").fit(x.numpy())
        limit = stats.norm.ppf(1 - 0.5 / 129)
        expected = theirs.transform(other.numpy()).clip(-limit, limit)
        np.testing.assert_allclose(QuantileNormal.fit(x)(other), expected, atol=0.02)

    def test_equal_values_get_the_middle_of_their_ranks(self):
        x = torch.tensor([0.0] * 60 + [1.0] * 40)[:, None]
        low, high = QuantileNormal.fit(x)(torch.tensor([[0.0], [1.0]])).flatten().tolist()
        assert low == pytest.approx(stats.norm.ppf(0.3), abs=0.03)
        assert high == pytest.approx(stats.norm.ppf(0.8), abs=0.03)

    def test_values_beyond_the_sample_are_at_the_ends(self):
        normal = QuantileNormal.fit(sample_of("table", 200))
        ends = normal(torch.tensor([-1e9, 1e9])[:, None].expand(-1, 6))
        np.testing.assert_allclose(ends[1], stats.norm.ppf(1 - 0.5 / 129), rtol=1e-4)
        torch.testing.assert_close(ends[0], -ends[1])


def test_fourier_features():
    x = sample_of("table", 200)
    module = FourierFeatures.draw(x, 33, generator())
    mapped = module.normal(x).double().numpy()
    expected = np.empty((200, 33))
    for k in range(33):
        frequency = module.frequency[:, k].double().numpy()
        expected[:, k] = np.sqrt(2) * np.cos(mapped @ frequency + float(module.phase[k]))
    np.testing.assert_allclose(module(x), expected, atol=1e-4)
    assert module.phase.min() >= 0
    assert module.phase.max() <= 2 * np.pi


def test_fourier_features_estimate_a_gaussian_kernel():
    """Rahimi and Recht: the mean product of two rows' features is the kernel of the two rows."""
    x = sample_of("table", 30)
    normal = QuantileNormal.fit(x)
    draw = generator()
    frequency = torch.randn(6, 40_000, generator=draw) / 3
    phase = 2 * np.pi * torch.rand(40_000, generator=draw)
    features = FourierFeatures(normal, frequency, phase)(x)
    expected = (-torch.cdist(normal(x), normal(x)).square() / (2 * 3**2)).exp()
    np.testing.assert_allclose(features @ features.T / 40_000, expected, atol=0.03)


def test_landmarks():
    x = sample_of("table", 200)
    module = Landmarks.draw(x, 33, generator())
    mapped, rows = module.normal(x).double().numpy(), module.row.double().numpy()
    expected = np.empty((200, 33))
    for k in range(33):
        distance = np.sqrt(((mapped - rows[k]) ** 2).sum(1))
        expected[:, k] = np.exp(-0.5 * (distance / float(module.bandwidth[k])) ** 2)
        assert np.abs(mapped - rows[k]).max(1).min() < 1e-6, "a landmark is a row of the data"
    np.testing.assert_allclose(module(x), expected, atol=1e-4)
    assert len(np.unique(rows, axis=0)) == 33, "each row is drawn once as long as there are enough"


def test_bandwidths_are_around_the_median_distance():
    x = 7 * sample_of("table", 400)
    bandwidth = draw_bandwidths(x, 2000, generator())
    median = torch.pdist(x).median().item()
    assert bandwidth.min().item() == pytest.approx(0.5 * median, rel=0.15)
    assert bandwidth.max().item() == pytest.approx(4 * median, rel=0.15)
    assert bandwidth.median().item() == pytest.approx(np.sqrt(2) * median, rel=0.15)
    assert torch.isfinite(draw_bandwidths(torch.ones(5, 2), 3, generator())).all()


def test_a_column_of_many_features_is_drawn_like_eight_numbers():
    sample = torch.randn(500, 41, generator=torch.Generator().manual_seed(0))
    kwargs = {"output_dim": 8000, "generator": torch.Generator().manual_seed(1)}
    for blocks, share in (([], 1 / 41), ([slice(1, 41)], 1 / 9)):
        drawn = RandomTrees.draw(sample, blocks=blocks, **kwargs).column
        assert (drawn == 0).float().mean().item() == pytest.approx(share, rel=0.1)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("column", torch.zeros(3, 6, dtype=torch.long), "do not fit"),
        ("column", torch.zeros(2, 3, 7, dtype=torch.long), "do not fit"),
        ("column", torch.zeros(3, 7), "do not fit"),
        ("column", torch.full((3, 7), -1), "before the first"),
        ("threshold", torch.zeros(3, 1), "do not fit"),
        ("output_dim", torch.zeros(2), "do not fit"),
    ],
)
def test_saved_trees_that_make_no_sense_are_rejected(name, value, message):
    saved = RandomTrees.draw(sample_of("table", 50), 24, generator()).state_dict()
    RandomTrees().load_state_dict(saved)
    with pytest.raises(ValueError, match=message):
        RandomTrees().load_state_dict({**saved, name: value})


def test_saved_trees_need_the_columns_that_they_test():
    drawn = RandomTrees(torch.tensor([[4]]), torch.tensor([[0.5]]), output_dim=2)
    loaded = RandomTrees()
    loaded.load_state_dict(drawn.state_dict())
    assert loaded(torch.zeros(1, 5)).tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="test 5 columns, but rows have 4"):
        loaded(torch.zeros(1, 4))


def test_a_column_of_few_categories_is_drawn_like_a_number():
    sample = torch.randn(500, 3, generator=torch.Generator().manual_seed(0))
    sample[:, 1] = (torch.arange(500) % 10 == 0).float()  # two indicators, rarely 1
    sample[:, 2] = (torch.arange(500) % 10 == 1).float()
    drawn = RandomTrees.draw(sample, 8000, generator(1), [slice(0, 1), slice(1, 3)]).column
    assert (drawn == 0).float().mean().item() == pytest.approx(1 / 2, rel=0.1)


def test_columns_without_values_are_hardly_drawn():
    sample = torch.randn(500, 3)
    sample[:, 1:] = 1.0
    drawn = RandomTrees.draw(sample, 8000, generator(), [slice(0, 1), slice(1, 3)]).column
    assert (drawn == 0).float().mean() > 0.99


class TestSums:
    def test_a_sum_is_of_four_columns(self):
        x = sample_of("table", 50).clamp(-1.5, 1.5)
        module = RandomSums.draw(x, 33, generator())
        assert ((module.weight != 0).sum(0) == 4).all()
        expected = np.zeros((50, 33))
        for row in range(50):
            for k in range(33):
                for column in np.flatnonzero(module.weight[:, k].numpy()):
                    expected[row, k] += float(x[row, column]) * float(module.weight[column, k])
        np.testing.assert_allclose(module(x), expected, atol=1e-5)

    def test_columns_contribute_the_same_variance_whatever_became_of_them(self):
        """A number, five categories, and a text of ten directions, the first of which is large."""
        x = torch.randn(2000, 16, generator=generator())
        x[:, 1:6] = torch.eye(5)[torch.arange(2000) % 10 % 5]
        x[:, 6] *= 5
        x[:, 0] *= 100
        blocks = [slice(0, 1), slice(1, 6), slice(6, 16)]
        weight = RandomSums.draw(x, 4000, generator(1), blocks).weight
        variances = [(x[:, block] @ weight[block]).var(0).mean().item() for block in blocks]
        # Indicators of a column exclude each other, and vary together by a little more.
        assert variances == pytest.approx([1, 1, 1], rel=0.3)
        directions = weight[6:].square().mean(1)
        np.testing.assert_allclose(directions / directions.mean(), 1, atol=0.15)

    def test_rare_categories_count_less_but_not_as_little_as_they_vary(self):
        """Deviations of 0.5 and 0.1 contribute as their roots, in whatever scale they are."""
        x = torch.zeros(10_000, 2)
        x[::2, 0], x[::100, 1] = 1, 1
        for rows in (x, x / x.std(0)):
            drawn = RandomSums.draw(rows, 20_000, generator(), [slice(0, 2)])
            deviation = rows.clamp(drawn.lowest, drawn.highest).std(0)
            common, rare = (drawn.weight.square().mean(1).sqrt() * deviation).tolist()
            assert common / rare == pytest.approx(np.sqrt(0.5 / 0.0995), rel=0.05)

    def test_values_far_away_count_as_five_deviations(self):
        x = sample_of("table", 4000)
        module = RandomSums.draw(x, 33, generator())
        near, far, beyond = (module(torch.full((1, 6), value)) for value in (5.0, 50.0, 1e9))
        torch.testing.assert_close(near, far, rtol=0.1, atol=0.1)
        assert torch.equal(far, beyond)

    def test_columns_without_values_contribute_nothing(self):
        x = sample_of("table", 50)
        x[:, 2] = 3.0
        weight = RandomSums.draw(x, 200, generator()).weight
        assert torch.isfinite(weight).all()
        assert (weight[2] == 0).all()

    def test_saved_weights_that_make_no_sense_are_rejected(self):
        x = sample_of("table")
        saved = RandomSums.draw(x, 9, generator())
        RandomSums().load_state_dict(saved.state_dict())
        for name, wrong in (
            ("weight", torch.zeros(6)),
            ("weight", torch.zeros(6, 9, dtype=torch.long)),
            ("lowest", torch.zeros(5)),
            ("highest", torch.zeros(6, 1)),
        ):
            with pytest.raises(ValueError, match="do not fit"):
                RandomSums().load_state_dict({**saved.state_dict(), name: wrong})
        with pytest.raises(ValueError, match="of 6 columns, but rows have 5"):
            saved(x[:, :5])
