"""Logistic regression and ridge on the device, against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from aleator.evaluation import (
    linear_classifier,
    logistic_regression,
    nearest_neighbors,
    ridge,
)
from aleator.evaluation.lbfgs import minimize_lbfgs
from aleator.evaluation.logistic import fit_path
from aleator.evaluation.pca import PrincipalComponents

CPU = torch.device("cpu")


def overlapping(random, classes, rows=300, width=5):
    """Classes that overlap, of unequal sizes, in dimensions of unequal scales far from zero."""
    codes = np.minimum(random.integers(classes + 1, size=rows), classes - 1)
    centres = random.normal(size=(classes, width))
    scales = 10.0 ** np.linspace(-1, 1, width)
    return (centres[codes] + random.normal(size=(rows, width))) * scales + 3, codes


def ours(rows, codes, penalties, asked=None, **settings):
    along = PrincipalComponents.fit(rows, CPU)
    place = along.transform(rows if asked is None else asked)
    return [found.probabilities(place) for found in fit_path(along, codes, penalties, **settings)]


def theirs(rows, codes, penalty, asked=None):
    model = LogisticRegression(C=1 / penalty, max_iter=100_000, tol=1e-8, solver="newton-cholesky")
    return model.fit(rows, codes).predict_proba(rows if asked is None else asked)


class TestFitPath:
    @pytest.mark.parametrize("classes", [2, 3, 5])
    def test_probabilities_are_scikit_learns(self, random, classes):
        rows, codes = overlapping(random, classes)
        penalties = [1.0, 100.0, 0.01]  # in the order asked for, whatever the order of fitting
        all_found = ours(rows, codes, penalties, tolerance=1e-8)
        rough = ours(rows, codes, penalties)
        for penalty, found, near in zip(penalties, all_found, rough, strict=True):
            expected = theirs(rows, codes, penalty)
            np.testing.assert_allclose(found, expected, atol=1e-5)
            np.testing.assert_allclose(near, expected, atol=5e-3)

    def test_a_badly_conditioned_embedding(self, random):
        rows, codes = overlapping(random, 3, width=8)
        rows = rows @ random.normal(size=(8, 8)) * 10.0 ** np.linspace(-3, 3, 8)
        (found,) = ours(rows, codes, [1.0], tolerance=1e-7)
        np.testing.assert_allclose(found, theirs(rows, codes, 1.0), atol=1e-5)

    def test_more_dimensions_than_rows(self, random):
        rows, codes = random.normal(size=(20, 50)), np.arange(20) % 3
        asked = random.normal(size=(10, 50))
        (found,) = ours(rows, codes, [1.0], asked, tolerance=1e-7)
        np.testing.assert_allclose(found, theirs(rows, codes, 1.0, asked), atol=1e-5)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_separable_classes_with_hardly_a_penalty_stay_finite(self, classes):
        codes = np.arange(classes).repeat(20)
        rows = np.eye(classes)[codes] * 10
        (found,) = ours(rows, codes, [1e-8])
        assert np.isfinite(found).all()
        assert (found.argmax(1) == codes).all()
        assert found.max(1).min() > 0.99

    def test_dimensions_that_never_change_are_harmless(self, random):
        rows, codes = overlapping(random, 2)
        with_still = np.hstack([rows, np.full((300, 3), 7.0)])
        np.testing.assert_allclose(
            ours(with_still, codes, [1.0]), ours(rows, codes, [1.0]), atol=1e-6
        )

    def test_steps_bound_the_work(self, random):
        rows, codes = overlapping(random, 3)
        (early,) = ours(rows, codes, [1e-3], steps=1)
        assert np.abs(early - theirs(rows, codes, 1e-3)).max() > 0.01

    def test_a_path_ends_where_a_single_fit_ends(self, random):
        rows, codes = overlapping(random, 3)
        alone = ours(rows, codes, [0.1], tolerance=1e-8)[0]
        last = ours(rows, codes, [1000.0, 10.0, 0.1], tolerance=1e-8)[-1]
        np.testing.assert_allclose(last, alone, atol=1e-5)


class TestProbes:
    @pytest.mark.parametrize("kind", [str, int])
    def test_accuracy_is_scikit_learns(self, random, kind):
        rows, codes = overlapping(random, 4, rows=600)
        labels = codes.astype(kind)
        model = LogisticRegression(max_iter=10_000).fit(rows[:400], labels[:400])
        found = logistic_regression(
            rows[:400], labels[:400], rows[400:], labels[400:], device="cpu"
        )
        assert found.mean() == pytest.approx(model.score(rows[400:], labels[400:]), abs=0.006)

    def test_a_class_that_the_test_part_lacks(self, random):
        rows, codes = overlapping(random, 3)
        there = codes < 2
        found = logistic_regression(rows, codes, rows[there], codes[there], device="cpu")
        model = LogisticRegression(max_iter=10_000).fit(rows, codes)
        assert found.mean() == pytest.approx(model.score(rows[there], codes[there]), abs=0.006)
        assert all(np.isfinite(values).all() for values in found.metrics.values())

    @pytest.mark.parametrize("probe", [logistic_regression, linear_classifier, nearest_neighbors])
    @pytest.mark.parametrize("standardized", [False, True])
    def test_one_class_is_refused(self, random, probe, standardized):
        rows, labels = random.normal(size=(30, 3)), np.full(30, "cat")
        with pytest.raises(
            ValueError, match="at least 2 classes; the training part holds cat only"
        ):
            probe(rows, labels, rows, labels, standardized=standardized, device="cpu")

    @pytest.mark.parametrize(("rows", "width"), [(200, 5), (20, 50)])
    def test_ridge_is_scikit_learns(self, random, rows, width):
        X = random.normal(size=(rows + 100, width)).astype(np.float32) + 2
        y = X[:, 0] + 0.3 * random.normal(size=rows + 100) + 10
        parts = X[:rows], y[:rows], X[rows:], y[rows:]
        expected = Ridge(alpha=1.0).fit(*parts[:2]).score(*parts[2:])
        assert ridge(*parts, device="cpu").mean("r2") == pytest.approx(expected, rel=1e-4)

    def test_ridge_wants_numbers(self, random):
        rows = random.normal(size=(10, 2))
        with pytest.raises(ValueError, match="ridge predicts numbers"):
            ridge(rows, np.full(10, "a"), rows, np.full(10, "a"))


class TestMinimum:
    def test_a_crooked_valley_is_followed_to_its_end(self):
        """A quadratic whose curvatures span four decades."""
        curvature = torch.logspace(-4, 0, 30, dtype=torch.float64)
        target = torch.linspace(-1, 1, 30, dtype=torch.float64)

        def valley(x):
            return (curvature * (x - target).square()).sum() / 2, curvature * (x - target)

        found = minimize_lbfgs(valley, torch.zeros_like(target), steps=1000, tolerance=1e-10)
        assert torch.allclose(found, target, atol=1e-5)

    def test_a_curvature_far_above_one_is_met_by_shorter_steps(self):
        def steep(x):
            return (1e6 * x.square() / 2).sum(), 1e6 * x

        start = torch.ones(1, dtype=torch.float64)
        assert minimize_lbfgs(steep, start, steps=50, tolerance=1e-3).abs() < 1e-8
        assert start == 1

    def test_it_ends_where_rounding_allows_no_gain(self):
        asked = []

        def flat(x):
            asked.append(x)
            return torch.logaddexp(x, -x).sum(), x.tanh()

        found = minimize_lbfgs(flat, torch.full((3,), 2.0).double(), steps=10_000, tolerance=0.0)
        assert found.abs().max() < 1e-6
        assert len(asked) < 200
