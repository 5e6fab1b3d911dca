"""SCARF (Bahri et al. 2022): a row of a table against itself with most cells replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import nn

from aleator.estimators import FitContext, TrainedLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import (
    EncoderSpec,
    NetworkSpec,
    PredictorSpec,
    ProjectionHeadSpec,
)
from aleator.inputs import Source
from aleator.methods.siamese import spec_of
from aleator.methods.simclr import simclr
from aleator.modalities import Modality
from aleator.modalities.spec import ViewPair
from aleator.modalities.table import corruption_of
from aleator.validation import check_number


@estimator
class SCARF(TrainedLearner):
    """SCARF, for tables: a row should be closer to its corruption than to other rows.

    Bahri et al., SCARF: Self-supervised contrastive learning using random feature corruption, 2022.

    Parameters
    ----------
    corruption : float, default=?
        Share of the cells of a row that are replaced by values of other rows of the training data,
        each drawn from its own column.
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
    SimCLR : The same loss between other views.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import SCARF
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> SCARF(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    corruption: float = 0.6
    temperature: float = 0.07
    projector_layers: int | None = None
    projector_hidden: int | None = None
    projector_dim: int | None = None
    projector_norm: str = "auto"
    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256

    _supported_modalities: ClassVar[Sequence[str] | None] = ("table",)
    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        "projection_head": ProjectionHeadSpec(),
        "predictor": PredictorSpec(),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("corruption", self.corruption, 0, 1, include_low=False)
        check_number("temperature", self.temperature, 0, include_low=False)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        head = nn.Sequential(networks["projection_head"], networks["predictor"])
        views = self._views(context.modality, context.source)
        method = simclr(networks["encoder"], head, *views, temperature=self.temperature)
        return spec_of(method, networks, attributes)

    def _views(self, modality: Modality, source: Source) -> ViewPair:
        return nn.Identity(), corruption_of(source, self.corruption)
