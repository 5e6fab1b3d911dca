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
    """Solve for the linear part of the encoder, and for the predictors if they are linear layers.

    `targets`, of shape (n, k, d), are those of the sample. There are k predictors or none.
    """
    embedding = encoder.fit_linear(sample, targets.flatten(1))
    linear = [predictor for predictor in predictors if isinstance(predictor, nn.Linear)]
    if not linear or len(linear) < len(predictors):
        return
    weight, bias = ridge_regression(embedding, targets.flatten(1), _PENALTY)
    weights, biases = (part.unflatten(-1, targets.shape[1:]).cpu() for part in (weight, bias))
    with torch.no_grad():
        for k, predictor in enumerate(linear):
            predictor.weight.copy_(weights[:, k].T)
            if isinstance(predictor.bias, Tensor):
                predictor.bias.copy_(biases[k])
