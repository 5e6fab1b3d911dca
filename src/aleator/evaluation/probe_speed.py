"""How long do probes take?  python -m aleator.evaluation.probe_speed --device cuda

Prints one JSON line: seconds of the linear probe on embeddings of HAR's shape (100 epochs), and of
logistic regression on embeddings of Income's, as in the paper and standardized. The embeddings are
generated and start on the host. What is timed is the whole call, all but the device's own start.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Shape:
    """Rows of the training and the test part, dimensions and classes of an embedding."""

    train: int
    test: int
    width: int
    classes: int

    def generated(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """An embedding with a spectrum that decays, of classes that overlap; and labels.

        >>> [part.shape for part in Shape(6, 3, 4, 2).generated()]
        [(6, 4), (6,), (3, 4), (3,)]
        """
        random = np.random.default_rng(0)
        rows = random.standard_normal((self.train + self.test, self.width), dtype=np.float32)
        noise = random.gumbel(size=(len(rows), self.classes))
        weights = random.normal(size=(self.width, self.classes)) / self.width**0.5
        labels = (2 * rows @ weights + noise).argmax(1)
        rows *= np.arange(1, self.width + 1, dtype=np.float32) ** -0.5
        cut = self.train
        return rows[:cut], labels[:cut], rows[cut:], labels[cut:]


HAR = Shape(7352, 2947, 2304, 6)
INCOME = Shape(30162, 15060, 256, 2)


def measure(
    device: str, *, epochs: int = 100, har: Shape = HAR, income: Shape = INCOME
) -> dict[str, Any]:
    """Time both probes in both variants.

    >>> line = measure("cpu", epochs=1, har=Shape(40, 20, 8, 3), income=Shape(50, 20, 4, 2))
    >>> sorted(line["linear_classifier"])
    ['accuracy', 'epochs', 'seconds', 'seconds_standardised', 'shape']
    """
    import torch

    from aleator.benchmark.provenance import device_name
    from aleator.evaluation.probes import linear_classifier, logistic_regression
    from aleator.evaluation.trained_probes import ProbeTraining
    from aleator.training.devices import resolve_device

    place = resolve_device(device)
    torch.zeros(1, device=place).cpu()
    training = ProbeTraining(epochs=epochs)
    return {
        "linear_classifier": {
            **_timed(linear_classifier, har, device=device, training=training),
            "epochs": epochs,
        },
        "logistic_regression": _timed(logistic_regression, income, device=device),
        "device": place.type,
        "machine": device_name(device),
        "threads": torch.get_num_threads(),
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }


def _timed(probe: Callable[..., Any], shape: Shape, **settings: Any) -> dict[str, Any]:
    parts = shape.generated()
    seconds, found = [], []
    for standardized in (False, True):
        began = time.perf_counter()
        found.append(probe(*parts, standardized=standardized, **settings).mean())
        seconds.append(round(time.perf_counter() - began, 3))
    return {
        "shape": [shape.train, shape.test, shape.width, shape.classes],
        "seconds": seconds[0],
        "seconds_standardised": seconds[1],
        "accuracy": [round(value, 4) for value in found],
    }


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.evaluation.probe_speed",
        description="Time probes on embeddings of HAR's and Income's shape; print one JSON line.",
    )
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default)")
    parser.add_argument("--epochs", type=int, default=100, help="of the linear probe; default: 100")
    options = parser.parse_args(arguments)
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")
    try:
        line = measure(options.device, epochs=options.epochs)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
