"""BYOL (Grill et al. 2020): predict the output of a moving average of the network."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from aleator.estimators import FitContext, TrainingSpec, estimator, network_specs
from aleator.losses import cosine_distance
from aleator.methods.siamese import TwoViewLearner, forward_pair, spec_of
from aleator.training.method import INPUT, Method, ParameterGroup, Phase
from aleator.validation import check_number


def byol(
    online: nn.Sequential, predictor: nn.Module, view1: nn.Module, view2: nn.Module, momentum: float
) -> Method:
    """Train the online network and its predictor; the target follows as a moving average."""
    target = copy.deepcopy(online)
    forward_online = forward_pair(lambda x: predictor(online(x)), online, predictor)
    forward_target = forward_pair(target, target)

    def outputs(x: Tensor) -> tuple[Tensor, ...]:
        first, second = view1(x), view2(x)
        return *forward_online(first, second), *forward_target(first, second)

    def loss(first: Tensor, second: Tensor, target1: Tensor, target2: Tensor) -> Tensor:
        return cosine_distance(first, target2.detach()) + cosine_distance(second, target1.detach())

    def update_target() -> None:
        for average, parameter in zip(target.parameters(), online.parameters(), strict=True):
            average.lerp_(parameter, 1 - momentum)

    phase = Phase(
        "byol", [ParameterGroup("encoder", (online, predictor))], (online, predictor, target),
        (INPUT,), outputs, loss, after_step=update_target, row_wise=(online[0],),
    )  # fmt: skip
    networks = {"encoder": online[0], "online": online, "predictor": predictor, "target": target}
    return Method({**networks, "view 1": view1, "view 2": view2}, [phase], views=(view1, view2))


@estimator
class BYOL(TwoViewLearner):
    """BYOL: predict the output of a moving average of the network for another view.

    Grill et al., Bootstrap your own latent, 2020. `SimSiam` has no moving average.

    Parameters
    ----------
    momentum_target : float, default=?
        Share of the moving average that is kept at every step.
    {views}
    {projection head}
    {predictor}
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    {head attributes}
    {trained attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import BYOL
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> BYOL(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    momentum_target: float = 0.99
    projector_layers: int | None = None
    projector_hidden: int | None = None
    projector_dim: int | None = None
    projector_norm: str = "auto"
    predictor: Any = "mlp"
    predictor_layers: int = 2
    predictor_hidden: int = 256

    _networks: ClassVar[Mapping[str, network_specs.NetworkSpec]] = {
        "encoder": network_specs.EncoderSpec(),
        "projection_head": network_specs.ProjectionHeadSpec(unspecified_norm="hidden"),
        "predictor": network_specs.PredictorSpec(),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("momentum_target", self.momentum_target, 0, 1)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        online = nn.Sequential(networks["encoder"], nn.Flatten(), networks["projection_head"])
        views = self._views(context.modality, context.source)
        method = byol(online, networks["predictor"], *views, self.momentum_target)
        return spec_of(method, networks, attributes)
