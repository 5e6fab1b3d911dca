"""STab (Hajiramezanali et al. 2022): the two views are one row under two draws of DropConnect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from aleator.estimators import FitContext, TrainedLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import (
    EncoderSpec,
    NetworkSpec,
    PredictorSpec,
    ProjectionHeadSpec,
)
from aleator.methods.siamese import (
    forward_pair,
    siamese_phase,
    spec_of,
)
from aleator.networks.dropconnect import DropConnect
from aleator.networks.shapes import flatten_output
from aleator.training.devices import seeded
from aleator.training.method import Method
from aleator.validation import check_choice, check_number, check_optional_number


def stab(
    encoder: nn.Module,
    projection_head: nn.Module,
    predictor: nn.Module,
    *,
    drop_rate: float,
    predictor_lr: float | None = None,
) -> Method:
    """Train as SimSiam does; each of the two passes draws its own mask over the weights.

    Weights of the encoder that do not require a gradient are thinned, but not trained.
    """
    thinned = DropConnect(encoder, drop_rate)
    project_pair = forward_pair(projection_head, projection_head)
    predict_pair = forward_pair(predictor, predictor)

    def outputs(x: Tensor) -> tuple[Tensor, ...]:
        views = project_pair(flatten_output(thinned(x)), flatten_output(thinned(x)))
        return *predict_pair(*views), *views

    phase = siamese_phase(encoder, projection_head, predictor, outputs, predictor_lr)
    networks = {"encoder": encoder, "projection_head": projection_head, "predictor": predictor}
    return Method(networks, [phase])


@estimator
class STab(TrainedLearner):
    """STab: SimSiam without augmentation, between two draws of DropConnect.

    Hajiramezanali et al., STab: Self-supervised learning for tabular data, 2022. Made for tables;
    it runs on any kind of data.

    Parameters
    ----------
    drop_rate : float, default=?
        Share of the encoder's weights that are dropped in a pass (the LFR paper: 0.1 for Income,
        0.8 for Theorem).
    {projection head}
    {predictor}
    {predictor lr}
    trains : {"encoder", "heads"}, default=?
        "heads" trains the predictor and the biases of the encoder only, without a projection head,
        and ends with a last draw of thinned weights, as the program of the LFR paper does.
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    {head attributes}
    {trained attributes}

    See Also
    --------
    SimSiam : Compares augmented views.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import STab
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> STab(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    drop_rate: float = 0.1
    projector_layers: int | None = None
    projector_hidden: int | None = None
    projector_dim: int | None = None
    projector_norm: str = "auto"
    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256
    predictor_learning_rate: float | None = None
    trains: str = "encoder"

    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        "projection_head": ProjectionHeadSpec(unspecified_norm="end"),
        "predictor": PredictorSpec(),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("drop_rate", self.drop_rate, 0, 1)
        check_choice("trains", self.trains, ("encoder", "heads"))
        lr = self.predictor_learning_rate
        check_optional_number("predictor_learning_rate", lr, 0, include_low=False)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        method_of = partial(
            stab, drop_rate=self.drop_rate, predictor_lr=self.predictor_learning_rate
        )
        if self.trains == "encoder":
            return spec_of(method_of(**networks), networks, attributes)
        encoder = networks["encoder"]
        thinned = DropConnect(encoder, self.drop_rate)
        thinned.freeze_weights()
        method = method_of(encoder, nn.Identity(), networks["predictor"])
        spec = spec_of(method, networks, attributes)

        def fitted_attributes() -> dict[str, Any]:
            with seeded(context.seeds.noise):
                thinned.keep_one_draw()
            return spec.fitted_attributes()

        return replace(spec, fitted_attributes=fitted_attributes)
