"""Random features drawn from the data: what LFR has to beat or to compress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from aleator.estimators import FitContext, RepresentationLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import NetworkSpec, RandomFeaturesSpec
from aleator.modalities.spec import RANDOM_FEATURES
from aleator.training.method import Method


@estimator
class RandomFeatures(RepresentationLearner):
    """Random features drawn from the data, standardized; nothing is trained.

    The features are those that `LFR` predicts by default: convolutions and subsequences for series,
    patches for images, trees for tables, similarity to documents and counts of vocabularies for
    texts, random networks and walks for graphs; those of series for audio.

    Parameters
    ----------
    n_features : int, default=?
        Number of features.
    n_components : int or None, default=?
        Number of principal components to which the features are reduced by a randomized SVD of a
        sample of the training data; None keeps the features.
    projector : str, callable, or sequence of them, default=?
        Kinds of features, each of which gets the same number: as for `LFR`.
    {data}

    Attributes
    ----------
    encoder_ : torch.nn.Module
        The features, on the CPU.
    {untrained attributes}

    See Also
    --------
    LFR : Trains an encoder to predict such features.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import RandomFeatures
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> RandomFeatures(n_features=512, random_state=0).fit_transform(X).shape
    (50, 512)
    """

    n_features: int = 4096
    n_components: int | None = None
    projector: Any = RANDOM_FEATURES

    _networks: ClassVar[Mapping[str, NetworkSpec]] = {"encoder": RandomFeaturesSpec()}

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        return TrainingSpec(
            Method(networks, phases=[]),
            lambda: {"encoder_": networks["encoder"], **attributes},
        )
