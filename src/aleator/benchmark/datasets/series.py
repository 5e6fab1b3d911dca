"""Readers of the paper's time series: HAR, Epilepsy."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.catalogue import SOURCES
from aleator.benchmark.datasets.split import Split

_HAR_KINDS = ("body_acc", "body_gyro", "total_acc")
_HAR_SIGNALS = [f"{kind}_{axis}" for kind in _HAR_KINDS for axis in "xyz"]


def har(folder: Path) -> Split:
    """UCI HAR: nine inertial signals of 128 steps, split by subject."""
    path = SOURCES["har"].find(folder)
    if path.suffix == ".npz":
        with np.load(path) as packed:
            return Split(
                packed["X_train"],
                packed["y_train"].astype(np.int64),
                packed["X_test"],
                packed["y_test"].astype(np.int64),
            )
    return Split(*_har_part(path, "train"), *_har_part(path, "test"))


def _har_part(path: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    def numbers(name: str) -> np.ndarray:
        inside = f"{part}/{name}_{part}.txt"
        try:
            if path.is_dir():
                text = (path / inside).read_bytes()
            else:
                with zipfile.ZipFile(path) as archive:
                    text = archive.read(f"UCI HAR Dataset/{inside}")
        except (FileNotFoundError, KeyError):
            raise FileNotFoundError(f"{path} lacks {inside}: is it complete?") from None
        frame = pd.read_csv(io.BytesIO(text), sep=r"\s+", header=None)
        return frame.to_numpy(np.float32)

    signals = [numbers(f"Inertial Signals/{signal}") for signal in _HAR_SIGNALS]
    return np.stack(signals, axis=1), numbers("y")[:, 0].astype(np.int64)


def epilepsy(folder: Path) -> Split:
    """Bonn EEG in rows of 178 steps: each step scaled to 0..1 over all rows, as the paper does.

    The paper's split: 80 / 20 with seed 42; seizure (class 1) against the rest.
    """
    import pandas as pd
    from sklearn.model_selection import train_test_split

    frame = pd.read_csv(SOURCES["epilepsy"].find(folder))
    values = frame.iloc[:, 1:-1].to_numpy(np.float64)
    low, high = values.min(0), values.max(0)
    X = ((values - low) / (high - low)).astype(np.float32)[:, None, :]
    y = (frame["y"] == 1).to_numpy(np.int64)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    return Split(X_train, y_train, X_test, y_test)
