"""Estimators that need labels, and predict them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)
from torch import Tensor, nn

from aleator.estimators.base import RepresentationLearner
from aleator.networks.shapes import flatten_output


class _Scores(nn.Module):
    """An encoder and the linear layer on top of it."""

    def __init__(self, encoder: nn.Module, classifier: nn.Module) -> None:
        super().__init__()
        self.encoder, self.classifier = encoder, classifier

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(flatten_output(self.encoder(x)))


class ClassifierLearner(ClassifierMixin, RepresentationLearner):
    """Base class of the estimators that learn from labels."""

    def _labels_of_run(self, y: Any) -> Any:
        return y

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset or object of pyarrow
            Data of the kind and shape of the training data.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        scores = self._run_network(_Scores(self.encoder_, self.classifier_), X)
        return torch.from_numpy(scores).double().softmax(1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of every sample.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset or object of pyarrow
            Data of the kind and shape of the training data.

        Returns
        -------
        ndarray of shape (n,)
            Classes.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(1)]

    def _encode_labels(self, y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes and the position of every label among them."""
        name = type(self).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y", estimator_name=name)
        check_classification_targets(labels)
        check_consistent_length(range(n_samples), labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"{name} needs samples of at least 2 classes; y has only one class")
        return classes, codes
