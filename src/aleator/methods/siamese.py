"""What methods that compare two views of a batch share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from aleator.estimators import TrainedLearner, TrainingSpec, estimator
from aleator.inputs import Source
from aleator.losses import cosine_distance
from aleator.modalities import Modality
from aleator.modalities.choices import make_view_pair
from aleator.modalities.spec import ViewPair
from aleator.training.head_bank import uses_batch_norm
from aleator.training.method import INPUT, Method, ParameterGroup, Phase

Network = Callable[[Tensor], Tensor]
PairNetwork = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


@estimator
class TwoViewLearner(TrainedLearner):
    """Base class of the methods that compare two views chosen by the user.

    Parameters
    ----------
    {views}
    {encoder}
    {training}
    {data}
    """

    views: Any = "auto"
    view_options: dict[str, Any] | None = None

    def _views(self, modality: Modality, source: Source) -> ViewPair:
        return make_view_pair(modality, self.views, source, self.view_options)


def forward_pair(function: Network, *networks: nn.Module) -> PairNetwork:
    """Make a function that applies `function`, which runs `networks`, to two views.

    Both views are one batch, for half as many kernels and the same work; but if a network
    normalizes batches they are two, so that each view is normalized by itself, as in the methods'
    original papers.

    Examples
    --------
    >>> first, second = forward_pair(torch.relu)(torch.zeros(2, 1), torch.ones(2, 1))
    >>> second.tolist()
    [[1.0], [1.0]]
    """
    separate = any(uses_batch_norm(network) for network in networks)

    def run(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        if separate:
            return function(first), function(second)
        both = function(torch.cat([first, second]))
        return both[: len(first)], both[len(first) :]

    return run


def siamese_phase(
    encoder: nn.Module,
    projection_head: nn.Module,
    predictor: nn.Module,
    outputs: Callable[[Tensor], Sequence[Tensor]],
    predictor_lr: float | None,
    row_wise: Sequence[nn.Module] = (),
) -> Phase:
    """SimSiam's phase: the learning rate of the predictor is not moved by the schedule.

    `outputs` returns what `symmetric_prediction_loss` compares.
    """
    return Phase(
        "siamese",
        [
            ParameterGroup("encoder", (encoder, projection_head)),
            ParameterGroup("predictor", (predictor,), lr=predictor_lr, schedule="constant"),
        ],
        (encoder, projection_head, predictor),
        (INPUT,),
        outputs,
        symmetric_prediction_loss,
        row_wise=row_wise,
    )


def symmetric_prediction_loss(
    prediction1: Tensor, prediction2: Tensor, first: Tensor, second: Tensor
) -> Tensor:
    """SimSiam's loss: the prediction from each view against the other view, which is held fixed.

    One minus the cosine, so that a perfect match is zero; the gradient is that of the paper. Chen
    and He, Exploring simple siamese representation learning (2021).
    """
    to_second = cosine_distance(prediction1, second.detach())
    to_first = cosine_distance(prediction2, first.detach())
    return (to_second + to_first) / 2


def spec_of(
    method: Method, networks: Mapping[str, nn.Module], attributes: Mapping[str, Any]
) -> TrainingSpec:
    """Training spec of a method whose fitted attributes are its networks."""
    kept = {f"{name}_": network for name, network in networks.items()}
    return TrainingSpec(method, lambda: {**kept, **attributes})
