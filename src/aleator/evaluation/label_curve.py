"""Accuracy against the number of labels, for several models on the same labeled samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from time import perf_counter
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from aleator.evaluation.label_curve_result import LabelCurve
from aleator.evaluation.label_draws import LABELS_PER_CLASS, labeling_order
from aleator.evaluation.metrics import classification_metrics
from aleator.evaluation.probes import logistic_regression
from aleator.evaluation.probing import check_labels
from aleator.inputs import read, read_numbers
from aleator.inputs.audio.source import Clips
from aleator.inputs.graphs.source import Graphs
from aleator.inputs.images.source import Images
from aleator.inputs.parts.source import is_parts
from aleator.validation import check_int

# The default counts, as multiples of the number of classes.
_PER_CLASS = (LABELS_PER_CLASS, 20, 100, 500)

# Fits on the labeled samples with these indices and returns metrics on the test set.
Evaluate = Callable[[np.ndarray], dict[str, float]]


def label_curve(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    models: Mapping[str, Any] | None = None,
    n_labels: int | str | Sequence[int | str] | None = None,
    draws: int = 3,
    random_state: int = 0,
    device: str = "auto",
) -> LabelCurve:
    """Accuracy of models that learn from a few labels, then from more, up to all of them.

    Representations are learned without labels, so all of `X_train` can be used for them; what they
    are worth shows where labels are few. For every number of labels, samples of the training set
    are drawn several times, every model learns from the labels of these samples only, and is
    evaluated on the whole test set. All models learn from the same samples.

    A draw is stratified: the first five labels of every class are balanced, all others are in the
    proportions of the classes. Within a draw the labels of a smaller number are among those of a
    larger one.

    Parameters
    ----------
    X_train, X_test : array-like
        Data of the training set and the test set, of a kind that all models accept.
    y_train, y_test : array-like of shape (n_samples,)
        Labels.
    models : mapping of str to estimator or None, default=None
        The models by name, which are not changed:

        - a fitted transformer, such as `aleator.LFR`, embeds both sets once; a logistic regression
          with ``standardized=True`` and ``choose_by="log_loss"`` is fitted on the labeled samples
          of its embedding;
        - None stands for the raw values, flattened, with the same logistic regression;
        - a classifier, such as `aleator.Supervised` or a scikit-learn classifier, is cloned and
          fitted on the labeled samples of the data. Wherever its ``random_state`` is None,
          `random_state` is used.

        None instead of a mapping evaluates the raw values only.
    n_labels : int, "all" or sequence of them, default=None
        Numbers of labels, each at least the number of classes. "all" is the number of training
        samples. None means 5, 20, 100 and 500 per class, as far as there are more samples, and
        all.
    draws : int, default=3
        How often samples are drawn for every number of labels. All samples are drawn once.
    random_state : int, default=0
        Seed of the draws, and of the part of the labeled samples on which the penalty of the
        logistic regression is chosen.
    device : str, default="auto"
        Device of the logistic regression: "auto", "cpu", "cuda" or "cuda:0". "auto" is the first
        GPU, or the CPU if there is none.

    Returns
    -------
    LabelCurve
        Accuracies by model, number of labels and draw; prints as a table.

    Raises
    ------
    ValueError
        If the labels do not match the data, a number of labels is out of range, a model is of
        another kind, or an embedding contains NaN or infinity.
    NotFittedError
        If a transformer is not fitted.

    See Also
    --------
    logistic_regression : The probe, on all labels.
    fine_tune : Trains the encoder too, on a fraction of the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import train_test_split
    >>> from aleator import RandomEncoder
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     *load_digits(return_X_y=True), random_state=0
    ... )
    >>> models = {
    ...     "raw values": None,
    ...     "random encoder": RandomEncoder(random_state=0).fit(X_train),
    ...     "forest": RandomForestClassifier(),
    ... }
    >>> curve = label_curve(X_train, y_train, X_test, y_test, models=models, n_labels=[50, "all"])
    >>> curve.n_labels, curve.accuracy["forest"].shape
    ((50, 1347), (2, 3))
    >>> all(curve.mean(name)[1] > curve.mean(name)[0] > 0.5 for name in models)
    True
    """
    start = perf_counter()
    check_int("draws", draws, minimum=1)
    check_int("random_state", random_state, minimum=0)
    chosen = _check_models({"raw values": None} if models is None else models)
    train_labels, test_labels = _to_labels("y_train", y_train), _to_labels("y_test", y_test)
    check_labels("y_train", train_labels, _n_samples(X_train))
    check_labels("y_test", test_labels, _n_samples(X_test))
    counts = _check_counts(n_labels, train_labels)
    orders = [labeling_order(train_labels, random_state, draw) for draw in range(draws)]
    accuracy: dict[str, np.ndarray] = {}
    for name, model in chosen.items():
        data = X_train, train_labels, X_test, test_labels
        if _is_classifier(model):
            evaluate = classifier_evaluation(_seeded_clone(model, random_state), *data)
        else:
            embedded = (_embed(model, X_train), train_labels, _embed(model, X_test), test_labels)
            evaluate = probe_evaluation(*embedded, seed=random_state, device=device)
        accuracy[name] = np.array([_accuracies(evaluate, orders, count) for count in counts])
    return LabelCurve(tuple(counts), accuracy, perf_counter() - start)


def probe_evaluation(
    X_train: np.ndarray,
    y_train: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    *,
    seed: int,
    device: str = "auto",
) -> Evaluate:
    """Evaluate the standardized logistic regression on labeled samples of an embedding.

    Parameters
    ----------
    X_train, X_test : ndarray of shape (n_samples, n_features)
        Embeddings.
    y_train, y_test : ndarray of shape (n_samples,)
        Labels.
    seed : int
        Seed of the validation split.
    device : str, default="auto"
        Device to compute on.

    Returns
    -------
    callable
        Takes indices of training samples; returns metrics on the test set.

    Examples
    --------
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> probe_evaluation(X, y, X, y, seed=0)(np.array([0, 1, 6, 7]))["accuracy"]
    1.0
    """

    def evaluate(rows: np.ndarray) -> dict[str, float]:
        result = logistic_regression(
            X_train[rows], y_train[rows], X_test, y_test,
            standardized=True, choose_by="log_loss", seeds=[seed], device=device,
        )  # fmt: skip
        return {name: values[0] for name, values in result.metrics.items()}

    return evaluate


def classifier_evaluation(
    classifier: Any, X_train: Any, y_train: np.ndarray, X_test: Any, y_test: np.ndarray
) -> Evaluate:
    """Evaluate clones of a classifier that are fitted on labeled samples only.

    Parameters
    ----------
    classifier : estimator
        A classifier; it is not changed.
    X_train, X_test : array-like
        Data.
    y_train, y_test : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    callable
        Takes indices of training samples; returns metrics on the test set.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> evaluate = classifier_evaluation(DecisionTreeClassifier(), X, y, X, y)
    >>> evaluate(np.array([0, 1, 6, 7]))["accuracy"]
    1.0
    """

    def evaluate(rows: np.ndarray) -> dict[str, float]:
        fitted = clone(classifier).fit(_take(X_train, rows), y_train[rows])
        if hasattr(fitted, "predict_proba"):
            scores = np.asarray(fitted.predict_proba(X_test))
        else:
            scores = np.asarray(fitted.predict(X_test))[:, None] == fitted.classes_
        return classification_metrics(y_test, scores, fitted.classes_)

    return evaluate


def _accuracies(evaluate: Evaluate, orders: Sequence[np.ndarray], count: int) -> list[float]:
    """Accuracy of every draw of a number of labels."""
    if count == len(orders[0]):
        return [evaluate(np.arange(count))["accuracy"]] * len(orders)
    return [evaluate(np.sort(order[:count]))["accuracy"] for order in orders]


def _check_models(models: Any) -> dict[str, Any]:
    if not isinstance(models, Mapping):
        raise ValueError(
            "models must be a mapping of names to estimators, such as {'LFR': lfr}, got "
            f"{type(models).__name__}"
        )
    if not models:
        raise ValueError("models must contain at least one model, got an empty mapping")
    for name, model in models.items():
        if model is None or _is_classifier(model):
            continue
        if isinstance(model, type) or not hasattr(model, "transform"):
            raise ValueError(
                f"models[{name!r}] must be a fitted transformer, a classifier or None for the raw "
                f"values, got {model!r}"
            )
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise NotFittedError(
                f"models[{name!r}] is not fitted: call fit(X_train) first, without labels"
            ) from error
    return dict(models)


def _is_classifier(model: Any) -> bool:
    # scikit-learn's function accepts its own estimators only.
    return isinstance(model, BaseEstimator) and is_classifier(model)


def _to_labels(name: str, y: Any) -> np.ndarray:
    labels = np.asarray(y)
    if labels.ndim == 1 and labels.dtype.kind in "fO":
        missing = [value is None or value != value for value in labels]  # NaN is unequal to itself
        if any(missing):
            row = missing.index(True)
            raise ValueError(
                f"{name} contains {labels[row]} in row {row}: remove samples without a label"
            )
    if labels.ndim == 1:
        check_classification_targets(labels)
    return labels


def _check_counts(n_labels: Any, labels: np.ndarray) -> list[int]:
    """Sorted numbers of labels, each within the range that the labels allow."""
    n_samples, n_classes = len(labels), len(np.unique(labels))
    if n_classes < 2:
        raise ValueError(f"y_train must contain at least 2 classes, got {n_classes}")
    if n_labels is None:
        counts = [n_classes * each for each in _PER_CLASS]
        return [count for count in counts if count < n_samples] + [n_samples]
    given: list[Any] = [n_labels] if isinstance(n_labels, (str, Number)) else list(n_labels)
    if not given:
        raise ValueError("n_labels must contain at least one number, got an empty sequence")
    counts = []
    for count in given:
        if isinstance(count, str):
            if count != "all":
                raise ValueError(f"n_labels must contain integers or 'all', got {count!r}")
            counts.append(n_samples)
            continue
        check_int("n_labels", count, minimum=1)
        if count < n_classes:
            raise ValueError(
                f"n_labels={count} is less than one label per class: y_train has {n_classes} "
                "classes"
            )
        if count > n_samples:
            raise ValueError(f"n_labels={count} is more than the {n_samples} samples of X_train")
        counts.append(int(count))
    return sorted(set(counts))


def _n_samples(X: Any) -> int:
    return len(read(X).source) if _needs_reading(X) else len(X)


def _needs_reading(X: Any) -> bool:
    """Whether X is a path or a list rather than something with rows."""
    return not hasattr(X, "shape") and not isinstance(X, torch.utils.data.Dataset)


def _embed(model: Any, X: Any) -> np.ndarray:
    if model is not None:
        return np.asarray(model.transform(X))
    return np.concatenate(
        [chunk.reshape(len(chunk), -1) for chunk in read_numbers(X).source.chunks()]
    )


def _take(X: Any, rows: np.ndarray) -> Any:
    """Rows of an array, tensor, data frame, list, .npy file, data set, folder or dict of them."""
    if is_parts(X):
        return {name: _take(part, rows) for name, part in X.items()}
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, torch.utils.data.Dataset):
        return torch.utils.data.Subset(X, rows.tolist())
    if not _needs_reading(X):
        return X[rows]
    source = read(X).source
    return source[rows] if isinstance(source, (Images, Graphs, Clips)) else source.gather(rows)


def _seeded_clone(classifier: Any, seed: int) -> Any:
    """Copy a classifier; where its random state is None, it is set to a seed."""
    copy = clone(classifier)
    random_states = {
        name: seed
        for name, value in copy.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return copy.set_params(**random_states)
