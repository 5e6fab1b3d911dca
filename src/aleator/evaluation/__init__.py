"""Evaluation of representations: probes, fine-tuning, transfer and label-free diagnostics."""

from aleator.evaluation.diagnostics import Diagnosis, alpha_req, diagnose, lidar, rank_me
from aleator.evaluation.finetuning import fine_tune, transfer
from aleator.evaluation.model_diagnostics import diagnose_model
from aleator.evaluation.probes import (
    linear_classifier,
    logistic_regression,
    mlp_classifier,
    nearest_neighbors,
    ridge,
)
from aleator.evaluation.results import Evaluation
from aleator.evaluation.trained_probes import ProbeTraining

__all__ = [
    "Diagnosis", "Evaluation", "ProbeTraining", "alpha_req", "diagnose", "diagnose_model",
    "fine_tune", "lidar",
    "linear_classifier", "logistic_regression", "mlp_classifier", "nearest_neighbors", "rank_me",
    "ridge", "transfer",
]  # fmt: skip
