"""Where LFR's training starts: from the exact solution of its linear part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from aleator.estimators import FitContext
from aleator.networks.shapes import flatten_output
from aleator.projectors.closed_form import ridge_regression
from aleator.projectors.feature_encoder import FeatureEncoder
from aleator.projectors.target_scaling import TargetScaling
from aleator.training.devices import seeded

_PENALTY = 1e-3
_ROWS_PER_PIECE = 256


def fit_on_sample(
    context: FitContext,
    encoder: nn.Module,
    projectors: Sequence[nn.Module],
    predictors: Sequence[nn.Module],
    target_scaling: str | None,
) -> TargetScaling | None:
    """Fit the scaling of targets and, if the encoder has a linear part, start at its solution.

    Parameters
    ----------
    context : FitContext
        Training data, device and seeds.
    encoder : torch.nn.Module
        The encoder, changed in place if it is a `FeatureEncoder`.
    projectors : sequence of torch.nn.Module
        The projectors.
    predictors : sequence of torch.nn.Module
        The predictors that may be solved for, one per projector, or none.
    target_scaling : str or None
        One of `TARGET_SCALINGS`; None does not scale.

    Returns
    -------
    TargetScaling or None
        The scaling, on the CPU.
    """
    solvable = isinstance(encoder, FeatureEncoder)
    if target_scaling is None and not solvable:
        return None
    sample = context.sample(on_device=True)
    outputs: Iterable[Tensor] = _outputs_on_sample(projectors, sample)
    if solvable:
        outputs = list(outputs)
    scaling = None if target_scaling is None else TargetScaling.fit(outputs, target_scaling)
    if isinstance(encoder, FeatureEncoder):
        targets = torch.stack(list(outputs), 1)
        targets = targets if scaling is None else scaling(targets)
        with seeded(context.seeds.encoder):
            _start_at_solution(encoder, predictors, sample, targets)
    return None if scaling is None else scaling.cpu()


def _outputs_on_sample(projectors: Sequence[nn.Module], sample: Tensor) -> Iterator[Tensor]:
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


def _start_at_solution(
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
