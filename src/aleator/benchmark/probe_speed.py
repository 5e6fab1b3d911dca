"""Measure the speed of the probes: ``python -m aleator.benchmark.probe_speed --device cuda``.

Prints one JSON line: the seconds of the linear probe on embeddings of the shape of HAR's (100
epochs), and of logistic regression on embeddings of the shape of Income's, with the paper's
protocol and with the standardized one. The embeddings are generated and start on the host. The time
is that of the whole call, without the initialization of the device.
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
    """Shape of an embedding with labels.

    Attributes
    ----------
    n_train, n_test : int
        Numbers of samples of the training set and the test set.
    n_features : int
        Number of features.
    n_classes : int
        Number of classes.
    """

    n_train: int
    n_test: int
    n_features: int
    n_classes: int

    def generate(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Generate an embedding with a decaying spectrum and overlapping classes.

        Returns
        -------
        X_train, y_train, X_test, y_test : ndarray
            Embeddings and labels.

        Examples
        --------
        >>> [part.shape for part in Shape(6, 3, 4, 2).generate()]
        [(6, 4), (6,), (3, 4), (3,)]
        """
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((self.n_train + self.n_test, self.n_features), dtype=np.float32)
        noise = rng.gumbel(size=(len(rows), self.n_classes))
        weights = rng.normal(size=(self.n_features, self.n_classes)) / self.n_features**0.5
        labels = (2 * rows @ weights + noise).argmax(1)
        rows *= np.arange(1, self.n_features + 1, dtype=np.float32) ** -0.5
        cut = self.n_train
        return rows[:cut], labels[:cut], rows[cut:], labels[cut:]


HAR = Shape(7352, 2947, 2304, 6)
INCOME = Shape(30162, 15060, 256, 2)


def measure(
    device: str, *, epochs: int = 100, har: Shape = HAR, income: Shape = INCOME
) -> dict[str, Any]:
    """Measure both probes with both protocols.

    Parameters
    ----------
    device : str
        Device of the probes: "auto", "cpu", "cuda" or "cuda:0".
    epochs : int, default=100
        Epochs of the linear probe.
    har, income : Shape
        Shapes of the embeddings for the linear probe and for logistic regression.

    Returns
    -------
    dict
        The content of the JSON line. Its keys are those of ``benchmarks/results/probes.jsonl``.

    Examples
    --------
    >>> line = measure("cpu", epochs=1, har=Shape(40, 20, 8, 3), income=Shape(50, 20, 4, 2))
    >>> sorted(line["linear_classifier"])
    ['accuracy', 'epochs', 'seconds', 'seconds_standardised', 'shape']
    """
    import torch

    from aleator.benchmark.provenance import device_name
    from aleator.evaluation.probes import linear_classifier, logistic_regression
    from aleator.evaluation.trained_probes import ProbeTraining
    from aleator.training.devices import resolve_device

    torch_device = resolve_device(device)
    torch.zeros(1, device=torch_device).cpu()  # initializes the device
    training = ProbeTraining(epochs=epochs)
    return {
        "linear_classifier": {
            **_measure_probe(linear_classifier, har, device=device, training=training),
            "epochs": epochs,
        },
        "logistic_regression": _measure_probe(logistic_regression, income, device=device),
        "device": torch_device.type,
        "machine": device_name(device),
        "threads": torch.get_num_threads(),
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }


def _measure_probe(probe: Callable[..., Any], shape: Shape, **settings: Any) -> dict[str, Any]:
    sets = shape.generate()
    seconds, accuracies = [], []
    for standardized in (False, True):
        start = time.perf_counter()
        accuracies.append(probe(*sets, standardized=standardized, **settings).mean())
        seconds.append(round(time.perf_counter() - start, 3))
    return {
        "shape": [shape.n_train, shape.n_test, shape.n_features, shape.n_classes],
        "seconds": seconds[0],
        "seconds_standardised": seconds[1],  # the key that result files store
        "accuracy": [round(accuracy, 4) for accuracy in accuracies],
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command line program.

    Parameters
    ----------
    arguments : list of str, default=None
        Command line arguments. None means those of the process.

    Returns
    -------
    int
        Exit status: 0, or 2 if the device is not available.
    """
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.probe_speed",
        description="Measure the speed of the probes on embeddings of the shape of HAR's and "
        "Income's; print one JSON line.",
    )
    parser.add_argument("--device", default="auto", help="cuda, cpu or auto (default: auto)")
    parser.add_argument(
        "--epochs", type=int, default=100, help="epochs of the linear probe (default: 100)"
    )
    options = parser.parse_args(arguments)
    if options.epochs < 1:
        parser.error(f"--epochs must be at least 1, got {options.epochs}")
    try:
        line = measure(options.device, epochs=options.epochs)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
