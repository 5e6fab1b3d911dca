"""Probes of the paper's protocol: simple classifiers on frozen embeddings."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from aleator.training.devices import resolve_device, seeded
from aleator.training.engine import Engine
from aleator.training.method import INPUT, Method, Phase
from aleator.training.optimizers import OptimizerSettings
from aleator.training.plan import Rounds, make_plan
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler


@dataclass(frozen=True)
class ProbeResult:
    """Accuracy on the test part, and the seconds it took."""

    accuracy: float
    seconds: float


def logistic_regression(
    train: np.ndarray, train_labels: np.ndarray, test: np.ndarray, test_labels: np.ndarray
) -> ProbeResult:
    """Logistic regression as the paper probes tables: lbfgs, no standardisation.

    >>> rows, labels = np.array([[0.0], [1.0], [0.1], [0.9]]), np.array([0, 1, 0, 1])
    >>> logistic_regression(rows, labels, rows, labels).accuracy
    1.0
    """
    began = time.perf_counter()
    classifier = LogisticRegression(max_iter=1000).fit(train, train_labels)
    accuracy = float(classifier.score(test, test_labels))
    return ProbeResult(accuracy, time.perf_counter() - began)


def linear_classifier(
    train: np.ndarray,
    train_labels: np.ndarray,
    test: np.ndarray,
    test_labels: np.ndarray,
    *,
    epochs: int = 100,
    batch_size: int = 128,
    learning_rate: float = 3e-4,
    betas: tuple[float, float] = (0.9, 0.999),
    weight_decay: float = 3e-4,
    device: str = "auto",
    seed: int = 0,
) -> ProbeResult:
    """A linear layer trained with Adam (appendix table 'Linear Evaluation Settings').

    The training part's last, smaller batch is dropped, as in the authors' program; the accuracy
    is that of the last epoch.

    >>> rows, labels = np.eye(2, dtype=np.float32).repeat(64, 0), np.arange(2).repeat(64)
    >>> linear_classifier(rows, labels, rows, labels, learning_rate=0.1, device="cpu").accuracy
    1.0
    """
    began = time.perf_counter()
    classes, codes = np.unique(train_labels, return_inverse=True)
    place = resolve_device(device)
    with seeded(seed, torch.device("cpu")):
        layer = nn.Linear(train.shape[1], len(classes))

    def loss(rows: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(layer(rows), labels)

    phase = Phase("probe", {"encoder": layer}, (layer,), (INPUT, "labels"), loss)
    method = Method({"probe": layer}, [phase])
    leaves = {INPUT: torch.from_numpy(train).float(), "labels": torch.from_numpy(codes)}
    plan = make_plan(
        method, leaves, Rounds(epochs),
        rows_a_pass=len(train), batch_size=batch_size, device=place, precision="32",
    )  # fmt: skip
    rates = {"encoder": learning_rate}
    engine = Engine(
        method,
        leaves,
        plan=plan,
        sampler=Sampler(len(train), seed),
        rounds=Rounds(epochs),
        optimizer=OptimizerSettings("adam", rates, betas, 0.0, weight_decay),
        drop_last=True,
    )
    with Progress("linear probe", engine.total_steps, shown=False) as progress:
        engine.train(progress)
    with torch.inference_mode():
        scores = layer(torch.from_numpy(test).float().to(place)).argmax(1).cpu().numpy()
    accuracy = float((classes[scores] == test_labels).mean())
    return ProbeResult(accuracy, time.perf_counter() - began)
