"""The scikit-learn face that all methods share."""

from aleator.estimators.base import RepresentationLearner
from aleator.estimators.classifier import ClassifierLearner
from aleator.estimators.declaration import estimator
from aleator.estimators.fit_context import FitContext, TrainingSpec
from aleator.estimators.restoring import restored_estimator
from aleator.estimators.trained import TrainedLearner

__all__ = [
    "ClassifierLearner", "FitContext", "RepresentationLearner", "TrainedLearner", "TrainingSpec",
    "estimator", "restored_estimator",
]  # fmt: skip
