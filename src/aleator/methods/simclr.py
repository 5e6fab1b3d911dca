"""SimCLR (Chen et al. 2020): two views of a sample are closer than views of two samples."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from aleator.estimators import FitContext, TrainingSpec, estimator
from aleator.estimators.network_specs import (
    EncoderSpec,
    NetworkSpec,
    PredictorSpec,
    ProjectionHeadSpec,
)
from aleator.losses import nt_xent
from aleator.methods.siamese import TwoViewLearner, forward_pair, spec_of
from aleator.networks.shapes import flatten_output
from aleator.training.method import INPUT, Method, ParameterGroup, Phase
from aleator.validation import check_number


def simclr(
    encoder: nn.Module,
    head: nn.Module,
    first_view: nn.Module,
    second_view: nn.Module,
    *,
    temperature: float,
) -> Method:
    """Train encoder and head with NT-Xent between their outputs for two views."""

    def represent(x: Tensor) -> Tensor:
        return head(flatten_output(encoder(x)))

    represent_pair = forward_pair(represent, encoder, head)

    def outputs(x: Tensor) -> tuple[Tensor, Tensor]:
        return represent_pair(first_view(x), second_view(x))

    networks = (encoder, head)
    phase = Phase(
        "contrast", [ParameterGroup("encoder", networks)], networks, (INPUT,), outputs,
        partial(nt_xent, temperature=temperature), couples_rows=True, row_wise=(encoder,),
    )  # fmt: skip
    modules = {"encoder": encoder, "head": head, "view 1": first_view, "view 2": second_view}
    return Method(modules, [phase], views=(first_view, second_view))


@estimator
class SimCLR(TwoViewLearner):
    """SimCLR: two views of a sample should be closer than views of two samples.

    Chen et al., A simple framework for contrastive learning of visual representations, 2020. As in
    the LFR paper, the loss is computed after the projection head and the predictor.

    Parameters
    ----------
    {views}
    temperature : float, default=?
        Temperature of the softmax over cosines.
    {projection head}
    {predictor}
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    {head attributes}
    {trained attributes}

    See Also
    --------
    SimSiam : Needs no negative samples.
    LFR : Needs no views.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import SimCLR
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> SimCLR(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    temperature: float = 0.07
    projector_layers: int | None = None
    projector_hidden: int | None = None
    projector_dim: int | None = None
    projector_norm: str = "auto"
    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256

    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        "projection_head": ProjectionHeadSpec(),
        "predictor": PredictorSpec(),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("temperature", self.temperature, 0, include_low=False)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        head = nn.Sequential(networks["projection_head"], networks["predictor"])
        views = self._views(context.modality, context.source)
        method = simclr(networks["encoder"], head, *views, temperature=self.temperature)
        return spec_of(method, networks, attributes)
