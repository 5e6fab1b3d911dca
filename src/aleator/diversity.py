"""Selection of projectors that represent the data differently (section 3.3 of the LFR paper).

The signature of a projector is the matrix of cosine similarities between its outputs for one batch,
flattened and scaled to unit length. The Gram matrix of the signatures is the kernel of a
determinantal point process, whose most likely subset is found greedily: Chen, Zhang and Zhou, Fast
greedy MAP inference for determinantal point process (2018).

Everything here is computed in double precision, and nearly equal candidates count as ties, so that
the same candidates are selected on every machine.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

# Scores that agree to this are ties, which the lowest index wins.
_TIE = 1e-9

# What is left of a candidate's squared length once it is fully explained by those chosen before.
_EXPLAINED = 1e-10

# Projectors drawn for each one kept, unless the user says otherwise.
_CANDIDATES_PER_PROJECTOR = 10

__all__ = [
    "default_n_candidates", "greedy_map", "kernel_of_signatures", "projector_kernel",
    "projector_signature", "select_diverse",
]  # fmt: skip


def default_n_candidates(n_projectors: int) -> int:
    """Return the number of projectors that are drawn by default.

    Parameters
    ----------
    n_projectors : int
        Projectors that are kept.

    Returns
    -------
    int

    Examples
    --------
    >>> default_n_candidates(6)
    60
    """
    return _CANDIDATES_PER_PROJECTOR * n_projectors


def projector_signature(output: Tensor) -> Tensor:
    """Signature of one projector: the normalized matrix of cosines between its outputs.

    Parameters
    ----------
    output : Tensor of shape (m, d)
        Outputs of the projector for one batch.

    Returns
    -------
    Tensor of shape (m * m,), float64

    Examples
    --------
    >>> projector_signature(torch.eye(2)).tolist()
    [0.7071067811865475, 0.0, 0.0, 0.7071067811865475]
    """
    rows = F.normalize(output.double(), dim=-1)
    return F.normalize((rows @ rows.transpose(-1, -2)).flatten(-2), dim=-1)


def kernel_of_signatures(signatures: Tensor) -> Tensor:
    """Gram matrix of signatures, with a diagonal of exactly one.

    Parameters
    ----------
    signatures : Tensor of shape (N, m * m)
        One signature per projector.

    Returns
    -------
    Tensor of shape (N, N), float64

    Examples
    --------
    >>> kernel_of_signatures(torch.eye(2, dtype=torch.float64)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    kernel = signatures @ signatures.T
    # Rounding leaves ones that differ in the last digit, and the search starts at the largest.
    one = torch.eye(len(kernel), dtype=torch.bool, device=kernel.device)
    return kernel.masked_fill(one, 1.0)


def projector_kernel(outputs: Tensor) -> Tensor:
    """Similarity of projectors: the Gram matrix of their signatures.

    Parameters
    ----------
    outputs : Tensor of shape (N, m, d)
        Outputs of N projectors for one batch of m samples.

    Returns
    -------
    Tensor of shape (N, N), float64
        Similarities, with ones on the diagonal.

    Examples
    --------
    >>> outputs = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]])
    >>> projector_kernel(outputs).round(decimals=4)
    tensor([[1.0000, 0.7071],
            [0.7071, 1.0000]], dtype=torch.float64)
    """
    if outputs.ndim != 3:
        raise ValueError(
            "projector outputs must have the shape (N, m, d) (projectors, samples, dimensions), "
            f"got {tuple(outputs.shape)}"
        )
    return kernel_of_signatures(torch.stack([projector_signature(output) for output in outputs]))


def select_diverse(outputs: Tensor, k: int, *, first: int | None = None) -> Tensor:
    """Select `k` of N projectors whose signatures span the largest volume, greedily.

    Parameters
    ----------
    outputs : Tensor of shape (N, m, d)
        Outputs of N projectors for one batch of m samples.
    k : int
        Number of projectors to select.
    first : int, default=None
        Index of the first choice. In exact arithmetic it is a tie, so that any is right; None is
        the lowest index.

    Returns
    -------
    Tensor of shape (k,)
        Indices in order of choice.

    Examples
    --------
    >>> outputs = torch.tensor([[[1.0, 0.0], [0.0, 1.0]],
    ...                         [[0.9, 0.1], [0.0, 1.0]],
    ...                         [[1.0, 0.0], [1.0, 0.0]]])
    >>> select_diverse(outputs, 2)  # the third differs most from the first
    tensor([0, 2])
    """
    return greedy_map(projector_kernel(outputs), k, first=first)


def greedy_map(kernel: Tensor, k: int, *, first: int | None = None) -> Tensor:
    """Greedy most likely subset of size `k` under a kernel.

    Candidates whose scores agree to 1e-9 are tied, and the lowest index is chosen. Once all
    remaining candidates are explained by the chosen ones, the rest follow in order of what is left
    of them.

    Parameters
    ----------
    kernel : Tensor of shape (N, N)
        A positive semi-definite matrix.
    k : int
        Size of the subset.
    first : int, default=None
        Index of the first choice. None is the largest entry of the diagonal.

    Returns
    -------
    Tensor of shape (k,)
        Indices in order of choice.

    Examples
    --------
    >>> greedy_map(torch.tensor([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]), 2)
    tensor([0, 2])
    """
    candidates = kernel.shape[0]
    if not 1 <= k <= candidates:
        raise ValueError(f"cannot choose {k} of {candidates} projectors")
    if first is not None and not 0 <= first < candidates:
        raise ValueError(f"first={first} is not the index of one of {candidates} projectors")
    kernel = kernel.detach().double().cpu()
    scores = kernel.diagonal().clone()
    # Row i holds every candidate's coordinate along the i-th chosen one (incremental Cholesky).
    coordinates = kernel.new_zeros((k, candidates))
    chosen: list[int] = []
    for turn in range(k):
        best = first if turn == 0 and first is not None else _lowest_of_best(scores)
        chosen.append(best)
        score = float(scores[best])
        scores[best] = float("-inf")
        if score > _EXPLAINED:
            explained = coordinates[:turn, best] @ coordinates[:turn]
            coordinates[turn] = (kernel[best] - explained) / score**0.5
            scores -= coordinates[turn] ** 2
    return torch.tensor(chosen)


def _lowest_of_best(scores: Tensor) -> int:
    return int((scores >= scores.max() - _TIE).nonzero()[0])
