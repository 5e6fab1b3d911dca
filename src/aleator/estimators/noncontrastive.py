"""SimSiam and STab, the estimators: one view predicts the other."""

from __future__ import annotations

from typing import Any, ClassVar

from aleator.estimators.base import Draft, Material, estimator
from aleator.estimators.siamese import PredictingLearner
from aleator.methods.simsiam import simsiam
from aleator.methods.stab import stab
from aleator.parameters import require_number
from aleator.views.choice import view_pair


@estimator
class NonContrastiveLearner(PredictingLearner):
    """A siamese learner without negatives.

    Its predictor has a learning rate of its own, which stays fixed. Its projector is normalised for
    tables too, of which the LFR paper says nothing: without that, these methods collapse
    (benchmarks/README.md).
    """

    norm_if_unsaid: ClassVar[str] = "hidden"

    predictor_learning_rate: float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        rate = self.predictor_learning_rate
        if rate is not None:
            require_number("predictor_learning_rate", rate, 0, low_allowed=False)


@estimator
class SimSiam(NonContrastiveLearner):
    """SimSiam: one view of a sample predicts the other, whose gradient is stopped.

    Chen and He, Exploring simple siamese representation learning, 2021.

    Parameters
    ----------
    {views}
    predictor_learning_rate : float or None
        Stays fixed whatever the schedule; None: as `learning_rate`.
    {heads}
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    projector_, predictor_ : the trained heads, on the CPU.
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> SimSiam(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    views: Any = "auto"
    view_options: dict[str, Any] | None = None

    def _draft(self, material: Material) -> Draft:
        networks = self._drawn(material)
        first, second = view_pair(self.views, material.modality, material.data, self.view_options)
        method = simsiam(**networks, first_view=first, second_view=second)
        return self._drafted(material, networks, method)


@estimator
class STab(NonContrastiveLearner):
    """STab: SimSiam without augmentation, between two thinnings of the encoder (DropConnect).

    Hajiramezanali et al., STab: Self-supervised learning for tabular data, 2022. Made for tables;
    it runs on anything.

    Parameters
    ----------
    drop_rate : float
        Share of the encoder's weights that are missing in a pass (the LFR paper: 0.1 for Income,
        0.8 for Theorem).
    predictor_learning_rate : float or None
        Stays fixed whatever the schedule; None: as `learning_rate`.
    {heads}
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    projector_, predictor_ : the trained heads, on the CPU.
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> STab(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    drop_rate: float = 0.1

    norm_if_unsaid: ClassVar[str] = "end"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("drop_rate", self.drop_rate, 0, 1)

    def _draft(self, material: Material) -> Draft:
        networks = self._drawn(material)
        return self._drafted(material, networks, stab(**networks, drop_rate=self.drop_rate))
