"""Beyond frozen embeddings: fine-tuning the encoder, and transfer to another domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from aleator.estimators import Supervised
from aleator.evaluation.metrics import of_classes
from aleator.evaluation.probes import linear_classifier
from aleator.evaluation.probing import require_a_label_a_row
from aleator.evaluation.results import Evaluation


def fine_tune(
    model: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    label_fraction: float = 1.0,
    seeds: Sequence[int] = (0,),
    **training: Any,
) -> Evaluation:
    """Train a fitted model's encoder and a linear layer on top of it, with labels.

    The model itself is left as it is. `label_fraction`: the share of labelled rows that is used,
    drawn anew for every seed with all classes in proportion (the paper's semi-supervised setting:
    0.1). `training` goes to `aleator.Supervised`: epochs, learning_rate, device …

    >>> from aleator import LFR
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> lfr = LFR(epochs=1, embedding_dim=8, n_projectors=2, random_state=0).fit(X)
    >>> tuned = fine_tune(lfr, X, X[:, 0] > 0, X, X[:, 0] > 0, epochs=30, learning_rate=0.01)
    >>> tuned.mean("accuracy") > 0.9
    True
    """
    check_is_fitted(model)
    if not 0 < label_fraction <= 1:
        raise ValueError(f"label_fraction must be above 0 and at most 1, not {label_fraction!r}")
    began = perf_counter()
    rows, test = model.door_.admit(X_train), model.door_.admit(X_test)
    labels, test_labels = np.asarray(y_train), np.asarray(y_test)
    require_a_label_a_row("y_train", labels, len(rows))
    require_a_label_a_row("y_test", test_labels, len(test))
    found = []
    for seed in seeds:
        part = _share(labels, label_fraction, seed)
        tuned = Supervised(
            encoder=model.encoder_,
            modality=model.door_.modality.name,
            preprocessing=None,  # the model's own door has scaled the data
            random_state=seed,
            **{"progress": False, "device": model.device, **training},
        ).fit(rows[part], labels[part])
        found.append(of_classes(test_labels, tuned.predict_proba(test), tuned.classes_))
    share = "" if label_fraction == 1 else f" on {100 * label_fraction:g} % of the labels"
    return Evaluation.collected(f"fine-tuning{share}", found, perf_counter() - began)


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
    """Pre-train on one domain, classify another.

    A fresh copy of `model` learns from `X_source`, without labels, once a seed; then `probe` is
    fitted on its embedding of the training part and judged on that of the test part.

    >>> from aleator import RandomEncoder
    >>> random = np.random.default_rng(0)
    >>> source, X = random.normal(size=(50, 4)), random.normal(size=(300, 4))
    >>> y = X[:, 0] > 0
    >>> from aleator.evaluation import logistic_regression
    >>> parts = X[:200], y[:200], X[200:], y[200:]
    >>> transfer(RandomEncoder(), source, *parts, probe=logistic_regression).mean() > 0.8
    True
    """
    began = perf_counter()
    found: list[Evaluation] = []
    for seed in seeds:
        trained = clone(model).set_params(random_state=seed).fit(X_source)
        found.append(
            probe(X_train, y_train, X_test, y_test, model=trained, seeds=[seed], **settings)
        )
    if not found:
        raise ValueError("seeds must hold at least one seed")
    return Evaluation(
        f"transfer, {found[0].probe}",
        {m: tuple(value for one in found for value in one.values(m)) for m in found[0].metrics},
        perf_counter() - began,
        tuple(choice for one in found for choice in one.chosen),
    )


def _share(labels: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Rows of a fraction of every class, in their order."""
    if fraction == 1:
        return np.arange(len(labels))
    random = np.random.default_rng(seed)
    drawn = []
    for own in np.unique(labels):
        rows = np.flatnonzero(labels == own)
        count = int(fraction * len(rows) + 0.5)
        if count == 0:
            raise ValueError(
                f"label_fraction={fraction:g} leaves no row of class {own!s}, which has "
                f"{len(rows)}: take a larger fraction, or leave the class out"
            )
        drawn.append(random.permutation(rows)[:count])
    return np.sort(np.concatenate(drawn))
