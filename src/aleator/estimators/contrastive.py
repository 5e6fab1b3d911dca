"""SimCLR, SCARF and DACL, the estimators: NT-Xent between two views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor, nn

from aleator.estimators.base import Draft, Material, estimator
from aleator.estimators.siamese import PredictingLearner, SiameseLearner
from aleator.methods.dacl import dacl
from aleator.methods.scarf import scarf
from aleator.methods.simclr import simclr
from aleator.parameters import require_number, require_one_of
from aleator.views import Corrupted, Mixed
from aleator.views.choice import view_pair
from aleator.views.mixing import KINDS


@estimator
class SimCLR(PredictingLearner):
    """SimCLR: two views of a sample should be closer than views of two samples.

    Chen et al., A simple framework for contrastive learning of visual representations, 2020. As in
    the LFR paper the loss is taken after the projector and the predictor.

    Parameters
    ----------
    {views}
    temperature : float
        Of the softmax over cosines.
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
    >>> SimCLR(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    views: Any = "auto"
    view_options: dict[str, Any] | None = None
    temperature: float = 0.07

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("temperature", self.temperature, 0, low_allowed=False)

    def _draft(self, material: Material) -> Draft:
        networks = self._drawn(material)
        first, second = view_pair(self.views, material.modality, material.data, self.view_options)
        head = nn.Sequential(networks["projector"], networks["predictor"])
        method = simclr(networks["encoder"], head, first, second, temperature=self.temperature)
        return self._drafted(material, networks, method)


@estimator
class SCARF(PredictingLearner):
    """SCARF, for tables: a row should be closer to itself with most cells replaced than to others.

    Bahri et al., SCARF: Self-supervised contrastive learning using random feature corruption, 2022.

    Parameters
    ----------
    corruption : float
        Share of a row's cells that take the value of another row of the training data, drawn for
        each cell from its own column.
    temperature : float
        Of the softmax over cosines.
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
    >>> SCARF(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    corruption: float = 0.6
    temperature: float = 0.07

    modalities: ClassVar[Sequence[str]] = ("table",)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("corruption", self.corruption, 0, 1, low_allowed=False)
        require_number("temperature", self.temperature, 0, low_allowed=False)

    def _draft(self, material: Material) -> Draft:
        networks = self._drawn(material)
        head = nn.Sequential(networks["projector"], networks["predictor"])
        view = Corrupted(material.data, self.corruption)
        method = scarf(networks["encoder"], head, view, temperature=self.temperature)
        return self._drafted(material, networks, method)


@estimator
class DACL(SiameseLearner):
    """DACL: two mixtures of a sample with others should be closer than mixtures of two samples.

    Verma et al., Towards domain-agnostic contrastive learning, 2021.

    Parameters
    ----------
    mixing : {"auto", "linear", "geometric", "binary"} or a sequence of names
        How a sample is mixed with another of the batch: averaged, averaged in the logarithm (all
        values must be positive), or value by value from one or the other. With several, each sample
        draws one. "auto" takes all that the data allow.
    least_share : float
        A sample keeps a share of itself drawn between this and one.
    temperature : float
        Of the softmax over cosines.
    {projector}
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    projector_ : the trained head, on the CPU.
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> DACL(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    mixing: str | Sequence[str] = "linear"
    least_share: float = 0.5
    temperature: float = 0.1

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("least_share", self.least_share, 0, 1)
        require_number("temperature", self.temperature, 0, low_allowed=False)
        if isinstance(self.mixing, str):
            require_one_of("mixing", self.mixing, ("auto", *KINDS))
        else:
            for kind in self.mixing:
                require_one_of("mixing", kind, KINDS)
            if len(self.mixing) == 0:
                raise ValueError("mixing must name at least one kind")

    def _kinds(self, data: Tensor) -> Sequence[str]:
        positive = bool((data > 0).all())
        if self.mixing == "auto":
            return KINDS if positive else [kind for kind in KINDS if kind != "geometric"]
        kinds = [self.mixing] if isinstance(self.mixing, str) else list(self.mixing)
        if "geometric" in kinds and not positive:
            raise ValueError(
                f"geometric mixing needs positive values, but the smallest is {data.min():g} "
                "(after preprocessing): take another mixing, or preprocessing=None"
            )
        return kinds

    def _draft(self, material: Material) -> Draft:
        networks = self._drawn(material)
        mixed = Mixed(self._kinds(material.data), self.least_share)
        encoder, head = networks["encoder"], networks["projector"]
        method = dacl(encoder, head, mixed, temperature=self.temperature)
        return self._drafted(material, networks, method)
