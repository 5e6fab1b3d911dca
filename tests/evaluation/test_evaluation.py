"""Probes, metrics, diagnostics, fine-tuning and transfer, against independent answers."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn import metrics as theirs
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from aleator import DACL, LFR, SCARF, TSTCC, RandomEncoder, SimCLR, SimSiam
from aleator.evaluation import (
    Evaluation,
    ProbeTraining,
    alpha_req,
    diagnose,
    diagnose_model,
    fine_tune,
    lidar,
    linear_classifier,
    logistic_regression,
    metrics,
    mlp_classifier,
    nearest_neighbors,
    rank_me,
    ridge,
    transfer,
)
from tests.small import small_lfr

FAST = ProbeTraining(epochs=30, learning_rate=0.01)


@pytest.fixture
def parts(random):
    """Three classes that overlap a little, labelled 5, 6 and 7."""
    labels = random.integers(3, size=600) + 5
    rows = (np.eye(3)[labels - 5] * 3 + random.normal(size=(600, 3))).astype(np.float32)
    return rows[:400], labels[:400], rows[400:], labels[400:]


class TestMetrics:
    def test_against_scikit_learn(self, random):
        classes = np.array(["a", "b", "c", "d"])
        labels = classes[random.integers(4, size=200)]
        scores = random.random((200, 4)) + 0.5 * (labels[:, None] == classes)
        scores /= scores.sum(1, keepdims=True)
        predicted = classes[scores.argmax(1)]
        found = metrics.of_classes(labels, scores, classes)
        assert found == pytest.approx(
            {
                "accuracy": theirs.accuracy_score(labels, predicted),
                "balanced_accuracy": theirs.balanced_accuracy_score(labels, predicted),
                "macro_f1": theirs.f1_score(labels, predicted, average="macro"),
                "auroc": theirs.roc_auc_score(labels, scores, multi_class="ovr"),
                "kappa": theirs.cohen_kappa_score(labels, predicted, weights="linear"),
            }
        )

    def test_two_classes(self, random):
        labels = random.integers(2, size=100)
        positive = random.random(100) + 0.3 * labels
        found = metrics.of_classes(labels, np.stack([1 - positive, positive], 1), np.arange(2))
        assert found["auroc"] == pytest.approx(theirs.roc_auc_score(labels, positive))

    def test_kappa_by_hand(self):
        """Of three classes in a row, an error by two counts twice an error by one."""
        scores = np.eye(3)[[0, 1, 2, 2]]
        found = metrics.of_classes(np.array([0, 1, 2, 0]), scores, np.arange(3))
        # Distances: observed 2 in all; expected by chance sum_ij r_i p_j |i - j| / n.
        expected = sum(
            row * column * abs(i - j) / 4
            for i, row in enumerate([2, 1, 1])
            for j, column in enumerate([1, 1, 2])
        )
        assert found["kappa"] == pytest.approx(1 - 2 / expected)

    def test_a_class_that_the_test_part_lacks(self):
        scores = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]])
        found = metrics.of_classes(np.array([0, 1]), scores, np.arange(3))
        assert found["accuracy"] == found["balanced_accuracy"] == found["macro_f1"] == 1
        assert found["auroc"] == 1

    def test_a_class_that_the_training_part_lacks_counts_as_missed(self):
        labels, scores = np.array([0, 1, 2, 2]), np.eye(2)[[0, 1, 1, 1]]
        found = metrics.of_classes(labels, scores, np.arange(2))
        predicted = np.array([0, 1, 1, 1])
        assert found["accuracy"] == 0.5
        assert found["balanced_accuracy"] == pytest.approx(2 / 3)
        assert found["macro_f1"] == pytest.approx(
            theirs.f1_score(labels, predicted, average="macro", zero_division=0)
        )
        assert found["kappa"] == pytest.approx(
            theirs.cohen_kappa_score(labels, predicted, weights="linear")
        )
        assert np.isfinite(found["auroc"])

    def test_numbers(self, random):
        truth, guess = random.normal(size=50), random.normal(size=50)
        found = metrics.of_numbers(truth, guess)
        assert found["r2"] == pytest.approx(theirs.r2_score(truth, guess))
        assert found["rmse"] ** 2 == pytest.approx(theirs.mean_squared_error(truth, guess))


class TestProbes:
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
    def test_every_probe_reads_separable_classes(self, parts, probe, settings, standardized):
        result = probe(*parts, standardized=standardized, seeds=(0, 1), **settings)
        assert isinstance(result, Evaluation)
        assert set(result.metrics) == set(metrics.CLASSIFICATION)
        assert result.mean() > 0.9
        assert len(result.values()) == 2
        assert ("standardized" in result.probe) == standardized
        assert len(result.chosen) == (2 if standardized else 0)
        assert result.seconds > 0
        assert "accuracy" in str(result)
        again = probe(*parts, standardized=standardized, seeds=(0, 1), **settings)
        assert again.metrics == result.metrics

    def test_logistic_regression_is_scikit_learns(self, parts):
        model = LogisticRegression(max_iter=1000).fit(*parts[:2])
        assert logistic_regression(*parts).mean() == model.score(*parts[2:])

    def test_neighbours_are_scikit_learns(self, parts):
        knn = KNeighborsClassifier(5, metric="cosine").fit(*parts[:2])
        ours = nearest_neighbors(*parts, k=5, device="cpu")
        # Ties apart, of which scikit-learn takes the lower class.
        assert ours.mean() == pytest.approx(knn.score(*parts[2:]), abs=0.02)

    def test_more_neighbours_than_rows(self):
        rows, labels = np.eye(3), np.arange(3)
        assert nearest_neighbors(rows, labels, rows, labels, k=50, device="cpu").mean() == 1

    def test_ridge(self, random):
        rows = random.normal(size=(300, 5)).astype(np.float32)
        targets = rows @ random.normal(size=5) + 0.1 * random.normal(size=300)
        parts = rows[:200], targets[:200], rows[200:], targets[200:]
        model = Ridge(alpha=1.0).fit(*parts[:2])
        assert ridge(*parts).mean("r2") == pytest.approx(model.score(*parts[2:]))
        assert ridge(*parts, standardized=True).mean("r2") > 0.98

    def test_standardising_helps_an_embedding_of_unequal_scales(self, parts):
        scale = np.array([1e-4, 1.0, 1e3], dtype=np.float32)
        parts = parts[0] * scale, parts[1], parts[2] * scale, parts[3]
        plain = linear_classifier(*parts, training=FAST, device="cpu")
        fair = linear_classifier(*parts, training=FAST, device="cpu", standardized=True)
        assert fair.mean() > 0.9 > plain.mean()

    def test_the_test_part_does_not_choose(self, parts):
        """Labels of the test part may be anything: what is chosen stays the same."""
        shuffled = parts[3][np.random.default_rng(1).permutation(len(parts[3]))]
        first = logistic_regression(*parts, standardized=True, seeds=(0, 1, 2))
        second = logistic_regression(*parts[:3], shuffled, standardized=True, seeds=(0, 1, 2))
        assert first.chosen == second.chosen
        assert first.mean() > second.mean()

    def test_a_fitted_model_embeds(self, table):
        labels = table[:, 0] > 0
        model = small_lfr().fit(table)
        direct = logistic_regression(model.transform(table), labels, model.transform(table), labels)
        assert logistic_regression(table, labels, table, labels, model=model).metrics == (
            direct.metrics
        )

    def test_wrong_arguments_are_explained(self, parts, series):
        with pytest.raises(ValueError, match="model=a fitted estimator"):
            logistic_regression(series, np.zeros(40), series, np.zeros(40))
        with pytest.raises(ValueError, match="y_train must hold one label a row: 400 rows"):
            logistic_regression(parts[0], parts[1][:-1], *parts[2:])
        with pytest.raises(ValueError, match="X_test holds values that are not finite"):
            logistic_regression(*parts[:2], parts[2] * np.nan, parts[3])


class TestDiagnostics:
    def test_rank_me_against_numpy(self, random):
        rows = random.normal(size=(60, 8)) * np.arange(1, 9) + 1
        share = np.linalg.svd(rows, compute_uv=False)
        expected = np.exp(entropy(share))
        assert rank_me(rows, "cpu") == pytest.approx(expected, rel=1e-3)

    @pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
    def test_alpha_req_finds_a_power_law(self, random, alpha):
        basis = np.linalg.qr(random.normal(size=(400, 40)))[0]
        basis -= basis.mean(0)
        basis = np.linalg.qr(basis)[0]
        rows = basis * np.arange(1, 41) ** (-alpha / 2)
        assert alpha_req(rows, "cpu") == pytest.approx(alpha, rel=0.02)
        assert np.isnan(alpha_req(rows[:, :2], "cpu"))

    def test_lidar_counts_what_tells_samples_apart(self, random):
        samples = np.zeros((800, 1, 6))
        samples[..., :2] = random.normal(size=(800, 1, 2))
        noise = 0.05 * random.normal(size=(800, 8, 6))
        assert lidar(samples + noise, "cpu") == pytest.approx(2, abs=0.1)
        # Noise along a direction hides what the samples differ in there.
        noise[..., 0] = 5 * random.normal(size=(800, 8))
        assert lidar(samples + noise, "cpu") == pytest.approx(1, abs=0.2)

    def test_verdicts(self, random):
        rows = random.normal(size=(300, 10))
        assert not diagnose(rows, device="cpu").collapsed
        point = diagnose(5 + 1e-6 * rows, device="cpu")
        assert point.collapsed
        assert "same point" in point.verdict
        line = diagnose(rows[:, :1] * np.ones(10) + 3, device="cpu")
        assert line.collapsed
        assert "one line" in line.verdict
        narrow = diagnose(rows[:, :2] @ random.normal(size=(2, 100)), device="cpu")
        assert not narrow.collapsed
        assert narrow.verdict.startswith("narrow: about 2 of 100")
        assert "RankMe" in str(narrow)
        with_views = diagnose(rows, views=random.normal(size=(20, 4, 10)), device="cpu")
        assert "LiDAR" in str(with_views)

    def test_parts_and_whole_agree(self, random):
        rows = random.normal(size=(60, 8)) * np.arange(1, 9) + 1
        whole = diagnose(rows, device="cpu")
        assert whole.rank_me == rank_me(rows, "cpu")
        assert whole.alpha_req == alpha_req(rows, "cpu")
        np.testing.assert_allclose(whole.deviations, rows.std(0), rtol=1e-5)
        wide = diagnose(rows.T, device="cpu")
        assert wide.rank_me == pytest.approx(whole.rank_me, rel=1e-4)

    @pytest.mark.parametrize(
        ("method", "kind"),
        [
            (SimCLR, "table"), (SimSiam, "table"), (SCARF, "table"), (DACL, "table"),
            (SimCLR, "series"), (DACL, "series"), (TSTCC, "series"),
        ],
    )  # fmt: skip
    def test_an_estimator_that_compares_views_is_judged_in_them(
        self, method, kind, table, series, monkeypatch
    ):
        X = table if kind == "table" else series
        model = method(epochs=1, random_state=0, progress=False).fit(X)
        seen = []
        monkeypatch.setattr(
            "aleator.evaluation.model_diagnostics.diagnose",
            lambda rows, views, device: seen.append((rows, views)) or diagnose(rows, views, device),
        )
        found = diagnose_model(model, X, n_views=4, device="cpu")
        assert 1 <= found.lidar <= model.embedding_dim_
        ((rows, views),) = seen
        assert views.shape == (len(X), 4, model.embedding_dim_)
        np.testing.assert_array_equal(rows, model.transform(X))
        assert not np.allclose(views[:, 1], views[:, 3])  # each is drawn anew
        assert diagnose_model(model, X, n_views=4, device="cpu").lidar == found.lidar
        if method is SCARF:  # one of its two views is the sample as it is
            np.testing.assert_allclose(views[:, 0], rows, atol=1e-5)

    def test_an_estimator_without_views_has_no_lidar(self, table):
        model = RandomEncoder(embedding_dim=8, random_state=0).fit(table)
        assert diagnose_model(model, table, device="cpu").lidar is None
        with pytest.raises(ValueError, match="n_views"):
            diagnose_model(model, table, n_views=1)

    def test_what_is_no_embedding_is_refused(self):
        with pytest.raises(ValueError, match="rows × dimensions"):
            rank_me(np.zeros(3))
        with pytest.raises(ValueError, match="samples × views × dimensions"):
            lidar(np.zeros((3, 3)))
        with pytest.raises(ValueError, match="not finite"):
            diagnose(np.full((3, 3), np.nan))


class TestFineTuning:
    @pytest.fixture
    def rows(self, random):
        X = random.normal(size=(300, 6)).astype(np.float32) * 3 + 1
        return X, (X[:, 0] + X[:, 1] > 2).astype(int)

    def test_it_starts_from_the_models_encoder_and_leaves_it_alone(self, rows):
        X, y = rows
        model = LFR(epochs=2, embedding_dim=16, n_projectors=2, random_state=0, progress=False)
        before = model.fit(X).transform(X)
        tuned = fine_tune(model, X[:200], y[:200], X[200:], y[200:], epochs=40, learning_rate=3e-3)
        assert tuned.mean() > 0.9
        np.testing.assert_array_equal(model.transform(X), before)
        untouched = fine_tune(model, X[:200], y[:200], X[200:], y[200:], epochs=0)
        assert untouched.mean() < 0.9  # its linear layer is random

    def test_a_fraction_of_the_labels(self, rows, monkeypatch):
        X, y = rows
        seen = []
        from aleator.estimators import Supervised

        fit = Supervised.fit
        monkeypatch.setattr(
            Supervised, "fit", lambda self, X, y: seen.append((len(X), y.mean())) or fit(self, X, y)
        )
        model = RandomEncoder(embedding_dim=8, random_state=0).fit(X)
        result = fine_tune(model, X, y, X, y, label_fraction=0.1, seeds=(0, 1), epochs=1)
        assert [count for count, _ in seen] == [30, 30]
        assert all(share == pytest.approx(y.mean(), abs=0.04) for _, share in seen)
        assert "10 % of the labels" in result.probe
        assert len(result.values()) == 2
        with pytest.raises(ValueError, match="label_fraction"):
            fine_tune(model, X, y, X, y, label_fraction=0)
        rare = np.where(np.arange(300) < 4, 2, y)
        with pytest.raises(ValueError, match="leaves no row of class 2, which has 4"):
            fine_tune(model, X, rare, X, rare, label_fraction=0.1)

    def test_wrong_arguments_are_explained(self, rows):
        X, y = rows
        model = RandomEncoder(embedding_dim=8, random_state=0).fit(X)
        with pytest.raises(ValueError, match="y_train must hold one label a row: 300 rows"):
            fine_tune(model, X, y[:-1], X, y)
        with pytest.raises(ValueError, match="at least one seed"):
            fine_tune(model, X, y, X, y, seeds=())
        with pytest.raises(ValueError, match="at least one seed"):
            transfer(RandomEncoder(), X, X, y, X, y, seeds=())
        with pytest.raises(ValueError, match="at least one seed"):
            logistic_regression(X, y, X, y, seeds=())

    def test_transfer_pretrains_on_the_source_alone(self, rows, random, monkeypatch):
        X, y = rows
        source = random.normal(size=(90, 6))
        seen = []
        fit = RandomEncoder.fit
        monkeypatch.setattr(
            RandomEncoder,
            "fit",
            lambda self, X: seen.append((len(X), self.random_state)) or fit(self, X),
        )
        result = transfer(
            RandomEncoder(), source, X[:200], y[:200], X[200:], y[200:],
            seeds=(3, 4), probe=logistic_regression, standardized=True,
        )  # fmt: skip
        assert seen == [(90, 3), (90, 4)]
        assert result.probe == "transfer, logistic regression, standardized"
        assert len(result.values()) == len(result.chosen) == 2
        assert result.mean() > 0.9


def test_a_result_reads_as_a_table():
    result = Evaluation("probe", {"accuracy": (0.5, 0.7), "kappa": (0.1, 0.3)}, 2.0)
    assert str(result).splitlines() == [
        "probe, 2 seeds, 2.0 s",
        "  accuracy           0.600  ± 0.141  0.500  0.700",
        "  kappa              0.200  ± 0.141  0.100  0.300",
    ]
    picky = Evaluation(
        "ridge",
        {"r2": (-0.5, 0.7), "rmse": (123.0, 4.0)},
        2.0,
        ({"penalty": 10.0}, {"penalty": 1.0}),
    )
    assert str(picky).splitlines() == [
        "ridge, 2 seeds, 2.0 s",
        "  r2                  0.100   ± 0.849   -0.500  0.700",
        "  rmse               63.500  ± 84.146  123.000  4.000",
        "  penalty chosen                            10      1",
    ]
    single = Evaluation("ridge", {"r2": (0.5,)}, 2.0, ({"penalty": 0.01},))
    assert str(single).splitlines() == [
        "ridge, 1 seed, 2.0 s",
        "  r2                 0.500",
        "  penalty chosen      0.01",
    ]
    assert Evaluation("probe", {"accuracy": (0.5,)}, 2.0).deviation() == 0
