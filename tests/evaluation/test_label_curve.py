"""Label curves: draws of labeled samples, models, and the result."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from aleator import RandomEncoder, Supervised
from aleator.evaluation import LabelCurve, label_curve, logistic_regression
from aleator.evaluation.label_draws import labeling_order
from aleator.evaluation.probing import Parts

SEEN = []  # the labeled samples of every fit of `Recorder`


class Recorder(ClassifierMixin, BaseEstimator):
    """Stores the first column of the samples that it is fitted on; predicts the first class."""

    def fit(self, X, y):
        SEEN.append((np.asarray(X)[:, 0].tolist(), list(y)))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


class Counter(TransformerMixin, BaseEstimator):
    """Returns the data, and counts its calls."""

    def fit(self, X, y=None):
        self.calls_ = []
        return self

    def transform(self, X):
        self.calls_.append(len(X))
        return X


@pytest.fixture
def sets(random):
    """Three classes of 60, 30 and 10 %; the first column numbers the samples."""
    labels = np.repeat(["a", "b", "c"], [180, 90, 30])[random.permutation(300)]
    centers = {"a": [0, 0], "b": [4, 0], "c": [0, 4]}
    X = np.array([centers[label] for label in labels]) + random.normal(size=(300, 2))
    X = np.column_stack([np.arange(300), X])
    return X[:200], labels[:200], X[200:], labels[200:]


@pytest.fixture
def seen():
    SEEN.clear()
    return SEEN


class TestDraws:
    def test_the_first_labels_are_balanced_and_the_rest_in_proportion(self):
        labels = np.repeat([7, 8, 9], [600, 300, 100])
        for draw in range(3):
            chosen = labels[labeling_order(labels, 0, draw)]
            count = lambda n: np.bincount(chosen[:n], minlength=10)[7:].tolist()  # noqa: B023, E731
            assert count(3) == [1, 1, 1]
            assert count(15) == [5, 5, 5]
            assert count(100) == [60, 30, 10]
            assert count(500) == [300, 150, 50]
            assert count(1000) == [600, 300, 100]

    def test_every_sample_comes_once_even_of_small_classes(self):
        labels = np.repeat(["x", "y"], [2, 98])
        order = labeling_order(labels, 3)
        assert sorted(order) == list(range(100))
        assert sorted(labels[order[:10]]).count("x") == 2

    def test_draws_are_reproducible_and_differ(self):
        labels = np.arange(100) % 4
        first = labeling_order(labels, 5, 1)
        np.testing.assert_array_equal(first, labeling_order(labels, 5, 1))
        assert (first != labeling_order(labels, 5, 2)).any()
        assert (first != labeling_order(labels, 6, 1)).any()

    def test_samples_are_drawn_uniformly(self):
        labels = np.repeat([0, 1], [10, 30])
        drawn = np.zeros(40)
        for draw in range(2000):
            drawn[labeling_order(labels, 0, draw)[:10]] += 1
        # Five of ten and five of thirty; five standard errors of a binomial share.
        np.testing.assert_allclose(drawn[:10] / 2000, 1 / 2, atol=0.056)
        np.testing.assert_allclose(drawn[10:] / 2000, 1 / 6, atol=0.042)


class TestValidationSplit:
    @pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 2, 2), (1, 5, 1), (3, 3, 3), (5, 5, 5)])
    def test_every_class_is_in_the_training_part(self, random, sizes):
        labels = np.repeat(np.arange(len(sizes)), sizes)
        parts = Parts(np.arange(len(labels))[:, None], labels, np.zeros((0, 1)), np.zeros(0))
        for seed in range(10):
            split = parts.validation_split(seed, stratified=True)
            assert set(split.train_labels) == set(labels)
            assert len(split.test) > 0
            np.testing.assert_array_equal(labels[split.test[:, 0]], split.test_labels)
            if max(sizes) > 1:
                together = np.concatenate([split.train, split.test])[:, 0]
                assert sorted(together) == list(range(len(labels)))

    def test_a_fifth_is_held_out(self):
        labels = np.arange(10) % 2
        split = Parts(np.eye(10), labels, np.eye(10), labels).validation_split(0, stratified=True)
        assert np.bincount(split.test_labels).tolist() == [1, 1]

    def test_probe_learns_from_one_label_per_class(self, sets):
        X, y = sets[0][:, 1:], sets[1]
        rows = labeling_order(y, 0)[:3]
        result = logistic_regression(X[rows], y[rows], X, y, standardized=True, device="cpu")
        assert result.mean() > 0.6


class TestLabelCurve:
    def test_models_of_every_kind(self, sets):
        models = {
            "raw": None,
            "scaled": StandardScaler().fit(sets[0]),
            "encoder": RandomEncoder(embedding_dim=64, random_state=0).fit(sets[0]),
            "tree": DecisionTreeClassifier(),
            "svm": make_pipeline(StandardScaler(), LinearSVC()),  # without predict_proba
            "net": Supervised(epochs=15, learning_rate=0.02, embedding_dim=16, progress=False),
            "prior": DummyClassifier(),
        }
        curve = label_curve(*sets, models=models, n_labels=[15, 60, "all"], draws=2, device="cpu")
        assert curve.n_labels == (15, 60, 200)
        assert list(curve.accuracy) == list(models)
        for name, table in curve.accuracy.items():
            assert table.shape == (3, 2)
            assert len(set(table[2])) == 1  # all samples are drawn once
            if name != "prior":
                assert curve.mean(name)[2] > 0.85
                assert curve.mean(name)[1] > 0.75
        frequent = np.mean(sets[3] == "a")
        np.testing.assert_allclose(curve.accuracy["prior"][1:], frequent)
        again = label_curve(
            *sets, models=models, n_labels=["all", 60, 15, 60], draws=2, device="cpu"
        )
        for name in models:
            np.testing.assert_array_equal(again.accuracy[name], curve.accuracy[name])

    def test_models_learn_from_the_same_labeled_samples(self, sets, seen):
        label_curve(*sets, models={"one": Recorder(), "two": Recorder()}, n_labels=[15, 60])
        one, two = seen[:6], seen[6:]
        assert one == two
        assert [len(rows) for rows, _ in one] == [15] * 3 + [60] * 3
        for rows, labels in one:
            assert list(sets[1][np.int64(rows)]) == labels
            assert len(set(rows)) == len(rows)
        for (few, labels), (more, _) in zip(one[:3], one[3:], strict=True):
            assert set(few) < set(more)
            assert sorted(labels) == ["a"] * 5 + ["b"] * 5 + ["c"] * 5
        assert len({tuple(rows) for rows, _ in one}) == 6

    def test_random_state_changes_the_draws(self, sets, seen):
        for random_state in (0, 0, 1):
            label_curve(*sets, models={"m": Recorder()}, n_labels=20, draws=1,
                        random_state=random_state)  # fmt: skip
        assert seen[0] == seen[1] != seen[2]

    def test_data_are_embedded_once(self, sets):
        model = Counter().fit(sets[0])
        label_curve(*sets, models={"m": model}, n_labels=[15, 30, "all"], draws=2, device="cpu")
        assert model.calls_ == [200, 100]

    def test_probe_is_fitted_on_the_labeled_samples_only(self, sets):
        curve = label_curve(*sets, n_labels=30, draws=2, random_state=4, device="cpu")
        X_train, y_train, X_test, y_test = sets
        for draw in range(2):
            rows = np.sort(labeling_order(y_train, 4, draw)[:30])
            expected = logistic_regression(
                X_train[rows], y_train[rows], X_test, y_test,
                standardized=True, seeds=[4], device="cpu",
            )  # fmt: skip
            assert curve.accuracy["raw values"][0, draw] == expected.mean()

    def test_default_numbers_of_labels(self, random):
        y = np.arange(1200) % 2
        X = random.normal(size=(1200, 1)) + 5 * y[:, None]
        curve = label_curve(X, y, X[:50], y[:50], draws=1, device="cpu")
        assert curve.n_labels == (10, 40, 200, 1000, 1200)
        few = label_curve(X[:30], y[:30], X[:50], y[:50], draws=1, device="cpu")
        assert few.n_labels == (10, 30)

    def test_series_are_flattened_as_raw_values(self, random):
        y = np.arange(60) % 2
        X = random.normal(size=(60, 3, 7)) + y[:, None, None]
        curve = label_curve(X, y, X, y, n_labels=[10, "all"], device="cpu")
        flat = label_curve(X.reshape(60, -1), y, X.reshape(60, -1), y, n_labels=[10, "all"],
                           device="cpu")  # fmt: skip
        np.testing.assert_array_equal(curve.accuracy["raw values"], flat.accuracy["raw values"])

    def test_frames_with_text_and_files(self, sets, tmp_path):
        frame = pd.DataFrame({"kind": np.where(sets[1] == "a", "x", "y")}, index=range(7, 207))
        model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier())
        labels = sets[1] == "a"
        curve = label_curve(frame, labels, frame, labels, models={"tree": model}, n_labels=10)
        assert (curve.accuracy["tree"] == 1).all()
        np.save(tmp_path / "X.npy", sets[0])
        path = str(tmp_path / "X.npy")
        models = {"raw": None, "tree": DecisionTreeClassifier(random_state=0)}
        arrays = label_curve(sets[0], sets[1], sets[0], sets[1], models=models, n_labels=20,
                             device="cpu")  # fmt: skip
        read = label_curve(path, sets[1], sets[0], sets[1], models=models, n_labels=20,
                           device="cpu")  # fmt: skip
        for name in models:
            np.testing.assert_array_equal(read.accuracy[name], arrays.accuracy[name])

    def test_models_are_not_changed(self, sets):
        tree = DecisionTreeClassifier()
        label_curve(*sets, models={"tree": tree}, n_labels=10)
        assert not hasattr(tree, "tree_")
        assert tree.random_state is None


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_labels": 500}, "n_labels=500 is more than the 200 samples of X_train"),
            ({"n_labels": [2]}, "n_labels=2 is less than one label per class: y_train has 3"),
            ({"n_labels": 0}, "n_labels must be an integer of at least 1, got 0"),
            ({"n_labels": [0.1]}, "n_labels must be an integer of at least 1, got 0.1"),
            ({"n_labels": "most"}, "n_labels must contain integers or 'all', got 'most'"),
            ({"n_labels": []}, "n_labels must contain at least one number"),
            ({"draws": 0}, "draws must be an integer of at least 1, got 0"),
            ({"random_state": None}, "random_state must be an integer of at least 0, got None"),
            ({"models": {}}, "models must contain at least one model"),
            ({"models": StandardScaler()}, "models must be a mapping .* got StandardScaler"),
            ({"models": {"m": "LFR"}}, r"models\['m'\] must be a fitted transformer.*'LFR'"),
            ({"models": {"m": Supervised}}, r"models\['m'\] must be a fitted transformer"),
        ],
    )
    def test_arguments(self, sets, arguments, message):
        with pytest.raises(ValueError, match=message):
            label_curve(*sets, **arguments)

    def test_transformer_that_is_not_fitted(self, sets):
        with pytest.raises(NotFittedError, match=r"models\['lfr'\] is not fitted: call fit\(X_tr"):
            label_curve(*sets, models={"lfr": RandomEncoder()})

    def test_data(self, sets):
        X_train, y_train, X_test, y_test = sets
        with pytest.raises(ValueError, match=r"y_train must contain one label .*\(200,\).*\(199,"):
            label_curve(X_train, y_train[:-1], X_test, y_test)
        with pytest.raises(ValueError, match=r"y_test must contain one label .*\(100,\).*\(100, 1"):
            label_curve(X_train, y_train, X_test, y_test[:, None])
        with pytest.raises(ValueError, match="X_train contains NaN or infinity"):
            label_curve(np.where(X_train == 0, np.nan, X_train), y_train, X_test, y_test)
        with pytest.raises(ValueError, match="at least 2 classes, got 1"):
            label_curve(X_train, np.zeros(200), X_test, y_test)

    @pytest.mark.parametrize("missing", [np.nan, None])
    def test_missing_labels(self, sets, missing):
        X_train, _, X_test, y_test = sets
        labels = np.array([0, 1, missing, *range(197)], dtype=None if missing else object)
        with pytest.raises(ValueError, match=r"y_train contains (nan|None) in row 2: remove"):
            label_curve(X_train, labels, X_test, y_test)


class TestResult:
    curve = LabelCurve(
        (10, 200),
        {"LFR": np.array([[0.5, 0.7], [0.9, 0.9]]), "raw": np.array([[0.4, 0.4], [1.0, 1.0]])},
        seconds=2.0,
    )

    def test_statistics(self):
        np.testing.assert_allclose(self.curve.mean("LFR"), [0.6, 0.9])
        np.testing.assert_allclose(self.curve.std("LFR"), [np.sqrt(0.02), 0])
        single = LabelCurve((10,), {"LFR": np.array([[0.5]])}, seconds=2.0)
        assert single.std("LFR").tolist() == [0]
        assert str(single).splitlines() == [
            "accuracy by number of labels, 1 draw, 2.0 s",
            "          10",
            "  LFR  0.500",
        ]

    def test_tables(self):
        assert str(self.curve).splitlines() == [
            "accuracy by number of labels, 2 draws, 2.0 s",
            "                  10            200",
            "  LFR  0.600 ± 0.141  0.900 ± 0.000",
            "  raw  0.400 ± 0.000  1.000 ± 0.000",
        ]
        assert self.curve.to_markdown().splitlines()[2:] == [
            "| LFR | **0.600 ± 0.141** | 0.900 ± 0.000 |",
            "| raw | 0.400 ± 0.000 | **1.000 ± 0.000** |",
        ]
        frame = self.curve.to_frame()
        assert frame.groupby(["model", "n_labels"])["accuracy"].mean()["LFR", 10] == 0.6
        assert len(frame) == 8

    def test_plot(self):
        from matplotlib.figure import Figure

        axes = self.curve.plot(Figure().subplots())
        assert [line.get_label() for line in axes.lines] == ["LFR", "raw"]
        assert list(axes.lines[0].get_xdata()) == [10, 200]
        np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.6, 0.9])
        assert [text.get_text() for text in axes.get_xticklabels()] == ["10", "200"]

    @pytest.mark.parametrize(
        ("method", "library"), [("plot", "matplotlib"), ("to_frame", "pandas")]
    )
    def test_missing_extra(self, monkeypatch, method, library):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"{library}.*pip install 'aleator\[bench\]'"):
            getattr(self.curve, method)()
