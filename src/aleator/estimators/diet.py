"""DIET, the estimator."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from aleator.estimators.base import CPU, Draft, Material, estimator
from aleator.estimators.viewed import ViewedLearner
from aleator.methods.diet import INDEX, diet
from aleator.parameters import require_number
from aleator.training.devices import seeded


@estimator
class DIET(ViewedLearner):
    """DIET: learns to tell every sample from all others, with one class a sample.

    Balestriero, Unsupervised learning on a DIET: datum index as target, 2023. The classifying layer
    has as many weights as the embedding of all the data has numbers; `plan_` says what it takes,
    and data for which it cannot fit are refused before training.

    Parameters
    ----------
    label_smoothing : float
        Share of a sample's label that is spread over all others.
    {view}
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> DIET(epochs=2, embedding_dim=8, random_state=0).fit_transform(X).shape
    (50, 8)
    """

    label_smoothing: float = 0.8
    views: Any = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("label_smoothing", self.label_smoothing, 0, 1)

    def _draft(self, material: Material) -> Draft:
        encoder, width = self._drawn_encoder(material)
        rows = len(material.data)
        view = self._view(material)
        index_layer = nn.Linear(width, rows, bias=False, device="meta")

        def furnish() -> None:
            index_layer.to_empty(device=CPU)
            with seeded(material.seeds.heads, CPU):
                index_layer.reset_parameters()

        def learnt() -> dict[str, Any]:
            return {"encoder_": encoder, "embedding_dim_": width}

        method = diet(encoder, index_layer, view, label_smoothing=self.label_smoothing)
        return Draft(method, learnt, {INDEX: torch.arange(rows)}, furnish)
