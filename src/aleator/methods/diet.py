"""DIET (Balestriero 2023): distinguish every sample from all others, by its index."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.estimators import FitContext, TrainedLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import EncoderSpec, NetworkSpec
from aleator.modalities.choices import SINGLE_VIEWS, make_single_view
from aleator.networks.shapes import flatten_output
from aleator.training.devices import seeded
from aleator.training.method import INPUT, LargeLayer, Method, ParameterGroup, Phase
from aleator.validation import check_choice, check_number

INDEX = "index"


def diet(
    encoder: nn.Module, index_layer: nn.Linear, view: nn.Module, *, label_smoothing: float
) -> Method:
    """Train encoder and a linear layer with one class per sample on smoothed cross-entropy.

    The layer is as large as the embedding of all the data, so that the plan must know of it.
    """

    def outputs(x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        return index_layer(flatten_output(encoder(view(x)))), index

    criterion = partial(F.cross_entropy, label_smoothing=label_smoothing)
    networks = (encoder, index_layer)
    group = ParameterGroup("encoder", networks)
    phase = Phase(
        "index", [group], networks, (INPUT, INDEX), outputs, criterion, row_wise=(encoder,)
    )
    modules = {"encoder": encoder, "index layer": index_layer, "view": view}
    n_parameters = sum(parameter.numel() for parameter in index_layer.parameters())
    layer = LargeLayer("index layer", n_parameters, index_layer.out_features)
    return Method(modules, [phase], large_layers=[layer], views=(view,))


@estimator
class DIET(TrainedLearner):
    """DIET: learns to distinguish every sample from all others, with one class per sample.

    Balestriero, Unsupervised learning on a DIET: datum index as target, 2023. The classification
    layer has as many weights as the embedding of all the data has values, and a bias per sample;
    `plan_` shows its size, and data for which it does not fit in memory are refused before
    training.

    Parameters
    ----------
    label_smoothing : float, default=?
        Share of the label of a sample that is spread over all others.
    {single view}
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    {trained attributes}

    See Also
    --------
    SimCLR : Distinguishes samples of a batch.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import DIET
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> DIET(epochs=2, embedding_dim=8, random_state=0).fit_transform(X).shape
    (50, 8)
    """

    label_smoothing: float = 0.8
    views: Any = "auto"
    view_options: dict[str, Any] | None = None

    _networks: ClassVar[Mapping[str, NetworkSpec]] = {"encoder": EncoderSpec()}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("label_smoothing", self.label_smoothing, 0, 1)
        if isinstance(self.views, str):
            check_choice("views", self.views, SINGLE_VIEWS, ", None or a function of a batch")

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        n_samples = len(context.source)
        view = make_single_view(context.modality, self.views, context.source, self.view_options)
        index_layer = nn.Linear(attributes["embedding_dim_"], n_samples, device="meta")

        def materialize() -> None:
            index_layer.to_empty(device="cpu")
            with seeded(context.seeds.heads):
                index_layer.reset_parameters()

        method = diet(networks["encoder"], index_layer, view, label_smoothing=self.label_smoothing)
        return TrainingSpec(
            method,
            lambda: {"encoder_": networks["encoder"], **attributes},
            {INDEX: torch.arange(n_samples)},
            materialize,
        )
