"""Fine-tuning of a pre-trained encoder, and transfer to another domain."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from aleator.evaluation.metrics import classification_metrics
from aleator.evaluation.probes import linear_classifier
from aleator.evaluation.probing import check_labels
from aleator.evaluation.results import Evaluation
from aleator.inputs import SomeRows, Source
from aleator.inputs.pieces import BUFFER_SIZE
from aleator.methods import Supervised
from aleator.validation import check_local


def fine_tune(
    model: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    label_fraction: float = 1.0,
    seeds: Sequence[int] = (0,),
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | str = "5 min",
    resume: bool = True,
    **training: Any,
) -> Evaluation:
    """Train the encoder of a fitted model together with a linear layer on labeled data.

    The model itself is not changed.

    Parameters
    ----------
    model : estimator
        A fitted estimator, whose encoder is the starting point.
    X_train, X_test : array-like
        Data of the training set and the test set.
    y_train, y_test : array-like of shape (n_samples,)
        Labels.
    label_fraction : float, default=1.0
        Fraction of the training set that is used, above 0 and at most 1. The samples are drawn
        anew for every seed, with the same fraction of every class. The paper's semi-supervised
        setting is 0.1.
    seeds : sequence of int, default=(0,)
        Seeds of the training and of the choice of samples.
    checkpoint : str or path-like, default=None
        Folder for checkpoints, with one folder per seed in it (see ``fit`` of `aleator.LFR`).
    checkpoint_every : int or str, default="5 min"
        Steps or time between two checkpoints.
    resume : bool, default=True
        Continue the runs whose checkpoints are in the folder.
    **training : dict
        Parameters of `aleator.Supervised`, such as ``epochs``, ``learning_rate`` or ``device``.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.

    Raises
    ------
    ValueError
        If `label_fraction` is out of range or leaves a class without samples, or if the labels do
        not match the data.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import LFR
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> y = X[:, 0] > 0
    >>> lfr = LFR(epochs=1, embedding_dim=8, n_projectors=2, random_state=0).fit(X)
    >>> result = fine_tune(lfr, X, y, X, y, epochs=30, learning_rate=0.01)
    >>> result.mean("accuracy") > 0.9
    True
    """
    check_is_fitted(model)
    if not 0 < label_fraction <= 1:
        raise ValueError(f"label_fraction must be above 0 and at most 1, got {label_fraction!r}")
    saved = None if checkpoint is None else check_local("checkpoint", checkpoint)
    start = perf_counter()
    train, test = _converted(model, X_train), _converted(model, X_test)
    train_labels, test_labels = np.asarray(y_train), np.asarray(y_test)
    check_labels("y_train", train_labels, len(train))
    check_labels("y_test", test_labels, len(test))

    def saved_in(seed: int) -> dict[str, Any]:
        if saved is None:
            return {}
        folder = saved / f"seed-{seed}"
        return {"checkpoint": folder, "checkpoint_every": checkpoint_every, "resume": resume}

    metrics_per_seed = []
    for seed in seeds:
        subset = _stratified_subset(train_labels, label_fraction, seed)
        tuned = Supervised(
            encoder=model.encoder_,
            modality=model.adapter_.array_modality,
            preprocessing=None,  # the data have been scaled as for the model
            random_state=seed,
            **{"progress": False, "device": model.device, **training},
        ).fit(_take(train, subset), train_labels[subset], **saved_in(seed))
        probabilities = tuned.predict_proba(test)
        metrics_per_seed.append(classification_metrics(test_labels, probabilities, tuned.classes_))
    suffix = "" if label_fraction == 1 else f" on {100 * label_fraction:g} % of the labels"
    return Evaluation.from_seeds(f"fine-tuning{suffix}", metrics_per_seed, perf_counter() - start)


def transfer(
    model: Any,
    X_source: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    seeds: Sequence[int] = (0,),
    probe: Callable[..., Evaluation] = linear_classifier,
    **settings: Any,
) -> Evaluation:
    """Pre-train on a source domain and evaluate a probe on a target domain.

    For every seed a clone of `model` is fitted on the source domain without labels. The probe is
    then fitted on its embedding of the training set and evaluated on that of the test set. If the
    training set is that of the source domain, no label of the target domain is used (Eldele et al.,
    Self-supervised contrastive representation learning for semi-supervised time-series
    classification, 2023). If it is one of the target domain, the probe adapts to it.

    Parameters
    ----------
    model : estimator
        An estimator with a parameter ``random_state``; it need not be fitted and is not changed.
    X_source : array-like
        Unlabeled data of the source domain.
    X_train : array-like
        Labeled data of the source domain or of the target domain.
    y_train : array-like of shape (n_samples,)
        Their labels.
    X_test : array-like
        Data of the target domain.
    y_test : array-like of shape (n_samples,)
        Their labels.
    seeds : sequence of int, default=(0,)
        Seeds of the pre-training and of the probe.
    probe : callable, default=linear_classifier
        One of the probes in `aleator.evaluation`, or a function with the same parameters.
    **settings : dict
        Further parameters of the probe, such as ``standardized`` or ``device``.

    Returns
    -------
    Evaluation
        Metrics on the test set, one value per seed.

    Raises
    ------
    ValueError
        If `seeds` is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import RandomEncoder
    >>> from aleator.evaluation import logistic_regression
    >>> rng = np.random.default_rng(0)
    >>> X_source, X = rng.normal(size=(50, 4)), rng.normal(size=(300, 4))
    >>> y = X[:, 0] > 0
    >>> sets = X[:200], y[:200], X[200:], y[200:]
    >>> transfer(RandomEncoder(), X_source, *sets, probe=logistic_regression).mean() > 0.8
    True
    """
    start = perf_counter()
    results: list[Evaluation] = []
    for seed in seeds:
        fitted = clone(model).set_params(random_state=seed).fit(X_source)
        results.append(
            probe(X_train, y_train, X_test, y_test, model=fitted, seeds=[seed], **settings)
        )
    if not results:
        raise ValueError("seeds must contain at least one seed, got an empty sequence")
    return Evaluation(
        f"transfer, {results[0].probe}",
        {
            name: tuple(value for result in results for value in result.values(name))
            for name in results[0].metrics
        },
        perf_counter() - start,
        tuple(choice for result in results for choice in result.chosen),
    )


def _converted(model: Any, X: Any) -> np.ndarray | Source:
    """Convert data as for the model; those that are read from files are converted when read."""
    source = model.adapter_.read(X)
    small = 4 * len(source) * source.schema.size <= BUFFER_SIZE
    return source.materialize() if source.in_memory or small else source


def _take(rows: np.ndarray | Source, index: np.ndarray) -> np.ndarray | Source:
    return rows[index] if isinstance(rows, np.ndarray) else SomeRows(rows, index)


def _stratified_subset(labels: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Sorted indices of a random fraction of the samples of every class."""
    if fraction == 1:
        return np.arange(len(labels))
    rng = np.random.default_rng(seed)
    subsets = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        count = int(fraction * len(members) + 0.5)
        if count == 0:
            raise ValueError(
                f"label_fraction={fraction:g} leaves no sample of class {label!s}, which has "
                f"{len(members)} in y_train: use a larger fraction or remove the class"
            )
        subsets.append(rng.permutation(members)[:count])
    return np.sort(np.concatenate(subsets))
