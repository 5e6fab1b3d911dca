"""What methods that compare two views of a batch have in common."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from aleator.losses import cosine_distance
from aleator.networks.bank import normalises_batches
from aleator.training.method import INPUT, Phase, jointly

Network = Callable[[Tensor], Tensor]


class OfBoth:
    """Runs a function of `networks` over two views.

    In one pass, for half as many kernels and the same work; but where batches are normalised, in
    two, so that each view is normalised by itself, as in the methods' original papers.

    >>> run = OfBoth(torch.relu)
    >>> first, second = run(torch.zeros(2, 1), torch.ones(2, 1))
    >>> second.tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, function: Network, *networks: nn.Module) -> None:
        self._function = function
        self._apart = any(normalises_batches(network) for network in networks)

    def __call__(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """What the function makes of each view."""
        if self._apart:
            return self._function(first), self._function(second)
        both = self._function(torch.cat([first, second]))
        return both[: len(first)], both[len(first) :]


def with_fixed_rate_predictor(
    encoder: nn.Module, projector: nn.Module, predictor: nn.Module, loss: Network
) -> Phase:
    """SimSiam's phase: the predictor trains beside the others, at a rate that no schedule moves."""
    return Phase(
        "siamese",
        {"encoder": jointly(encoder, projector), "predictor": predictor},
        (encoder, projector, predictor),
        (INPUT,),
        loss,
    )


def predicts_the_other(predict: OfBoth, first: Tensor, second: Tensor) -> Tensor:
    """SimSiam's symmetric loss: each view's prediction against the other view, held fixed.

    One less the cosine, so that a perfect match is zero; the gradient is the paper's. Chen and He,
    Exploring simple siamese representation learning (2021).
    """
    guess1, guess2 = predict(first, second)
    return (cosine_distance(guess1, second.detach()) + cosine_distance(guess2, first.detach())) / 2
