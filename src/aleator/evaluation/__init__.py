"""Evaluation of representations: probes, label curves, fine-tuning, transfer, diagnostics."""

from aleator.evaluation.diagnostics import Diagnosis, alpha_req, diagnose, lidar, rank_me
from aleator.evaluation.finetuning import fine_tune, transfer
from aleator.evaluation.label_curve import label_curve
from aleator.evaluation.label_curve_result import LabelCurve
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
    "Diagnosis", "Evaluation", "LabelCurve", "ProbeTraining", "alpha_req", "diagnose",
    "diagnose_model", "fine_tune", "label_curve", "lidar",
    "linear_classifier", "logistic_regression", "mlp_classifier", "nearest_neighbors", "rank_me",
    "ridge", "transfer",
]  # fmt: skip
