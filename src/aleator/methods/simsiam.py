"""SimSiam (Chen and He 2021): one view predicts the other; no negatives, a stopped gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from aleator.estimators import FitContext, TrainingSpec, estimator
from aleator.estimators.network_specs import (
    EncoderSpec,
    NetworkSpec,
    PredictorSpec,
    ProjectionHeadSpec,
)
from aleator.methods.siamese import (
    TwoViewLearner,
    forward_pair,
    siamese_phase,
    spec_of,
)
from aleator.networks.shapes import flatten_output
from aleator.training.method import Method
from aleator.validation import check_optional_number


def simsiam(
    encoder: nn.Module,
    projection_head: nn.Module,
    predictor: nn.Module,
    first_view: nn.Module,
    second_view: nn.Module,
    *,
    predictor_lr: float | None = None,
) -> Method:
    """Train encoder and projection head, and a predictor with a constant learning rate."""

    def represent(x: Tensor) -> Tensor:
        return projection_head(flatten_output(encoder(x)))

    represent_pair = forward_pair(represent, encoder, projection_head)
    predict_pair = forward_pair(predictor, predictor)

    def outputs(x: Tensor) -> tuple[Tensor, ...]:
        views = represent_pair(first_view(x), second_view(x))
        return *predict_pair(*views), *views

    phase = siamese_phase(encoder, projection_head, predictor, outputs, predictor_lr, (encoder,))
    networks = {"encoder": encoder, "projection_head": projection_head, "predictor": predictor}
    modules = {**networks, "view 1": first_view, "view 2": second_view}
    return Method(modules, [phase], views=(first_view, second_view))


@estimator
class SimSiam(TwoViewLearner):
    """SimSiam: one view of a sample predicts the other, whose gradient is stopped.

    Chen and He, Exploring simple siamese representation learning, 2021.

    Parameters
    ----------
    {views}
    {projection head}
    {predictor}
    {predictor lr}
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    {head attributes}
    {trained attributes}

    See Also
    --------
    BYOL : Predicts the output of a moving average of the encoder.
    SimCLR : Contrasts with negative samples.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import SimSiam
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> SimSiam(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    projector_layers: int | None = None
    projector_hidden: int | None = None
    projector_dim: int | None = None
    projector_norm: str = "auto"
    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256
    predictor_learning_rate: float | None = None

    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        # Normalized for tables too, of which the LFR paper says nothing: without it, the embedding
        # collapses (benchmarks/README.md).
        "projection_head": ProjectionHeadSpec(unspecified_norm="hidden"),
        "predictor": PredictorSpec(),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        lr = self.predictor_learning_rate
        check_optional_number("predictor_learning_rate", lr, 0, include_low=False)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        first, second = self._views(context.modality, context.source)
        method = simsiam(
            **networks,
            first_view=first,
            second_view=second,
            predictor_lr=self.predictor_learning_rate,
        )
        return spec_of(method, networks, attributes)
