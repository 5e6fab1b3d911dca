"""Nearest neighbors by cosine similarity, on the device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F

from aleator.evaluation.probing import Parts
from aleator.training.devices import resolve_device
from aleator.training.math_mode import math_mode

# Similarities computed at a time: a matrix of 512 MiB.
_SIMILARITIES_PER_CHUNK = 1 << 27


def neighbor_votes(parts: Parts, counts: Sequence[int], device: str) -> list[np.ndarray]:
    """Votes of the nearest training samples for every class.

    Parameters
    ----------
    parts : Parts
        Training set and test set.
    counts : sequence of int
        Numbers of neighbors. A number above that of the training samples means all of them.
    device : str
        Device to compute on.

    Returns
    -------
    list of ndarray of shape (n_test, n_classes)
        Votes, one array per number of neighbors. A neighbor counts one, and a little more the
        nearer it is, which only decides ties.
    """
    torch_device = resolve_device(device)
    classes, codes = parts.encoded_labels()
    train, test = (
        F.normalize(torch.from_numpy(rows).to(torch_device), dim=1)
        for rows in (parts.train, parts.test)
    )
    labels = torch.from_numpy(codes).to(torch_device)
    counts = [min(k, len(train)) for k in counts]
    chunks_per_count: list[list[np.ndarray]] = [[] for _ in counts]
    with torch.inference_mode(), math_mode("32"):
        for chunk in test.split(max(1, _SIMILARITIES_PER_CHUNK // len(train))):
            cosine, neighbors = (chunk @ train.T).topk(max(counts), dim=1)
            for k, chunks in zip(counts, chunks_per_count, strict=True):
                votes = torch.zeros(len(chunk), len(classes), device=torch_device)
                # The bonus of a neighbor is below 1 / k, so that all k together stay below a vote.
                bonus = (cosine[:, :k] + 1) / (2.1 * k)
                votes.scatter_add_(1, labels[neighbors[:, :k]], 1 + bonus)
                chunks.append(votes.cpu().numpy())
    return [np.concatenate(chunks) for chunks in chunks_per_count]
