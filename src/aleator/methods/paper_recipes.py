"""Settings of LFR in the paper (appendix C) and, where it is silent, in the authors' program.

`DEFAULTS` are the settings of all recipes unless one says otherwise; `RECIPES` are those of the
data sets. `benchmarks/configs` says where each of them comes from.
"""

from __future__ import annotations

from typing import Any

DEFAULTS: dict[str, Any] = {
    "encoder": "auto",
    "projector": "auto",
    "n_projectors": 6,
    "loss": "bbt",
    "training": "alternating",
    "epochs": 100,
    "batch_size": 128,
    "schedule": "constant",
}

_TABLE: dict[str, Any] = {
    "modality": "table",
    "preprocessing": None,
    "encoder": "mlp",
    "projector": "mlp",
    "embedding_dim": 256,
    "n_candidates": 60,
    "predictor": "linear",
    "predictor_epochs": 1,
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "betas": (0.9, 0.99),
}
_SERIES: dict[str, Any] = {
    "modality": "series",
    "preprocessing": None,
    "encoder": "cnn",
    "projector": "cnn",
    "n_candidates": 60,
    "predictor": "linear",
    "epochs": 200,
    "predictor_epochs": 5,
    "optimizer": "adam",
    "learning_rate": 3e-4,
    "betas": (0.9, 0.99),
    "weight_decay": 3e-4,
    "precision": "bf16",
}
_STAYS: dict[str, Any] = {  # in intensive care
    "modality": "series",
    "preprocessing": None,
    "encoder": "tcn",
    "embedding_dim": 64,
    "projector": "tcn",
    "n_projectors": 10,
    "n_candidates": 50,
    "predictor": "mlp",
    "predictor_epochs": 5,
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "betas": (0.9, 0.99),
    "weight_decay": 5e-4,
    "schedule": "cosine",
}
_IMAGE: dict[str, Any] = {
    "modality": "image",
    "preprocessing": None,
    "encoder": "resnet18-large",
    "projector": "cnn",
    "embedding_dim": 2048,
    "n_candidates": 6,
    "projector_init": "beta",
    "weight_dropout": 0.4,
    "predictor": "mlp",
    "epochs": 400,
    "predictor_epochs": 5,
    "batch_size": 256,
    "optimizer": "sgd",
    "learning_rate": 1e-4,
    "weight_decay": 5e-4,
    "schedule": "cosine",
    "precision": "bf16",
}
_FAULT: dict[str, Any] = {**_SERIES, "encoder": "cnn-strided", "embedding_dim": 2048}

RECIPES: dict[str, dict[str, Any]] = {
    "cifar10": {
        **_IMAGE,
        "encoder": "resnet18-small",
        "n_projectors": 40,
        "n_candidates": 40,
        "batch_size": 512,
        "learning_rate": 0.03,
    },
    "epilepsy": _SERIES,
    "fault-a": _FAULT,
    "fault-b": _FAULT,
    "fault-c": _FAULT,
    "fault-d": _FAULT,
    "har": _SERIES,
    "hepmass": {
        **_TABLE, "embedding_dim": 16, "epochs": 20, "batch_size": 512, "learning_rate": 1e-6,
    },
    "income": _TABLE,
    "kvasir": _IMAGE,
    "kvasir-v1": _IMAGE,
    "mimic3": {
        **_STAYS, "selection_size": 1000, "steps": 600, "batch_size": 4096, "warmup_epochs": 60,
        "predictor_learning_rate": 5e-3, "off_diagonal_weight": 1e-5,
    },
    "physionet2012": {**_STAYS, "warmup_epochs": 10},
    "theorem": _TABLE,
}  # fmt: skip
