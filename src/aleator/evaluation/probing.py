"""What every probe does before and after its own work: embed, standardise, split, repeat."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from aleator.evaluation.metrics import of_classes, of_numbers
from aleator.evaluation.results import Evaluation

# The part of the training data on which a standardized probe chooses its penalty.
_VALIDATION = 0.2


@dataclass(frozen=True)
class Parts:
    """Embeddings and labels of the training and the test part."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray

    def classes(self) -> tuple[np.ndarray, np.ndarray]:
        """The classes of the training part, sorted, and each of its rows' place among them."""
        classes, codes = np.unique(self.train_labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "a classifier needs samples of at least 2 classes; the training part holds "
                f"{classes[0]!s} only"
            )
        return classes, codes

    def standardized(self) -> Parts:
        """Every dimension centred and scaled as the training part says."""
        mean, deviation = self.train.mean(0), self.train.std(0)
        scale = np.where(deviation > 1e-7 * np.abs(mean).max(initial=1.0), deviation, 1.0)
        train, test = ((rows - mean) / scale for rows in (self.train, self.test))
        return Parts(
            train.astype(np.float32), self.train_labels, test.astype(np.float32), self.test_labels
        )

    def validation(self, seed: int, *, stratified: bool) -> Parts:
        """The training part alone, a fifth of it in the place of the test part."""
        labels = self.train_labels
        balanced = stratified and np.unique(labels, return_counts=True)[1].min() > 1
        fit, held, fit_labels, held_labels = train_test_split(
            self.train,
            labels,
            test_size=_VALIDATION,
            random_state=seed,
            stratify=labels if balanced else None,
        )
        return Parts(fit, fit_labels, held, held_labels)


# What a probe is to be fitted with, one after another; None: the paper's penalty.
Penalties = Sequence[float | None]
# A probe's own work: scores, or predicted numbers, of the test part for every penalty.
Fit = Callable[[Parts, Penalties, int], Sequence[np.ndarray]]


def gather(X_train: Any, y_train: Any, X_test: Any, y_test: Any, model: Any = None) -> Parts:
    """Embeddings as they are given, or made of the data by a fitted model."""
    train, test = (
        np.asarray(X if model is None else model.transform(X)) for X in (X_train, X_test)
    )
    labels = np.asarray(y_train), np.asarray(y_test)
    for name, rows, own in (("train", train, labels[0]), ("test", test, labels[1])):
        if rows.ndim != 2:
            raise ValueError(
                f"X_{name} must be embeddings, one row a sample, or data with model=a fitted "
                f"estimator; got an array of shape {rows.shape}"
            )
        require_a_label_a_row(f"y_{name}", own, len(rows))
        if not np.isfinite(rows).all():
            raise ValueError(f"X_{name} holds values that are not finite (NaN or infinity)")
    return Parts(train.astype(np.float32), labels[0], test.astype(np.float32), labels[1])


def require_a_label_a_row(name: str, labels: np.ndarray, rows: int) -> None:
    """Refuse labels that do not belong to the rows.

    >>> require_a_label_a_row("y_train", np.array(["a", "b"]), rows=2)
    """
    if labels.ndim != 1 or len(labels) != rows:
        raise ValueError(
            f"{name} must hold one label a row: {rows} rows, labels of shape {labels.shape}"
        )


def evaluate(
    name: str,
    fit: Fit,
    parts: Parts,
    *,
    penalties: Sequence[float] | None,
    seeds: Sequence[int],
    regression: bool = False,
) -> Evaluation:
    """Run a probe once a seed; with `penalties`, standardise and choose one on a validation part.

    The choice is by the first metric.
    """
    began = time.perf_counter()
    standardized = penalties is not None
    if penalties is not None:
        parts = parts.standardized()
    found: list[dict[str, float]] = []
    chosen: list[dict[str, float]] = []
    for seed in seeds:
        penalty = None
        if penalties is not None:
            held = parts.validation(seed, stratified=not regression)
            scores = _judged(fit, held, penalties, seed, regression)
            penalty = penalties[int(np.argmax([next(iter(score.values())) for score in scores]))]
            chosen.append({"penalty": float(penalty)})
        found += _judged(fit, parts, [penalty], seed, regression)
    return Evaluation.collected(
        f"{name}, standardized" if standardized else name,
        found,
        time.perf_counter() - began,
        chosen,
    )


def _judged(
    fit: Fit, parts: Parts, penalties: Penalties, seed: int, regression: bool
) -> list[dict[str, float]]:
    outcomes = fit(parts, penalties, seed)
    if regression:
        return [of_numbers(parts.test_labels, outcome) for outcome in outcomes]
    classes = np.unique(parts.train_labels)
    return [of_classes(parts.test_labels, outcome, classes) for outcome in outcomes]
