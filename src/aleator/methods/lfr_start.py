"""Where LFR's training starts: from the exact solution of its linear part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from aleator.networks.shapes import flatten_output
from aleator.projectors.closed_form import ridge_regression
from aleator.projectors.feature_encoder import FeatureEncoder

_PENALTY = 1e-3
_ROWS_PER_PIECE = 256


def outputs_on_sample(projectors: Sequence[nn.Module], sample: Tensor) -> Iterator[Tensor]:
    """Compute the outputs of projectors, one projector after the other, on the sample's device."""
    for k, projector in enumerate(projectors):
        on_device = projector.to(sample.device)
        with torch.no_grad():
            pieces = [flatten_output(on_device(x)) for x in sample.split(_ROWS_PER_PIECE)]
        projector.to("cpu")
        output = torch.cat(pieces).float()
        if not torch.isfinite(output).all():
            raise ValueError(f"the output of projector {k} is NaN or infinite on these data")
        yield output


def start_at_solution(
    encoder: FeatureEncoder, predictors: Sequence[nn.Module], sample: Tensor, targets: Tensor
) -> None:
    """Solve for the linear part of the encoder, and for predictors that are linear.

    `targets`, of shape (n, k, d), are those of the sample.
    """
    embedding = encoder.fit_linear(sample, targets.flatten(1))
    linear = [k for k, predictor in enumerate(predictors) if isinstance(predictor, nn.Linear)]
    if not linear:
        return
    weight, bias = ridge_regression(embedding, targets[:, linear].flatten(1), _PENALTY)
    weights, biases = (part.unflatten(-1, (len(linear), -1)).cpu() for part in (weight, bias))
    with torch.no_grad():
        for position, k in enumerate(linear):
            predictors[k].weight.copy_(weights[:, position].T)
            if predictors[k].bias is not None:
                predictors[k].bias.copy_(biases[position])
