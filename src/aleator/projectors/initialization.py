"""The two ways to diverse weights of the LFR paper (section 4.5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

INITIALIZATIONS = ("default", "beta")

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def initialize(projector: nn.Module, init: str, weight_dropout: float) -> nn.Module:
    """Initialize the weights of a projector in place, from torch's global generator.

    Parameters
    ----------
    projector : torch.nn.Module
        The projector.
    init : {"default", "beta"}
        "beta" draws the weights of convolutions from Beta(0.5, 0.5) scaled to [-1, 1], so that they
        resemble edge filters; "default" leaves all weights as they are.
    weight_dropout : float
        Share of the weights of every linear and convolutional layer that are set to zero.

    Returns
    -------
    torch.nn.Module
        The projector.

    Examples
    --------
    >>> layer = initialize(nn.Linear(10, 10), "default", weight_dropout=0.4)
    >>> int((layer.weight == 0).sum())
    40
    """
    with torch.no_grad():
        for layer in projector.modules():
            if init == "beta" and isinstance(layer, _CONVOLUTIONS):
                drawn = torch.distributions.Beta(0.5, 0.5).sample(layer.weight.shape)
                layer.weight.copy_(2 * drawn - 1)
            if weight_dropout and isinstance(layer, (nn.Linear, *_CONVOLUTIONS)):
                layer.weight.masked_fill_(_draw_mask(layer.weight, weight_dropout), 0)
    return projector


def _draw_mask(weight: Tensor, share: float) -> Tensor:
    """Draw a mask over a weight that is true for exactly the share, rounded to whole weights.

    A coin for every weight comes close; then as many random weights as are missing or too many are
    flipped, which leaves all masks of that size equally likely. A permutation of millions of
    weights would take ten times as long.
    """
    count = weight.numel()
    mask = torch.rand(count) < share
    while surplus := int(mask.sum()) - round(share * count):
        drawn = torch.randint(count, (2 * abs(surplus) + 16,))
        wrong = drawn[mask[drawn] == (surplus > 0)].unique()
        flipped = wrong[torch.randperm(len(wrong))[: abs(surplus)]]
        mask[flipped] = surplus < 0
    return mask.view_as(weight)
