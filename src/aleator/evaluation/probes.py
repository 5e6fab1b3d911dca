"""Simple predictors on frozen embeddings: the paper's protocol, and a standardized one.

Each takes embeddings and labels of a training and a test part, or data and `model=`, a fitted
estimator. With `standardized=True` the embedding is centred and scaled as the training part says,
and the penalty is chosen on a validation fifth of that part: the paper's protocol does neither,
which flatters trained encoders over random ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from aleator.evaluation.logistic import fit_path
from aleator.evaluation.pca import PrincipalComponents
from aleator.evaluation.probing import Parts, Penalties, evaluate, gather
from aleator.evaluation.results import Evaluation
from aleator.evaluation.trained_probes import ProbeTraining, scores_of_trained
from aleator.training.devices import arithmetic, resolve_device

# Powers of ten; what is chosen at an end of the range is still far from no penalty or all of it.
_PENALTIES = tuple(10.0**k for k in range(-4, 4))
_DECAYS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
_NEIGHBORS = (1.0, 5.0, 10.0, 20.0, 50.0)


def logistic_regression(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    model: Any = None,
    standardized: bool = False,
    seeds: Sequence[int] = (0,),
    device: str = "auto",
) -> Evaluation:
    """Logistic regression as the paper probes tables: L-BFGS, penalty 1, at most 1000 steps.

    The standardized variant chooses the penalty.

    >>> rows, labels = np.array([[0.0], [1.0], [0.1], [0.9]]), np.array([0, 1, 0, 1])
    >>> logistic_regression(rows, labels, rows, labels).mean("accuracy")
    1.0
    """

    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        codes = parts.classes()[1]
        along = PrincipalComponents.fit(parts.train, resolve_device(device))
        test = along.transform(parts.test)
        return [
            found.probabilities(test) for found in fit_path(along, codes, _strengths(penalties))
        ]

    parts = gather(X_train, y_train, X_test, y_test, model)
    penalties = _PENALTIES if standardized else None
    return evaluate("logistic regression", fit, parts, penalties=penalties, seeds=seeds)


def linear_classifier(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    model: Any = None,
    standardized: bool = False,
    seeds: Sequence[int] = (0,),
    training: ProbeTraining = ProbeTraining(),  # noqa: B008 (it is frozen)
    device: str = "auto",
) -> Evaluation:
    """A linear layer trained on the cross-entropy (appendix table 'Linear Evaluation Settings').

    >>> rows, labels = np.eye(2).repeat(64, 0), np.arange(2).repeat(64)
    >>> fast = ProbeTraining(learning_rate=0.1)
    >>> linear_classifier(rows, labels, rows, labels, training=fast, device="cpu").mean()
    1.0
    """

    parts = gather(X_train, y_train, X_test, y_test, model)
    return _trained("linear classifier", nn.Linear, parts, standardized, seeds, training, device)


def mlp_classifier(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    model: Any = None,
    hidden: int = 256,
    standardized: bool = False,
    seeds: Sequence[int] = (0,),
    training: ProbeTraining = ProbeTraining(),  # noqa: B008 (it is frozen)
    device: str = "auto",
) -> Evaluation:
    """A network with one hidden layer, as the paper probes MIMIC-III.

    >>> rows, labels = np.eye(2).repeat(64, 0), np.arange(2).repeat(64)
    >>> mlp_classifier(rows, labels, rows, labels, device="cpu").mean()
    1.0
    """

    def make(width: int, classes: int) -> nn.Module:
        return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    parts = gather(X_train, y_train, X_test, y_test, model)
    return _trained("MLP classifier", make, parts, standardized, seeds, training, device)


def nearest_neighbors(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    model: Any = None,
    k: int = 20,
    standardized: bool = False,
    seeds: Sequence[int] = (0,),
    device: str = "auto",
) -> Evaluation:
    """A vote of the k nearest training samples by cosine; the standardized variant chooses k.

    A tie goes to the class whose voters are nearer.

    >>> rows, labels = np.eye(2).repeat(64, 0), np.arange(2).repeat(64)
    >>> nearest_neighbors(rows, labels, rows, labels, device="cpu").mean()
    1.0
    """

    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        return _votes(parts, [k if own is None else int(own) for own in penalties], device)

    parts = gather(X_train, y_train, X_test, y_test, model)
    penalties = _NEIGHBORS if standardized else None
    return evaluate("nearest neighbors", fit, parts, penalties=penalties, seeds=seeds)


def ridge(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    model: Any = None,
    standardized: bool = False,
    seeds: Sequence[int] = (0,),
    device: str = "auto",
) -> Evaluation:
    """Ridge regression of numbers, penalty 1; judged by R².

    The standardized variant chooses the penalty.

    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> ridge(rows, rows[:, 0], rows, rows[:, 0]).mean("r2") > 0.99
    True
    """

    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        along = PrincipalComponents.fit(parts.train, resolve_device(device))
        test = along.transform(parts.test)
        targets = torch.from_numpy(parts.train_labels.astype(np.float64)).to(test.device)
        mean = targets.mean()
        covariances = along.rows.T @ (targets - mean) / len(targets)
        return [
            (test @ (covariances / (along.variances + own / len(targets))) + mean).cpu().numpy()
            for own in _strengths(penalties)
        ]

    parts = gather(X_train, y_train, X_test, y_test, model)
    if not {parts.train_labels.dtype.kind, parts.test_labels.dtype.kind} <= set("buif"):
        raise ValueError(
            "ridge predicts numbers, but y holds something else: take logistic_regression"
        )
    penalties = _PENALTIES if standardized else None
    return evaluate(
        "ridge regression", fit, parts, penalties=penalties, seeds=seeds, regression=True
    )


def _trained(
    name: str,
    make: Callable[[int, int], nn.Module],
    parts: Parts,
    standardized: bool,
    seeds: Sequence[int],
    training: ProbeTraining,
    device: str,
) -> Evaluation:
    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        return [scores_of_trained(make, parts, training, own, seed, device) for own in penalties]

    penalties = _DECAYS if standardized else None
    return evaluate(name, fit, parts, penalties=penalties, seeds=seeds)


def _strengths(penalties: Penalties) -> list[float]:
    return [1.0 if penalty is None else penalty for penalty in penalties]


def _votes(parts: Parts, counts: Sequence[int], device: str) -> list[np.ndarray]:
    """The votes for every class of the nearest k, for each k of `counts`."""
    place = resolve_device(device)
    classes, codes = parts.classes()
    known, asked = (
        torch.nn.functional.normalize(torch.from_numpy(rows).to(place), dim=1)
        for rows in (parts.train, parts.test)
    )
    labels = torch.from_numpy(codes).to(place)
    counts = [min(k, len(known)) for k in counts]
    scores: list[list[np.ndarray]] = [[] for _ in counts]
    with torch.inference_mode(), arithmetic("32"):
        for piece in asked.split(max(1, (1 << 27) // len(known))):
            cosine, at = (piece @ known.T).topk(max(counts), dim=1)
            for k, own in zip(counts, scores, strict=True):
                votes = torch.zeros(len(piece), len(classes), device=place)
                # A voter counts one, and less than 1 / k more for being near: enough to break ties.
                votes.scatter_add_(1, labels[at[:, :k]], 1 + (cosine[:, :k] + 1) / (2.1 * k))
                own.append(votes.cpu().numpy())
    return [np.concatenate(own) for own in scores]
