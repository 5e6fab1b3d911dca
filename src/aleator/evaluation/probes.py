"""Simple predictors on frozen embeddings: the paper's protocol, and a standardized one.

Every probe takes embeddings and labels of a training set and a test set, or data and a fitted
estimator as `model`. With `standardized=True` the embedding is scaled to zero mean and unit
variance on the training set, and the penalty is chosen on a validation set, a fifth of the training
set. The paper's protocol does neither, which favors trained encoders over random ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from aleator.evaluation.design_matrix import DesignMatrix
from aleator.evaluation.logistic import fit_path
from aleator.evaluation.neighbors import neighbor_votes
from aleator.evaluation.probing import Parts, Penalties, prepare_parts, run_probe
from aleator.evaluation.results import Evaluation
from aleator.evaluation.ridge import ridge_path
from aleator.evaluation.trained_probes import ProbeTraining, trained_probe_scores
from aleator.training.devices import resolve_device
from aleator.validation import check_choice

# The candidates of the standardized protocol. The ends of the first range are still far from no
# penalty and from a penalty that outweighs the data.
_PENALTIES = tuple(10.0**k for k in range(-4, 4))
_WEIGHT_DECAYS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
_NEIGHBOR_COUNTS = (1.0, 5.0, 10.0, 20.0, 50.0)
# The penalty of the paper's protocol: scikit-learn's default.
_DEFAULT_PENALTY = 1.0


def logistic_regression(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    model: Any = None,
    standardized: bool = False,
    choose_by: str = "accuracy",
    seeds: Sequence[int] = (0,),
    device: str = "auto",
) -> Evaluation:
    """Logistic regression on an embedding, the paper's probe for tables.

    The paper's protocol is L-BFGS with penalty 1 (scikit-learn's ``C=1``) and at most 1000 steps.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_samples, n_features)
        Embeddings of the training set and the test set, or data if `model` is given.
    y_train, y_test : array-like of shape (n_samples,)
        Labels.
    model : estimator, default=None
        A fitted estimator that embeds `X_train` and `X_test`. None means that they are embeddings.
    standardized : bool, default=False
        Whether to standardize the embedding and to choose the penalty among powers of ten from 1e-4
        to 1e3 on a fifth of the training set.
    choose_by : {"accuracy", "log_loss"}, default="accuracy"
        What decides on the penalty. Where labels are few, many penalties have the same accuracy on
        a fifth of them, and the cross-entropy chooses better.
    seeds : sequence of int, default=(0,)
        Seeds of the validation split. Without `standardized` all seeds give the same result.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0". "auto" is the first GPU, or the CPU
        if there is none.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [0.1], [0.9]]), np.array([0, 1, 0, 1])
    >>> logistic_regression(X, y, X, y).mean("accuracy")
    1.0
    """

    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        codes = parts.encoded_labels()[1]
        design = DesignMatrix.fit(parts.train, resolve_device(device))
        wanted = _with_default(penalties)
        # With a weak penalty and more features than samples the search ends close to where it
        # starts. It starts from the solution of the next stronger candidate also if only one
        # penalty is wanted, so that a penalty means the same on the validation set and in the end.
        stronger = [p for p in _PENALTIES if p > min(wanted)] if standardized else []
        classifiers = fit_path(design, codes, [*wanted, *stronger])[: len(wanted)]
        return [classifier.predict_proba(parts.test) for classifier in classifiers]

    check_choice("choose_by", choose_by, ("accuracy", "log_loss"))
    parts = prepare_parts(X_train, y_train, X_test, y_test, model)
    penalties = _PENALTIES if standardized else None
    return run_probe(
        "logistic regression", fit, parts, penalties=penalties, seeds=seeds, choose_by=choose_by
    )


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
    """Linear layer on an embedding, trained with the cross-entropy loss.

    The default settings are those of the paper for HAR and Epilepsy (appendix table 'Linear
    Evaluation Settings').

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_samples, n_features)
        Embeddings of the training set and the test set, or data if `model` is given.
    y_train, y_test : array-like of shape (n_samples,)
        Labels.
    model : estimator, default=None
        A fitted estimator that embeds `X_train` and `X_test`. None means that they are embeddings.
    standardized : bool, default=False
        Whether to standardize the embedding and to choose the weight decay among 0, 1e-4, 1e-3,
        1e-2 and 1e-1 on a fifth of the training set.
    seeds : sequence of int, default=(0,)
        Seeds of the probe and of the validation split.
    training : ProbeTraining, default=ProbeTraining()
        Training settings.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0". "auto" is the first GPU, or the CPU
        if there is none.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(2).repeat(64, 0), np.arange(2).repeat(64)
    >>> training = ProbeTraining(learning_rate=0.1)
    >>> linear_classifier(X, y, X, y, training=training, device="cpu").mean()
    1.0
    """
    parts = prepare_parts(X_train, y_train, X_test, y_test, model)
    return _run_trained_probe(
        "linear classifier", nn.Linear, parts, standardized, seeds, training, device
    )


def mlp_classifier(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    model: Any = None,
    hidden: int = 256,
    layer_norm: bool = False,
    standardized: bool = False,
    seeds: Sequence[int] = (0,),
    training: ProbeTraining = ProbeTraining(),  # noqa: B008 (it is frozen)
    device: str = "auto",
) -> Evaluation:
    """Network with one hidden layer on an embedding, the paper's probe for MIMIC-III.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_samples, n_features)
        Embeddings of the training set and the test set, or data if `model` is given.
    y_train, y_test : array-like of shape (n_samples,)
        Labels.
    model : estimator, default=None
        A fitted estimator that embeds `X_train` and `X_test`. None means that they are embeddings.
    hidden : int, default=256
        Units of the hidden layer.
    layer_norm : bool, default=False
        Whether to normalize the hidden layer of every sample, before its activation.
    standardized : bool, default=False
        Whether to standardize the embedding and to choose the weight decay among 0, 1e-4, 1e-3,
        1e-2 and 1e-1 on a fifth of the training set.
    seeds : sequence of int, default=(0,)
        Seeds of the probe and of the validation split.
    training : ProbeTraining, default=ProbeTraining()
        Training settings.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0". "auto" is the first GPU, or the CPU
        if there is none.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(2).repeat(64, 0), np.arange(2).repeat(64)
    >>> mlp_classifier(X, y, X, y, device="cpu").mean()
    1.0
    """

    def make_network(n_features: int, n_classes: int) -> nn.Module:
        norm = [nn.LayerNorm(hidden)] if layer_norm else []
        return nn.Sequential(
            nn.Linear(n_features, hidden), *norm, nn.ReLU(), nn.Linear(hidden, n_classes)
        )

    parts = prepare_parts(X_train, y_train, X_test, y_test, model)
    return _run_trained_probe(
        "MLP classifier", make_network, parts, standardized, seeds, training, device
    )


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
    """Majority vote of the k nearest training samples by cosine similarity.

    A tie goes to the class whose neighbors are nearer.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_samples, n_features)
        Embeddings of the training set and the test set, or data if `model` is given.
    y_train, y_test : array-like of shape (n_samples,)
        Labels.
    model : estimator, default=None
        A fitted estimator that embeds `X_train` and `X_test`. None means that they are embeddings.
    k : int, default=20
        Number of neighbors, at most that of the training samples.
    standardized : bool, default=False
        Whether to standardize the embedding and to choose k among 1, 5, 10, 20 and 50 on a fifth of
        the training set. The choice is listed as "penalty" in the result.
    seeds : sequence of int, default=(0,)
        Seeds of the validation split. Without `standardized` all seeds give the same result.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0". "auto" is the first GPU, or the CPU
        if there is none.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(2).repeat(64, 0), np.arange(2).repeat(64)
    >>> nearest_neighbors(X, y, X, y, device="cpu").mean()
    1.0
    """

    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        counts = [k if penalty is None else int(penalty) for penalty in penalties]
        return neighbor_votes(parts, counts, device)

    parts = prepare_parts(X_train, y_train, X_test, y_test, model)
    penalties = _NEIGHBOR_COUNTS if standardized else None
    return run_probe("nearest neighbors", fit, parts, penalties=penalties, seeds=seeds)


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
    """Ridge regression on an embedding, for numeric targets.

    Without `standardized` the penalty is 1. The main metric is R².

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_samples, n_features)
        Embeddings of the training set and the test set, or data if `model` is given.
    y_train, y_test : array-like of shape (n_samples,)
        Target values.
    model : estimator, default=None
        A fitted estimator that embeds `X_train` and `X_test`. None means that they are embeddings.
    standardized : bool, default=False
        Whether to standardize the embedding and to choose the penalty among powers of ten from 1e-4
        to 1e3 on a fifth of the training set.
    seeds : sequence of int, default=(0,)
        Seeds of the validation split. Without `standardized` all seeds give the same result.
    device : str, default="auto"
        Device to compute on: "auto", "cpu", "cuda" or "cuda:0". "auto" is the first GPU, or the CPU
        if there is none.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.

    Raises
    ------
    ValueError
        If the targets are not numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> ridge(X, X[:, 0], X, X[:, 0]).mean("r2") > 0.99
    True
    """

    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        design = DesignMatrix.fit(parts.train, resolve_device(device))
        targets = torch.from_numpy(parts.train_labels.astype(np.float64)).to(design.center.device)
        maps = ridge_path(design, targets, _with_default(penalties))
        return [predict(parts.test)[:, 0].cpu().numpy() for predict in maps]

    parts = prepare_parts(X_train, y_train, X_test, y_test, model)
    for name, targets in (("y_train", parts.train_labels), ("y_test", parts.test_labels)):
        if targets.dtype.kind not in "buif":
            raise ValueError(
                f"ridge needs numeric targets, but {name} has dtype {targets.dtype}; use "
                "logistic_regression for class labels"
            )
    penalties = _PENALTIES if standardized else None
    return run_probe(
        "ridge regression", fit, parts, penalties=penalties, seeds=seeds, regression=True
    )


def _run_trained_probe(
    name: str,
    make_network: Callable[[int, int], nn.Module],
    parts: Parts,
    standardized: bool,
    seeds: Sequence[int],
    training: ProbeTraining,
    device: str,
) -> Evaluation:
    def fit(parts: Parts, penalties: Penalties, seed: int) -> list[np.ndarray]:
        return [
            trained_probe_scores(make_network, parts, training, penalty, seed, device)
            for penalty in penalties
        ]

    penalties = _WEIGHT_DECAYS if standardized else None
    return run_probe(name, fit, parts, penalties=penalties, seeds=seeds)


def _with_default(penalties: Penalties) -> list[float]:
    return [_DEFAULT_PENALTY if penalty is None else penalty for penalty in penalties]
