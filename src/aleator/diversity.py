"""Choosing projectors that see the data differently (section 3.3 of the LFR paper).

A projector's signature is the matrix of cosines between its outputs for one batch, flattened and
scaled to length one. The kernel of signatures defines a determinantal point process, whose most
likely subset is sought greedily: Chen, Zhang and Zhou, Fast greedy MAP inference (2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from aleator.losses import unit_rows

# What is left of a candidate's squared length once it is fully explained by those chosen before.
_EXPLAINED = 1e-10


def default_n_candidates(n_projectors: int) -> int:
    """Return the number of candidates to draw if the user does not set it: ten per projector.

    Parameters
    ----------
    n_projectors : int
        Number of projectors that are kept.

    Returns
    -------
    n_candidates : int
        Number of projectors to draw.

    Examples
    --------
    >>> default_n_candidates(6)
    60
    """
    return 10 * n_projectors


def projector_kernel(outputs: Tensor) -> Tensor:
    """Similarity of projectors: the Gram matrix of their signatures.

    `outputs` is N × m × d, the outputs of N projectors for one batch of m rows; the result is
    N × N, with ones on the diagonal.

    >>> outputs = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]])
    >>> projector_kernel(outputs)
    tensor([[1.0000, 0.7071],
            [0.7071, 1.0000]])
    """
    if outputs.ndim != 3:
        raise ValueError(
            "projector outputs must be N × m × d (projectors, rows, dimensions); "
            f"got {tuple(outputs.shape)}"
        )
    rows = unit_rows(outputs)
    signatures = unit_rows(torch.bmm(rows, rows.transpose(1, 2)).flatten(1))
    with _two_threads():
        return signatures @ signatures.T


@contextmanager
def _two_threads() -> Iterator[None]:
    """Fix how a matrix product is shared out, so that its rounding does not depend on the caller.

    The kernel's diagonal holds ones that differ by rounding alone, and the greedy search starts
    at the largest: without this, the number of threads would decide which projectors are kept.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def select_diverse(outputs: Tensor, k: int) -> Tensor:
    """Pick `k` of N projectors whose signatures span the largest volume, greedily.

    Returns indices in order of choice.

    >>> outputs = torch.tensor([[[1.0, 0.0], [0.0, 1.0]],
    ...                         [[0.9, 0.1], [0.0, 1.0]],
    ...                         [[1.0, 0.0], [1.0, 0.0]]])
    >>> 2 in select_diverse(outputs, 2)  # the third differs most from the other two
    True
    """
    return greedy_map(projector_kernel(outputs), k)


def greedy_map(kernel: Tensor, k: int) -> Tensor:
    """The greedy most likely subset of size `k` under a kernel, indices in order of choice.

    Once every remaining candidate is explained by the chosen ones, the rest follow in order of
    what is left of them.

    >>> greedy_map(torch.tensor([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]), 2)
    tensor([0, 2])
    """
    candidates = kernel.shape[0]
    if not 1 <= k <= candidates:
        raise ValueError(f"cannot choose {k} of {candidates} projectors")
    kernel = kernel.double().cpu()
    remaining = kernel.diagonal().clone()
    # Row i holds every candidate's coordinate along the i-th chosen one (incremental Cholesky).
    coordinates = kernel.new_zeros((k, candidates))
    chosen: list[int] = []
    for turn in range(k):
        best = int(remaining.argmax())
        chosen.append(best)
        left = float(remaining[best])
        remaining[best] = float("-inf")
        if left > _EXPLAINED:
            explained = coordinates[:turn, best] @ coordinates[:turn]
            coordinates[turn] = (kernel[best] - explained) / left**0.5
            remaining -= coordinates[turn] ** 2
    return torch.tensor(chosen)
