"""Supervised training: the encoder and a linear layer on top, with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.estimators import (
    ClassifierLearner,
    FitContext,
    TrainedLearner,
    TrainingSpec,
    estimator,
)
from aleator.estimators.network_specs import ClassifierSpec, EncoderSpec, NetworkSpec
from aleator.methods.siamese import spec_of
from aleator.modalities.choices import SINGLE_VIEWS, make_single_view
from aleator.networks.shapes import flatten_output
from aleator.training.method import INPUT, Method, ParameterGroup, Phase
from aleator.validation import check_choice

LABELS = "labels"


def supervised(encoder: nn.Module, classifier: nn.Module, view: nn.Module) -> Method:
    """Train encoder and classifier on the cross-entropy of the labels."""

    def outputs(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return classifier(flatten_output(encoder(view(x)))), labels

    networks = (encoder, classifier)
    group = ParameterGroup("encoder", networks)
    phase = Phase(
        "labels", [group], networks, (INPUT, LABELS), outputs, F.cross_entropy, row_wise=(encoder,)
    )
    modules = {"encoder": encoder, "classifier": classifier, "view": view}
    return Method(modules, [phase], views=(view,))


@estimator
class Supervised(ClassifierLearner, TrainedLearner):
    """Supervised training of the encoder and a linear layer, as a reference.

    A classifier (`predict`, `predict_proba`) whose `transform` returns the output of the encoder,
    one layer before the classes.

    Parameters
    ----------
    {single view}
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    classifier_ : torch.nn.Module
        The trained linear layer, on the CPU.
    {trained attributes}

    See Also
    --------
    LogReg : Logistic regression on raw values.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import Supervised
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y = np.where(X[:, 0] > 0, "high", "low")
    >>> model = Supervised(epochs=20, learning_rate=0.01, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9, model.transform(X).shape
    (True, (60, 256))
    """

    views: Any = None
    view_options: dict[str, Any] | None = None

    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        "classifier": ClassifierSpec(),
    }
    _saved_attributes: ClassVar[Sequence[str]] = ("embedding_dim_", "classes_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.views, str):
            check_choice("views", self.views, SINGLE_VIEWS, ", None or a function of a batch")

    def _prepare(self, context: FitContext) -> TrainingSpec:
        classes, codes = self._encode_labels(context.y, len(context.source))
        networks, attributes = self._build_networks(context, classes_=classes)
        view = make_single_view(context.modality, self.views, context.source, self.view_options)
        spec = spec_of(supervised(**networks, view=view), networks, attributes)
        return TrainingSpec(spec.method, spec.fitted_attributes, {LABELS: torch.from_numpy(codes)})
