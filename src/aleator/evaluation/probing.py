"""The steps that all probes share: embed, standardize, split, repeat over seeds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from aleator.evaluation.metrics import classification_metrics, regression_metrics
from aleator.evaluation.results import Evaluation

# Fraction of the training set on which the standardized protocol chooses a penalty.
_VALIDATION_FRACTION = 0.2
_LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True)
class Parts:
    """Embeddings and labels of the training set and the test set.

    Attributes
    ----------
    train : ndarray of shape (n_train, n_features)
        Embedding of the training set.
    train_labels : ndarray of shape (n_train,)
        Labels, or target values, of the training set.
    test : ndarray of shape (n_test, n_features)
        Embedding of the test set.
    test_labels : ndarray of shape (n_test,)
        Labels, or target values, of the test set.
    """

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray

    def encoded_labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Encode the labels of the training set as integers.

        Returns
        -------
        classes : ndarray of shape (n_classes,)
            Sorted labels of the training set.
        codes : ndarray of shape (n_train,)
            Index of every training label in `classes`.

        Raises
        ------
        ValueError
            If the training set has only one class.
        """
        classes, codes = np.unique(self.train_labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "y_train must contain at least 2 classes, but the only class in it is "
                f"{classes[0]!s}"
            )
        return classes, codes

    def standardized(self) -> Parts:
        """Scale every feature to zero mean and unit variance on the training set.

        Returns
        -------
        Parts
            Both sets scaled by the statistics of the training set. Constant features are centered
            only.
        """
        mean, std = self.train.mean(0), self.train.std(0)
        scale = np.where(std > 1e-7 * np.abs(mean).max(initial=1.0), std, 1.0)
        train, test = ((rows - mean) / scale for rows in (self.train, self.test))
        return Parts(
            train.astype(np.float32), self.train_labels, test.astype(np.float32), self.test_labels
        )

    def validation_split(self, seed: int, *, stratified: bool) -> Parts:
        """Split the training set; a fifth of it takes the place of the test set.

        Parameters
        ----------
        seed : int
            Seed of the split.
        stratified : bool
            Whether to keep the proportions of the classes. If there are too few samples for that,
            a fifth of every class, but at least one sample, is held out. The only sample of a
            class stays in the training set.

        Returns
        -------
        Parts
            Training set and validation set. They are the same if no class has two samples.
        """
        counts = np.unique(self.train_labels, return_counts=True)[1]
        n_validation = math.ceil(_VALIDATION_FRACTION * len(self.train))
        if stratified and (counts.min() < 2 or n_validation < len(counts)):
            return self._split_few_samples(seed)
        train, validation, train_labels, validation_labels = train_test_split(
            self.train,
            self.train_labels,
            test_size=_VALIDATION_FRACTION,
            random_state=seed,
            stratify=self.train_labels if stratified else None,
        )
        return Parts(train, train_labels, validation, validation_labels)

    def _split_few_samples(self, seed: int) -> Parts:
        """Split so that every class is in the training set, if necessary in it alone."""
        rng = np.random.default_rng(seed)
        held_out = np.zeros(len(self.train), dtype=bool)
        for label in np.unique(self.train_labels):
            members = rng.permutation(np.flatnonzero(self.train_labels == label))
            if len(members) > 1:
                held_out[members[: max(1, round(_VALIDATION_FRACTION * len(members)))]] = True
        if not held_out.any():
            return Parts(self.train, self.train_labels, self.train, self.train_labels)
        kept = ~held_out
        return Parts(
            self.train[kept], self.train_labels[kept],
            self.train[held_out], self.train_labels[held_out],
        )  # fmt: skip


# The penalties with which a probe is fitted; None means the paper's penalty.
Penalties = Sequence[float | None]
# Fits a probe on the training set with a seed, once per penalty, and returns the scores of every
# class (or the predicted values) of the test set.
FitFunction = Callable[[Parts, Penalties, int], Sequence[np.ndarray]]


def prepare_parts(X_train: Any, y_train: Any, X_test: Any, y_test: Any, model: Any = None) -> Parts:
    """Check embeddings and labels, and compute the embeddings if a model is given.

    Parameters
    ----------
    X_train, X_test : array-like
        Embeddings of shape (n_samples, n_features), or data if `model` is given.
    y_train, y_test : array-like of shape (n_samples,)
        Labels or target values.
    model : estimator, default=None
        A fitted estimator that embeds `X_train` and `X_test`. None means that they are embeddings.

    Returns
    -------
    Parts
        Embeddings in single precision, and labels.

    Raises
    ------
    ValueError
        If the shapes do not match or a value is not finite.
    """
    train, test = (
        np.asarray(X if model is None else model.transform(X)) for X in (X_train, X_test)
    )
    train_labels, test_labels = np.asarray(y_train), np.asarray(y_test)
    for name, rows, labels in (("train", train, train_labels), ("test", test, test_labels)):
        if rows.ndim != 2:
            raise ValueError(
                f"X_{name} must be an embedding of shape (n_samples, n_features), or data together "
                f"with a fitted estimator as model=; got an array of shape {rows.shape}"
            )
        check_labels(f"y_{name}", labels, len(rows))
        if not np.isfinite(rows).all():
            raise ValueError(f"X_{name} contains NaN or infinity")
    return Parts(train.astype(np.float32), train_labels, test.astype(np.float32), test_labels)


