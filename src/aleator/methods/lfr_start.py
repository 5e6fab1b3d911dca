"""Where LFR's training starts: from the exact solution of its linear part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from aleator.estimators import FitContext
from aleator.networks.shapes import flatten_output
from aleator.projectors import Candidates
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
    extra: Candidates,
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
    extra : Candidates
        Further projectors, for which the linear part is solved too. They are drawn and dropped one
        at a time.
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
    outputs: Iterable[Tensor] = (
        _output_on_sample(projector, sample, f"projector {k}")
        for k, projector in enumerate(projectors)
    )
    if solvable:
        outputs = list(outputs)
    scaling = None if target_scaling is None else TargetScaling.fit(outputs, target_scaling)
    if isinstance(encoder, FeatureEncoder):
        gram = sample.new_zeros(len(sample), len(sample))
        for output in outputs:
            _add_inner_products(gram, output, target_scaling)
        for k in range(len(extra)):
            output = _output_on_sample(extra[k], sample, f"extra projector {k}")
            _add_inner_products(gram, output, target_scaling)
        with seeded(context.seeds.encoder):
            embedding = encoder.fit_linear(sample, gram)
        targets = torch.stack(list(outputs), 1)
        targets = targets if scaling is None else scaling(targets)
        _solve_for_predictors(predictors, embedding, targets)
    return None if scaling is None else scaling.cpu()


def _output_on_sample(projector: nn.Module, sample: Tensor, name: str) -> Tensor:
    """Compute the output of a projector on the sample's device."""
    on_device = projector.to(sample.device)
    with torch.no_grad():
        pieces = [flatten_output(on_device(x)) for x in sample.split(_ROWS_PER_PIECE)]
    projector.to("cpu")
    output = torch.cat(pieces).float()
    if not torch.isfinite(output).all():
        raise ValueError(f"the output of {name} is NaN or infinite on these data")
    return output


@torch.no_grad()
def _add_inner_products(gram: Tensor, output: Tensor, target_scaling: str | None) -> None:
    """Add the inner products of the targets that a projector's output gives."""
    if target_scaling is None:
        target = output - output.mean(0)
    else:
        target = TargetScaling.fit([output], target_scaling)(output[:, None])[:, 0]
    gram.addmm_(target, target.T)


def _solve_for_predictors(
    predictors: Sequence[nn.Module], embedding: Tensor, targets: Tensor
) -> None:
    """Set predictors to the ridge regression of targets, of shape (n, k, d), if all are linear."""
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
