"""RandomEncoder: the ablation that every table needs."""

from __future__ import annotations

import torch

from aleator.estimators.base import Draft, EncoderLearner, Material, Training, estimator
from aleator.training.method import Method


@estimator
class RandomEncoder(EncoderLearner):
    """An encoder with random weights, as it comes: what any training has to beat.

    Parameters
    ----------
    {encoding}
    {data}

    Attributes
    ----------
    encoder_ : the random network, on the CPU.
    history_, plan_ : empty, and None: nothing was trained.
    embedding_dim_, n_features_in_, feature_names_in_ : as their names say.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> RandomEncoder(embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    def _draft(self, material: Material) -> Draft:
        encoder, width = self._drawn_encoder(material)
        return Draft(
            Method({"encoder": encoder}, phases=[]),
            lambda: {"encoder_": encoder, "embedding_dim_": width},
        )

    def _train(self, draft: Draft, material: Material, device: torch.device) -> Training:
        return Training()
