"""Probes that are trained by gradient descent, on embeddings that stay on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.evaluation.probing import Parts
from aleator.training.devices import resolve_device, seeded
from aleator.training.host_rows import HostRows, TensorRows
from aleator.training.method import INPUT, Method, ParameterGroup, Phase
from aleator.training.optimizers import OptimizerSettings
from aleator.training.plan import Duration, make_plan
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler
from aleator.training.trainer import Trainer


@dataclass(frozen=True)
class ProbeTraining:
    """Training settings of a probe.

    The defaults are those of the paper for HAR and Epilepsy. An incomplete last batch is dropped
    unless it is the only one, as in the authors' program. The probe is evaluated after the last
    epoch.

    Parameters
    ----------
    epochs : int, default=100
        Number of passes over the training set.
    batch_size : int, default=128
        Samples per batch.
    optimizer : {"adam", "adamw", "sgd"}, default="adam"
        Optimizer.
    learning_rate : float, default=3e-4
        Learning rate.
    betas : tuple of (float, float), default=(0.9, 0.999)
        Decay rates of the moment estimates of Adam and AdamW.
    momentum : float, default=0.9
        Momentum of stochastic gradient descent.
    weight_decay : float, default=3e-4
        Weight decay. The standardized protocol replaces it with the value it chooses.
    schedule : {"constant", "cosine"}, default="constant"
        Learning rate schedule.

    Examples
    --------
    >>> ProbeTraining(epochs=10).learning_rate
    0.0003
    """

    epochs: int = 100
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 3e-4
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.9
    weight_decay: float = 3e-4
    schedule: str = "constant"


def trained_probe_scores(
    make_network: Callable[[int, int], nn.Module],
    parts: Parts,
    training: ProbeTraining,
    weight_decay: float | None,
    seed: int,
    device: str,
) -> np.ndarray:
    """Train a network on the training set and apply it to the test set.

    Parameters
    ----------
    make_network : callable
        Takes the number of features and the number of classes and returns a network.
    parts : Parts
        Training set and test set.
    training : ProbeTraining
        Training settings.
    weight_decay : float or None
        Weight decay that replaces the one in `training`. None keeps that one.
    seed : int
        Seed of the initialization and of the order of samples.
    device : str
        Device to train on.

    Returns
    -------
    ndarray of shape (n_test, n_classes)
        Class probabilities of the test set.
    """
    classes, codes = parts.encoded_labels()
    torch_device = resolve_device(device)
    with seeded(seed):
        network = make_network(parts.train.shape[1], len(classes))

    def outputs(rows: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return network(rows), labels

    groups = [ParameterGroup("probe", (network,))]
    columns_read = (INPUT, "labels")
    phase = Phase("probe", groups, (network,), columns_read, outputs, F.cross_entropy)
    method = Method({"probe": network}, [phase])
    columns: dict[str, HostRows] = {
        INPUT: TensorRows(torch.from_numpy(parts.train)),
        "labels": TensorRows(torch.from_numpy(codes)),
    }
    duration, n_samples = Duration(training.epochs), len(parts.train)
    plan = make_plan(
        method, columns, duration,
        pass_length=n_samples, batch_size=training.batch_size, device=torch_device, precision="32",
    )  # fmt: skip
    trainer = Trainer(
        method,
        columns,
        plan=plan,
        sampler=Sampler(n_samples, seed),
        duration=duration,
        optimizer=OptimizerSettings(
            training.optimizer,
            training.learning_rate,
            training.betas,
            training.momentum,
            training.weight_decay if weight_decay is None else weight_decay,
            training.schedule,
        ),
        drop_last=True,
    )
    with Progress("probe", trainer.total_steps, bar=False) as progress:
        trainer.fit(progress)
    with torch.inference_mode():
        logits = network.eval()(torch.from_numpy(parts.test).to(torch_device))
        return logits.softmax(1).cpu().numpy()