def check_labels(name: str, labels: np.ndarray, n_samples: int) -> None:
    """Check that there is one label per sample.

    Parameters
    ----------
    name : str
        Name of the parameter, for the error message.
    labels : ndarray
        Labels.
    n_samples : int
        Number of samples that the labels belong to.

    Raises
    ------
    ValueError
        If `labels` is not one-dimensional or has another length.

    Examples
    --------
    >>> check_labels("y_train", np.array(["a", "b"]), n_samples=2)
    """
    if labels.ndim != 1 or len(labels) != n_samples:
        raise ValueError(
            f"{name} must contain one label per sample: expected shape ({n_samples},), got "
            f"{labels.shape}"
        )


def run_probe(
    name: str,
    fit: FitFunction,
    parts: Parts,
    *,
    penalties: Sequence[float] | None,
    seeds: Sequence[int],
    regression: bool = False,
    choose_by: str | None = None,
) -> Evaluation:
    """Fit and evaluate a probe once per seed.

    Parameters
    ----------
    name : str
        Name of the probe.
    fit : callable
        Fits the probe; see `FitFunction`.
    parts : Parts
        Training set and test set.
    penalties : sequence of float or None
        If given, the embedding is standardized, and the penalty with the best main metric on a
        validation set is chosen per seed. None means the paper's protocol, which does neither.
    seeds : sequence of int
        Seeds of the probe and of the validation split.
    regression : bool, default=False
        Whether the labels are target values of a regression.
    choose_by : str, default=None
        Metric by which the penalty is chosen; None is the main metric. "log_loss" is the
        cross-entropy, which is finer than the accuracy where the validation set is small.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.
    """
    start = time.perf_counter()
    if penalties is not None:
        name = f"{name}, standardized"
        parts = parts.standardized()
    metrics_per_seed: list[dict[str, float]] = []
    chosen: list[dict[str, float]] = []
    for seed in seeds:
        penalty = None
        if penalties is not None:
            split = parts.validation_split(seed, stratified=not regression)
            if choose_by == "log_loss":
                quality = [-log_loss(split, scores) for scores in fit(split, penalties, seed)]
            else:
                candidates = _fit_and_evaluate(fit, split, penalties, seed, regression)
                quality = [next(iter(candidate.values())) for candidate in candidates]
            penalty = penalties[int(np.argmax(quality))]
            chosen.append({"penalty": float(penalty)})
        metrics_per_seed += _fit_and_evaluate(fit, parts, [penalty], seed, regression)
    return Evaluation.from_seeds(name, metrics_per_seed, time.perf_counter() - start, chosen)


def log_loss(parts: Parts, probabilities: np.ndarray) -> float:
    """Cross-entropy of the classes of the test set.

    Parameters
    ----------
    parts : Parts
        Training set, whose sorted labels are the classes, and test set.
    probabilities : ndarray of shape (n_test, n_classes)
        Probability of every class.

    Returns
    -------
    float
        Mean over the test set. A label that is not in the training set counts as probability zero.

    Examples
    --------
    >>> rows, labels = np.zeros((2, 1)), np.array([0, 1])
    >>> round(log_loss(Parts(rows, labels, rows, labels), np.full((2, 2), 0.5)), 3)
    0.693
    """
    classes = np.unique(parts.train_labels)
    position = np.searchsorted(classes, parts.test_labels).clip(max=len(classes) - 1)
    known = classes[position] == parts.test_labels
    chosen = np.where(known, probabilities[np.arange(len(position)), position], 0)
    return float(-np.log(chosen.clip(_LEAST_PROBABILITY)).mean())


def _fit_and_evaluate(
    fit: FitFunction, parts: Parts, penalties: Penalties, seed: int, regression: bool
) -> list[dict[str, float]]:
    """Metrics on the test set, once per penalty."""
    outputs = fit(parts, penalties, seed)
    if regression:
        return [regression_metrics(parts.test_labels, output) for output in outputs]
    classes = np.unique(parts.train_labels)
    return [classification_metrics(parts.test_labels, output, classes) for output in outputs]
