"""The supervised rows of every table: Supervised and LogReg, classifiers that also transform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted
from torch import Tensor, nn

from aleator.estimators.base import (
    CPU,
    Draft,
    Material,
    RepresentationLearner,
    Training,
    estimator,
)
from aleator.estimators.viewed import ViewedLearner
from aleator.inputs import Door
from aleator.methods.supervised import LABELS, supervised
from aleator.networks.shapes import as_rows
from aleator.parameters import require_int, require_number
from aleator.training.devices import seeded
from aleator.training.method import Method


class _Scores(nn.Module):
    """An encoder and the linear layer on top of it."""

    def __init__(self, encoder: nn.Module, classifier: nn.Module) -> None:
        super().__init__()
        self.encoder, self.classifier = encoder, classifier

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(as_rows(self.encoder(x)))


class LabelledLearner(ClassifierMixin, RepresentationLearner):
    """A representation learner that needs labels, and predicts them."""

    networks: ClassVar[Mapping[str, Sequence[str]]] = {"encoder": ("encoder",), "classifier": ()}
    facts: ClassVar[Sequence[str]] = ("embedding_dim_", "classes_")

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        if name == "classifier":
            return nn.Linear(facts["embedding_dim_"], len(facts["classes_"]))
        return super()._build(name, door, facts)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class, in the order of `classes_`."""
        check_is_fitted(self)
        scores = self._embedded(_Scores(self.encoder_, self.classifier_), X)
        return torch.from_numpy(scores).double().softmax(1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every sample."""
        most_probable = self.predict_proba(X).argmax(1)
        return self.classes_[most_probable]

    def _labels(self, material: Material) -> tuple[np.ndarray, np.ndarray]:
        """The classes and every sample's place among them."""
        name = type(self).__name__
        if material.labels is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        labels = _check_y(material.labels, estimator=self)
        check_classification_targets(labels)
        check_consistent_length(material.data, labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"{name} needs samples of at least 2 classes; y holds one class only")
        return classes, codes


@estimator
class Supervised(LabelledLearner, ViewedLearner):
    """Supervised training: the encoder and a linear layer, with labels; what the others aim at.

    A classifier (`predict`, `predict_proba`) whose `transform` gives the encoder's output, one
    layer before the classes.

    Parameters
    ----------
    {view}
    {encoding}
    {training}
    {data}

    Attributes
    ----------
    classes_ : the labels, sorted.
    classifier_ : the trained linear layer, on the CPU.
    {attributes}

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y = np.where(X[:, 0] > 0, "high", "low")
    >>> model = Supervised(epochs=20, learning_rate=0.01, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9, model.transform(X).shape
    (True, (60, 256))
    """

    def _draft(self, material: Material) -> Draft:
        classes, codes = self._labels(material)
        encoder, width = self._drawn_encoder(material)
        facts = {"embedding_dim_": width, "classes_": classes}
        with seeded(material.seeds.heads, CPU):
            classifier = self._build("classifier", material.door, facts)
        return Draft(
            supervised(encoder, classifier, self._view(material)),
            lambda: {"encoder_": encoder, "classifier_": classifier, **facts},
            {LABELS: torch.from_numpy(codes)},
        )


@estimator
class LogReg(LabelledLearner):
    """Logistic regression on the raw values: what any representation has to beat.

    scikit-learn's own, by lbfgs, behind the door that all estimators share; `transform` gives the
    raw values, flattened.

    Parameters
    ----------
    C : float
        Inverse of the penalty's strength.
    max_iter : int
        Most steps of the solver.
    {data}

    Attributes
    ----------
    classes_ : the labels, sorted.
    classifier_ : the coefficients, as a linear layer on the CPU.
    n_iter_ : steps that the solver took.
    embedding_dim_, n_features_in_, feature_names_in_ : as their names say.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> LogReg().fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9
    True
    """

    C: float = 1.0
    max_iter: int = 1000

    networks: ClassVar[Mapping[str, Sequence[str]]] = {"encoder": (), "classifier": ()}
    facts: ClassVar[Sequence[str]] = ("embedding_dim_", "classes_", "n_iter_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("C", self.C, 0, low_allowed=False)
        require_int("max_iter", self.max_iter, least=1)

    def _build(self, name: str, door: Door, facts: Mapping[str, Any]) -> Any:
        return nn.Flatten() if name == "encoder" else super()._build(name, door, facts)

    def _draft(self, material: Material) -> Draft:
        # A tenth of a second to import, which no other estimator should have to wait for.
        from sklearn.linear_model import LogisticRegression

        classes, codes = self._labels(material)
        rows = material.data.flatten(1).numpy()
        facts = {"embedding_dim_": rows.shape[1], "classes_": classes}
        encoder = self._build("encoder", material.door, facts)
        classifier = self._build("classifier", material.door, facts)
        solver = LogisticRegression(C=self.C, max_iter=self.max_iter).fit(rows, codes)
        facts["n_iter_"] = int(solver.n_iter_.max())
        weight, offset = torch.from_numpy(solver.coef_), torch.from_numpy(solver.intercept_)
        if len(classes) == 2:  # scikit-learn keeps the second class's row only
            weight, offset = (torch.cat([-half, half]) for half in (weight / 2, offset / 2))
        with torch.no_grad():
            classifier.weight.copy_(weight)
            classifier.bias.copy_(offset)
        return Draft(
            Method({"encoder": encoder, "classifier": classifier}, phases=[]),
            lambda: {"encoder_": encoder, "classifier_": classifier, **facts},
        )

    def _train(self, draft: Draft, material: Material, device: torch.device) -> Training:
        return Training()
