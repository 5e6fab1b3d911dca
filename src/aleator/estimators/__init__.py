"""The scikit-learn face that all methods share."""

from aleator.estimators.base import FitContext, RepresentationLearner, TrainingSpec, estimator
from aleator.estimators.classifier import ClassifierLearner
from aleator.estimators.trained import TrainedLearner

__all__ = [
    "ClassifierLearner", "FitContext", "RepresentationLearner", "TrainedLearner", "TrainingSpec",
    "estimator",
]  # fmt: skip
