"""Readers of the paper's time series: HAR, Epilepsy, Fault Diagnosis."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.catalogue import SOURCES
from aleator.benchmark.datasets.files import opened, reading
from aleator.benchmark.datasets.split import Split

_HAR_KINDS = ("body_acc", "body_gyro", "total_acc")
_HAR_SIGNALS = [f"{kind}_{axis}" for kind in _HAR_KINDS for axis in "xyz"]


def har(folder: Path) -> Split:
    """UCI HAR: nine inertial signals of 128 steps, split by subject."""
    path = SOURCES["har"].find(folder)
    if path.suffix == ".npz":
        with reading(path), np.load(path) as packed:
            return Split(
                packed["X_train"],
                packed["y_train"].astype(np.int64),
                packed["X_test"],
                packed["y_test"].astype(np.int64),
            )
    return Split(*_har_part(path, "train"), *_har_part(path, "test"))


def _har_part(path: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    inside = "" if path.is_dir() else "UCI HAR Dataset/"

    def numbers(name: str) -> np.ndarray:
        name = f"{inside}{part}/{name}_{part}.txt"
        text = read(name)
        with reading(path / name):
            return pd.read_csv(io.BytesIO(text), sep=r"\s+", header=None).to_numpy(np.float32)

    with opened(path) as (_, read):
        signals = [numbers(f"Inertial Signals/{signal}") for signal in _HAR_SIGNALS]
        return np.stack(signals, axis=1), numbers("y")[:, 0].astype(np.int64)


def epilepsy(folder: Path) -> Split:
    """Bonn EEG in rows of 178 steps: each step scaled to 0..1 over all rows, as the paper does.

    The paper's split: 80 / 20 with seed 42; seizure (class 1) against the rest.
    """
    import pandas as pd
    from sklearn.model_selection import train_test_split

    path = SOURCES["epilepsy"].find(folder)
    with reading(path):
        frame = pd.read_csv(path)
        if frame.shape[1] != 180 or frame.columns[-1] != "y":
            raise ValueError(
                f"it has {frame.shape[1]} columns, the last called {frame.columns[-1]!r}; a name, "
                "178 steps and 'y' are expected"
            )
        values = frame.iloc[:, 1:-1].to_numpy(np.float64)
    low, high = values.min(0), values.max(0)
    X = ((values - low) / (high - low)).astype(np.float32)[:, None, :]
    y = (frame["y"] == 1).to_numpy(np.int64)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    return Split(X_train, y_train, X_test, y_test)


def fault(folder: Path, name: str) -> Split:
    """A domain of Fault Diagnosis: motor current in windows of 5120 steps, raw as in TS-TCC.

    The files are those of Ragab et al.: 60 / 20 / 20 per domain, of which the middle part, for
    validation, is not used.
    """
    return Split(*_fault_part(name, folder, 0), *_fault_part(name, folder, 1))


def _fault_part(name: str, folder: Path, group: int) -> tuple[np.ndarray, np.ndarray]:
    import torch

    path = SOURCES[name].find(folder, group)
    with reading(path):
        part = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(part, dict) or not {"samples", "labels"} <= set(part):
            raise ValueError("it is no dictionary of 'samples' and 'labels'")
        samples = part["samples"].float().numpy()
        if samples.ndim == 3 and 1 in samples.shape[1:]:  # one channel, first or last
            samples = samples.reshape(len(samples), -1)
        if samples.ndim != 2:
            raise ValueError(f"'samples' has shape {samples.shape}")
        return samples[:, None, :], part["labels"].long().numpy()
