"""Probes that are trained by the engine, on embeddings that stay on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.evaluation.probing import Parts
from aleator.training.devices import resolve_device, seeded
from aleator.training.engine import Engine
from aleator.training.method import INPUT, Method, Phase
from aleator.training.optimizers import OptimizerSettings
from aleator.training.plan import Rounds, make_plan
from aleator.training.progress import Progress
from aleator.training.sampler import Sampler


@dataclass(frozen=True)
class ProbeTraining:
    """How a probe is trained; the defaults are the paper's for HAR and Epilepsy.

    The training part's last, smaller batch is dropped, as in the authors' program (not if it is the
    only one); the last epoch counts.

    >>> ProbeTraining().epochs
    100
    """

    epochs: int = 100
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 3e-4
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.9
    weight_decay: float = 3e-4
    schedule: str = "constant"


def scores_of_trained(
    make: Callable[[int, int], nn.Module],
    parts: Parts,
    training: ProbeTraining,
    weight_decay: float | None,
    seed: int,
    device: str,
) -> np.ndarray:
    """Train a network (of width and classes) on the training part; its scores on the test part."""
    classes, codes = parts.classes()
    place = resolve_device(device)
    with seeded(seed, torch.device("cpu")):
        network = make(parts.train.shape[1], len(classes))

    def loss(rows: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(network(rows), labels)

    phase = Phase("probe", {"encoder": network}, (network,), (INPUT, "labels"), loss)
    method = Method({"probe": network}, [phase])
    leaves = {INPUT: torch.from_numpy(parts.train), "labels": torch.from_numpy(codes)}
    rounds, rows = Rounds(training.epochs), len(parts.train)
    plan = make_plan(
        method, leaves, rounds,
        rows_a_pass=rows, batch_size=training.batch_size, device=place, precision="32",
    )  # fmt: skip
    engine = Engine(
        method,
        leaves,
        plan=plan,
        sampler=Sampler(rows, seed),
        rounds=rounds,
        optimizer=OptimizerSettings(
            training.optimizer,
            {"encoder": training.learning_rate},
            training.betas,
            training.momentum,
            training.weight_decay if weight_decay is None else weight_decay,
        ),
        schedule=training.schedule,
        drop_last=True,
    )
    with Progress("probe", engine.total_steps, shown=False) as progress:
        engine.train(progress)
    with torch.inference_mode():
        scores = network.eval()(torch.from_numpy(parts.test).to(place))
        return scores.softmax(1).cpu().numpy()
