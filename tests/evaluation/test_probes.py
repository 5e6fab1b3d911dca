"""Probes against scikit-learn's estimators."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from aleator.evaluation import (
    Evaluation,
    ProbeTraining,
    linear_classifier,
    logistic_regression,
    mlp_classifier,
    nearest_neighbors,
    probes,
    ridge,
)
from aleator.evaluation.metrics import CLASSIFICATION
from tests.evaluation.data import overlapping_classes
from tests.small import small_lfr

FAST = ProbeTraining(epochs=30, learning_rate=0.01)


@pytest.fixture
def parts(random):
    """Three classes that overlap a little, labeled 5, 6 and 7."""
    labels = random.integers(3, size=600) + 5
    rows = (np.eye(3)[labels - 5] * 3 + random.normal(size=(600, 3))).astype(np.float32)
    return rows[:400], labels[:400], rows[400:], labels[400:]


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize(
    ("probe", "settings"),
    [
        (logistic_regression, {}),
        (linear_classifier, {"training": FAST, "device": "cpu"}),
        (mlp_classifier, {"training": FAST, "device": "cpu", "hidden": 16}),
        (nearest_neighbors, {"device": "cpu"}),
    ],
)
def test_every_probe_classifies_separable_classes(parts, probe, settings, standardized):
    result = probe(*parts, standardized=standardized, seeds=(0, 1), **settings)
    assert isinstance(result, Evaluation)
    assert set(result.metrics) == set(CLASSIFICATION)
    assert result.mean() > 0.9
    assert len(result.values()) == 2
    assert ("standardized" in result.probe) == standardized
    assert len(result.chosen) == (2 if standardized else 0)
    assert result.seconds > 0
    assert "accuracy" in str(result)
    again = probe(*parts, standardized=standardized, seeds=(0, 1), **settings)
    assert again.metrics == result.metrics


@pytest.mark.parametrize("layer_norm", [False, True])
def test_mlp_is_normalized_on_request(parts, monkeypatch, layer_norm):
    """MIMIC-III's classifier of the authors' program: Linear, LayerNorm, ReLU, Linear."""
    networks = []
    scores = probes.trained_probe_scores

    def recorded(make_network, *arguments):
        networks.append(make_network(5, 3))
        return scores(make_network, *arguments)

    monkeypatch.setattr(probes, "trained_probe_scores", recorded)
    mlp_classifier(*parts, hidden=7, layer_norm=layer_norm, training=FAST, device="cpu")
    norm = ["LayerNorm"] if layer_norm else []
    assert [type(layer).__name__ for layer in networks[0]] == ["Linear", *norm, "ReLU", "Linear"]
    assert networks[0][0].out_features == 7


def test_logistic_regression_matches_scikit_learn(parts):
    model = LogisticRegression(max_iter=1000).fit(*parts[:2])
    assert logistic_regression(*parts).mean() == model.score(*parts[2:])


def test_nearest_neighbors_match_scikit_learn(parts):
    knn = KNeighborsClassifier(5, metric="cosine").fit(*parts[:2])
    ours = nearest_neighbors(*parts, k=5, device="cpu")
    # They differ in ties, which scikit-learn gives to the lower class.
    assert ours.mean() == pytest.approx(knn.score(*parts[2:]), abs=0.02)


def test_more_neighbors_than_samples():
    rows, labels = np.eye(3), np.arange(3)
    assert nearest_neighbors(rows, labels, rows, labels, k=50, device="cpu").mean() == 1


def test_ridge(random):
    rows = random.normal(size=(300, 5)).astype(np.float32)
    targets = rows @ random.normal(size=5) + 0.1 * random.normal(size=300)
    parts = rows[:200], targets[:200], rows[200:], targets[200:]
    model = Ridge(alpha=1.0).fit(*parts[:2])
    assert ridge(*parts).mean("r2") == pytest.approx(model.score(*parts[2:]))
    assert ridge(*parts, standardized=True).mean("r2") > 0.98


def test_standardizing_helps_an_embedding_of_unequal_scales(parts):
    scale = np.array([1e-4, 1.0, 1e3], dtype=np.float32)
    parts = parts[0] * scale, parts[1], parts[2] * scale, parts[3]
    paper = linear_classifier(*parts, training=FAST, device="cpu")
    standardized = linear_classifier(*parts, training=FAST, device="cpu", standardized=True)
    assert standardized.mean() > 0.9 > paper.mean()


def test_the_choice_does_not_depend_on_the_test_set(parts):
    shuffled = parts[3][np.random.default_rng(1).permutation(len(parts[3]))]
    first = logistic_regression(*parts, standardized=True, seeds=(0, 1, 2))
    second = logistic_regression(*parts[:3], shuffled, standardized=True, seeds=(0, 1, 2))
    assert first.chosen == second.chosen
    assert first.mean() > second.mean()


def test_the_chosen_penalty_is_fitted_as_on_the_validation_set(random):
    """The search for a weak penalty starts from stronger ones, also if it is the only one."""
    latent, labels = random.normal(size=(1200, 6)), random.integers(3, size=1200)
    latent[:, 0] += 6 * labels
    rows = latent @ random.normal(size=(6, 400)) + 0.3 * random.normal(size=(1200, 400))
    parts = rows[:150], labels[:150], rows[150:], labels[150:]
    result = logistic_regression(*parts, standardized=True, choose_by="log_loss", device="cpu")
    assert result.chosen[0]["penalty"] < 1, "an easy problem needs no strong penalty"
    assert result.mean() > 0.98


def test_a_fitted_model_embeds(table):
    labels = table[:, 0] > 0
    model = small_lfr().fit(table)
    direct = logistic_regression(model.transform(table), labels, model.transform(table), labels)
    assert logistic_regression(table, labels, table, labels, model=model).metrics == (
        direct.metrics
    )


def test_invalid_arguments_are_rejected(parts, series):
    with pytest.raises(
        ValueError, match=r"X_train must be an embedding .* a fitted estimator as model="
    ):
        logistic_regression(series, np.zeros(40), series, np.zeros(40))
    with pytest.raises(
        ValueError, match=r"y_train must contain one label per sample: .*\(400,\).*\(399,\)"
    ):
        logistic_regression(parts[0], parts[1][:-1], *parts[2:])
    with pytest.raises(ValueError, match="X_test contains NaN or infinity"):
        logistic_regression(*parts[:2], parts[2] * np.nan, parts[3])


@pytest.mark.parametrize("kind", [str, int])
def test_accuracy_matches_scikit_learn(random, kind):
    rows, codes = overlapping_classes(random, 4, n_samples=600)
    labels = codes.astype(kind)
    model = LogisticRegression(max_iter=10_000).fit(rows[:400], labels[:400])
    result = logistic_regression(rows[:400], labels[:400], rows[400:], labels[400:], device="cpu")
    assert result.mean() == pytest.approx(model.score(rows[400:], labels[400:]), abs=0.006)


def test_class_without_test_samples(random):
    rows, codes = overlapping_classes(random, 3)
    kept = codes < 2
    result = logistic_regression(rows, codes, rows[kept], codes[kept], device="cpu")
    model = LogisticRegression(max_iter=10_000).fit(rows, codes)
    assert result.mean() == pytest.approx(model.score(rows[kept], codes[kept]), abs=0.006)
    assert all(np.isfinite(values).all() for values in result.metrics.values())


@pytest.mark.parametrize("probe", [logistic_regression, linear_classifier, nearest_neighbors])
@pytest.mark.parametrize("standardized", [False, True])
def test_a_single_class_is_rejected(random, probe, standardized):
    rows, labels = random.normal(size=(30, 3)), np.full(30, "cat")
    with pytest.raises(ValueError, match=r"y_train must contain at least 2 classes.*cat"):
        probe(rows, labels, rows, labels, standardized=standardized, device="cpu")


@pytest.mark.parametrize(("rows", "width"), [(200, 5), (20, 50)])
def test_ridge_matches_scikit_learn(random, rows, width):
    X = random.normal(size=(rows + 100, width)).astype(np.float32) + 2
    y = X[:, 0] + 0.3 * random.normal(size=rows + 100) + 10
    parts = X[:rows], y[:rows], X[rows:], y[rows:]
    expected = Ridge(alpha=1.0).fit(*parts[:2]).score(*parts[2:])
    assert ridge(*parts, device="cpu").mean("r2") == pytest.approx(expected, rel=1e-4)


def test_ridge_rejects_labels_that_are_not_numbers(random):
    rows = random.normal(size=(10, 2))
    with pytest.raises(ValueError, match="ridge needs numeric targets, but y_train has dtype"):
        ridge(rows, np.full(10, "a"), rows, np.full(10, "a"))
