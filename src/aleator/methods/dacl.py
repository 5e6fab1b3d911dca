"""DACL (Verma et al. 2021): contrastive learning whose only view is mixup with other samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from aleator.estimators import FitContext, TrainedLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import EncoderSpec, NetworkSpec, ProjectionHeadSpec
from aleator.inputs import Source
from aleator.methods.siamese import spec_of
from aleator.methods.simclr import simclr
from aleator.modalities import Modality
from aleator.modalities.spec import ViewPair
from aleator.validation import check_choice, check_number
from aleator.views import Mixup
from aleator.views.mixup import MIXINGS


@estimator
class DACL(TrainedLearner):
    """DACL: two mixtures of a sample should be closer than mixtures of two samples.

    Verma et al., Towards domain-agnostic contrastive learning, 2021.

    Parameters
    ----------
    mixing : {"auto", "linear", "geometric", "binary"} or sequence of names, default=?
        How a sample is mixed with another of the batch: averaged, averaged in the logarithm (all
        values must be positive), or value by value from one or the other. If there are several,
        each sample draws one. "auto" is all that the data allow.
    least_share : float, default=?
        Smallest share of a sample in its mixture, which is drawn between this and one.
    temperature : float, default=?
        Temperature of the softmax over cosines.
    {projection head}
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    projection_head_ : torch.nn.Module
        The trained projection head, on the CPU.
    {trained attributes}

    See Also
    --------
    SimCLR : The same loss between other views.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import DACL
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> DACL(epochs=1, embedding_dim=16, random_state=0).fit_transform(X).shape
    (50, 16)
    """

    mixing: str | Sequence[str] = "linear"
    least_share: float = 0.5
    temperature: float = 0.1
    projector_layers: int | None = None
    projector_hidden: int | None = None
    projector_dim: int | None = None
    projector_norm: str = "auto"

    _reads_numbers: ClassVar[bool] = True
    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        "projection_head": ProjectionHeadSpec(),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("least_share", self.least_share, 0, 1)
        check_number("temperature", self.temperature, 0, include_low=False)
        if isinstance(self.mixing, str):
            check_choice("mixing", self.mixing, ("auto", *MIXINGS))
        else:
            for mixing in self.mixing:
                check_choice("mixing", mixing, MIXINGS)
            if len(self.mixing) == 0:
                raise ValueError("mixing must contain at least one name")

    def _prepare(self, context: FitContext) -> TrainingSpec:
        networks, attributes = self._build_networks(context)
        views = self._views(context.modality, context.source)
        head = networks["projection_head"]
        method = simclr(networks["encoder"], head, *views, temperature=self.temperature)
        return spec_of(method, networks, attributes)

    def _views(self, modality: Modality, source: Source) -> ViewPair:
        mixup = Mixup(self._mixings(source), self.least_share)
        return mixup, mixup

    def _mixings(self, source: Source) -> Sequence[str]:
        mixings = [self.mixing] if isinstance(self.mixing, str) else list(self.mixing)
        if not {"auto", "geometric"} & set(mixings):
            return mixings
        smallest = min(float(chunk.min()) for chunk in source.chunks())
        if self.mixing == "auto":
            return MIXINGS if smallest > 0 else [m for m in MIXINGS if m != "geometric"]
        if smallest <= 0:
            raise ValueError(
                f"geometric mixing needs positive values, but the smallest is {smallest:g} "
                "(after preprocessing): choose another mixing, or preprocessing=None"
            )
        return mixings
