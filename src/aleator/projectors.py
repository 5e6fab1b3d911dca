"""Random projectors: how they are drawn, made diverse and chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from aleator.diversity import greedy_map, projector_kernel
from aleator.networks.shapes import as_rows

INITIALISATIONS = ("default", "beta")

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


@dataclass(frozen=True)
class Selection:
    """Projectors that were kept: their indices among the candidates, in order of choice."""

    projectors: list[nn.Module]
    chosen: np.ndarray
    kernel: np.ndarray


def initialise(projector: nn.Module, init: str, weight_dropout: float) -> nn.Module:
    """Apply the paper's two ways to diverse weights (section 4.5), in place.

    `"beta"` draws convolution weights from Beta(0.5, 0.5) scaled to [-1, 1], so that they look
    like edge filters. `weight_dropout` sets exactly that share of the weights of every linear and
    convolution layer to zero, for good.

    >>> layer = initialise(nn.Linear(10, 10), "default", weight_dropout=0.4)
    >>> int((layer.weight == 0).sum())
    40
    """
    with torch.no_grad():
        for layer in projector.modules():
            if init == "beta" and isinstance(layer, _CONVOLUTIONS):
                drawn = torch.distributions.Beta(0.5, 0.5).sample(layer.weight.shape)
                layer.weight.copy_(2 * drawn - 1)
            if weight_dropout and isinstance(layer, (nn.Linear, *_CONVOLUTIONS)):
                layer.weight.masked_fill_(_random_share(layer.weight, weight_dropout), 0)
    return projector


def _random_share(weight: Tensor, share: float) -> Tensor:
    """A mask over a weight that is true for exactly the share, rounded to whole weights.

    A coin for every weight comes close; then as many random weights as are missing or too many are
    turned over, which leaves all masks of that size equally likely. A permutation of millions of
    weights would take ten times as long.
    """
    count = weight.numel()
    mask = torch.rand(count) < share
    while surplus := int(mask.sum()) - round(share * count):
        drawn = torch.randint(count, (2 * abs(surplus) + 16,))
        wrong = drawn[mask[drawn] == (surplus > 0)].unique()
        turned = wrong[torch.randperm(len(wrong))[: abs(surplus)]]
        mask[turned] = surplus < 0
    return mask.view_as(weight)


def draw(
    make: Callable[[], nn.Module], count: int, init: str, weight_dropout: float
) -> list[nn.Module]:
    """Draw `count` candidates from torch's global generator.

    >>> len(draw(lambda: nn.Linear(2, 2), 3, "default", 0.0))
    3
    """
    return [initialise(make(), init, weight_dropout).eval() for _ in range(count)]


def select(candidates: Sequence[nn.Module], batch: Tensor, k: int, *, given: bool) -> Selection:
    """Keep `k` diverse candidates; all of them, in their order, if `k` is their number.

    A projector whose output does not depend on its input teaches nothing. Among drawn candidates
    it is passed over; a `given` one is refused.

    >>> batch = torch.arange(12.0).view(6, 2)
    >>> select([nn.Linear(2, 3) for _ in range(5)], batch, 2, given=False).kernel.shape
    (5, 5)
    """
    with torch.no_grad():
        outputs = [as_rows(candidate.eval()(batch)) for candidate in candidates]
    widths = {output.shape[1] for output in outputs}
    if len(widths) > 1:
        raise ValueError(f"all projectors must put out the same dimension; these: {sorted(widths)}")
    for at, output in enumerate(outputs):
        if not torch.isfinite(output).all():
            raise ValueError(f"projector {at} puts out NaN or infinity on these data")
    stacked = torch.stack(outputs)
    kernel = projector_kernel(stacked)
    telling = [at for at, output in enumerate(outputs) if not _constant(output)]
    silent = sorted(set(range(len(outputs))) - set(telling))
    if silent and (given or len(telling) < k):
        raise ValueError(
            f"projector{'s' if len(silent) > 1 else ''} {', '.join(map(str, silent[:8]))}"
            f"{' …' if len(silent) > 8 else ''} put out the same for every row, so there is "
            "nothing to learn from: the projector is constant, or the rows of X are all alike"
        )
    if k == len(candidates):
        chosen = torch.arange(k)
    else:
        usable = torch.tensor(telling)
        chosen = usable[greedy_map(kernel[usable][:, usable], k)]
    kept = [candidates[int(at)] for at in chosen]
    return Selection(kept, chosen.numpy(), kernel.numpy())


def _constant(output: Tensor) -> bool:
    spread = (output - output[:1]).abs().max()
    return bool(spread <= 1e-6 * output.abs().max())
