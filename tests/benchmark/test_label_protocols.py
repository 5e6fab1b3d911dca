"""Points of label curves: which labels are used, and what is trained on them."""

import numpy as np
import pytest

from aleator import RandomEncoder, Supervised
from aleator.benchmark import cells, datasets
from aleator.evaluation import label_curve, logistic_regression
from tests.benchmark.helpers import quick_cell

COUNTS = ("30 labels", "all labels")


@pytest.fixture
def fits(monkeypatch):
    """Indices of the training samples, and the epochs, of every fit of `Supervised`."""
    seen, fit = [], Supervised.fit
    X_train = datasets.small("theorem").X_train

    def recorded(self, X, y):
        rows = [int(np.flatnonzero((X_train == row).all(1))[0]) for row in X]
        seen.append((rows, list(y), self.epochs))
        return fit(self, X, y)

    monkeypatch.setattr(Supervised, "fit", recorded)
    return seen


def metrics_of(method, protocols=COUNTS, **settings):
    lines = cells.run(quick_cell(method=method, protocols=protocols, **settings), None, "cpu")
    assert not [line["error"] for line in lines if "error" in line]
    return {line["protocol"]: line["metrics"] for line in lines}


def test_line_has_the_means_over_draws():
    split = datasets.small("theorem")
    metrics = metrics_of("random", seed=3)
    model = RandomEncoder(modality="table", preprocessing=None, encoder="mlp", embedding_dim=256,
                          random_state=3).fit(split.X_train)  # fmt: skip
    curve = label_curve(
        **split.arrays(), models={"m": model}, n_labels=[30, "all"], random_state=3, device="cpu"
    )
    for (_, line), accuracy in zip(metrics.items(), curve.accuracy["m"], strict=True):
        assert line["accuracy"] == pytest.approx(accuracy.mean(), abs=1e-5)
        assert set(line) > {"balanced_accuracy", "macro_f1", "auroc", "kappa"}
    assert [(m["labels"], m["draws"]) for m in metrics.values()] == [(30, 3), (96, 1)]
    assert metrics["all labels"]["accuracy_std"] == 0


def test_classifiers_learn_from_the_drawn_labels_alone(fits):
    metrics = metrics_of("supervised", scale=0.02)
    everything, *draws = fits
    assert everything == (list(range(96)), list(datasets.small("theorem").y_train), 2)
    assert len(draws) == 3
    for rows, labels, epochs in draws:
        assert len(set(rows)) == 30
        assert np.bincount(labels).tolist() == [5] * 6
        assert epochs == 6  # as many steps as for 96 samples, each with 2 of 100 epochs
    assert len({tuple(rows) for rows, _, _ in draws}) == 3
    assert metrics["30 labels"]["draws"] == 3


def test_epochs_are_at_most_those_of_the_recipe(fits):
    metrics_of("supervised", protocols=("12 labels",), scale=0.5)
    assert [epochs for _, _, epochs in fits] == [100] * 3


def test_nothing_is_trained_on_all_labels_if_only_a_few_are_wanted(fits):
    metrics_of("supervised", protocols=("30 labels",))
    assert {len(rows) for rows, _, _ in fits} == {30}


def test_methods_of_a_seed_have_the_same_labels(fits):
    metrics_of("supervised", protocols=("30 labels",), seed=0)
    metrics_of("supervised", protocols=("30 labels",), seed=0)
    metrics_of("supervised", protocols=("30 labels",), seed=1)
    first, second, other = ([rows for rows, _, _ in fits[k : k + 3]] for k in (0, 3, 6))
    assert first == second != other


def test_raw_values_have_the_standardized_probe():
    split = datasets.small("har")
    flat = [X.reshape(len(X), -1) for X in (split.X_train, split.X_test)]
    expected = logistic_regression(
        flat[0], split.y_train, flat[1], split.y_test, standardized=True, device="cpu"
    )
    metrics = metrics_of("logreg", dataset="har")
    assert metrics["all labels"]["accuracy"] == pytest.approx(expected.mean(), abs=1e-5)


def test_gradient_boosting_learns_from_few_labels():
    metrics = metrics_of("boosting")
    assert metrics["30 labels"]["accuracy"] > 0.4  # there are six classes
    assert metrics["all labels"]["accuracy"] > metrics["30 labels"]["accuracy"]


def test_more_labels_than_samples():
    (line,) = cells.run(quick_cell(protocols=("200 labels",)), None, "cpu")
    assert line["error"] == "ValueError: theorem has 96 labeled training samples"
