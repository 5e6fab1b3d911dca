"""Which samples of a training set are labeled, if there are labels for a few of them only."""

from __future__ import annotations

import numpy as np

# The first labels are balanced: this number per class, whatever the sizes of the classes.
LABELS_PER_CLASS = 5


def labeling_order(labels: np.ndarray, seed: int, draw: int = 0) -> np.ndarray:
    """Order samples at random, so that the first n of them are a stratified sample for any n.

    The first five samples of every class come first, one class after the other in turn, so that a
    small sample is balanced and has no class missing. All others follow in the proportions of the
    classes.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Labels.
    seed : int
        Seed.
    draw : int, default=0
        Number of the draw; every draw of a seed gives another order.

    Returns
    -------
    ndarray of shape (n_samples,)
        Indices of all samples.

    Examples
    --------
    >>> labels = np.array(["rare"] * 10 + ["frequent"] * 90)
    >>> order = labeling_order(labels, seed=0)
    >>> [(labels[order[:n]] == "rare").sum().item() for n in (2, 10, 50, 100)]
    [1, 5, 5, 10]
    """
    codes = np.unique(labels, return_inverse=True)[1]
    shuffled = np.random.default_rng([seed, draw]).permutation(len(codes))
    codes = codes[shuffled]
    sizes = np.bincount(codes)
    rank = np.empty(len(codes), dtype=np.int64)  # of a sample within its class
    rank[np.argsort(codes, kind="stable")] = np.concatenate([np.arange(size) for size in sizes])
    # The k-th of m samples comes where (k + 1/2) / m of all samples have come, which is the method
    # of Sainte-Laguë. Sorting is stable, so that ties between classes are in random order.
    position = np.where(rank < LABELS_PER_CLASS, rank, (rank + 0.5) / sizes[codes])
    return shuffled[np.lexsort((position, rank >= LABELS_PER_CLASS))]
