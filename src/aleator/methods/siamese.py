"""What methods that compare two views of a batch have in common."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from aleator.losses import cosine_distance

Network = Callable[[Tensor], Tensor]


def in_one_pass(network: Network, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Run a network over two batches at once: half as many kernels, the same work.

    Where batches are normalised, both views are normalised together.

    >>> first, second = in_one_pass(torch.relu, torch.zeros(2, 1), torch.ones(2, 1))
    >>> second.tolist()
    [[1.0], [1.0]]
    """
    both = network(torch.cat([first, second]))
    return both[: len(first)], both[len(first) :]


def predicts_the_other(predictor: Network, first: Tensor, second: Tensor) -> Tensor:
    """SimSiam's symmetric loss: each view's prediction against the other view, held fixed.

    One less the cosine, so that a perfect match is zero; the gradient is the paper's. Chen and He,
    Exploring simple siamese representation learning (2021).
    """
    guess1, guess2 = in_one_pass(predictor, first, second)
    return (cosine_distance(guess1, second.detach()) + cosine_distance(guess2, first.detach())) / 2
