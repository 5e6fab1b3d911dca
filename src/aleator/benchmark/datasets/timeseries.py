"""Readers of the paper's time series data sets: HAR, Epilepsy, Fault Diagnosis."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import opened, reading
from aleator.benchmark.datasets.split import Split

_HAR_KINDS = ("body_acc", "body_gyro", "total_acc")
_HAR_SIGNALS = [f"{kind}_{axis}" for kind in _HAR_KINDS for axis in "xyz"]


def har(folder: Path) -> Split:
    """Read UCI HAR: nine inertial signals of 128 steps.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        The publisher's split by subject.
    """
    path = DATASETS["har"].find(folder)
    if path.suffix == ".npz":
        with reading(path), path.open("rb") as file, np.load(file) as packed:
            return Split(
                packed["X_train"],
                packed["y_train"].astype(np.int64),
                packed["X_test"],
                packed["y_test"].astype(np.int64),
            )
    return Split(*_har_part(path, "train"), *_har_part(path, "test"))


def har_subjects(folder: Path) -> np.ndarray:
    """Read the subjects of UCI HAR.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    subjects : ndarray of shape (n_samples,)
        Number of the subject of every training sample.
    """
    path = DATASETS["har"].find(folder)
    if path.suffix == ".npz":
        with reading(path), path.open("rb") as file, np.load(file) as packed:
            return packed["subject_train"].astype(np.int64)
    with opened(path) as (_, read):
        return _har_numbers(path, read, "train", "subject")[:, 0].astype(np.int64)


def _har_part(path: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    with opened(path) as (_, read):
        signals = [
            _har_numbers(path, read, part, f"Inertial Signals/{signal}") for signal in _HAR_SIGNALS
        ]
        return np.stack(signals, axis=1), _har_numbers(path, read, part, "y")[:, 0].astype(np.int64)


def _har_numbers(path: Path, read: Callable[[str], bytes], part: str, name: str) -> np.ndarray:
    import pandas as pd

    inside = "" if path.is_dir() else "UCI HAR Dataset/"
    name = f"{inside}{part}/{name}_{part}.txt"
    text = read(name)
    with reading(path / name):
        return pd.read_csv(io.BytesIO(text), sep=r"\s+", header=None).to_numpy(np.float32)


def epilepsy(folder: Path) -> Split:
    """Read Epileptic Seizure Recognition: EEG of 178 steps, seizure (class 1) or not.

    As in the paper, each step is scaled to the range from 0 to 1 over all samples before the split.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        The paper's split: 80 % and 20 %, with seed 42.
    """
    import pandas as pd
    from sklearn.model_selection import train_test_split

    path = DATASETS["epilepsy"].find(folder)
    with reading(path):
        frame = pd.read_csv(path)
        if frame.shape[1] != 180 or frame.columns[-1] != "y":
            raise ValueError(
                f"it has {frame.shape[1]} columns, and the name of the last is "
                f"{frame.columns[-1]!r}; 180 columns are expected, the last named 'y'"
            )
        values = frame.iloc[:, 1:-1].to_numpy(np.float64)
    low, high = values.min(0), values.max(0)
    X = ((values - low) / (high - low)).astype(np.float32)[:, None, :]
    y = (frame["y"] == 1).to_numpy(np.int64)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    return Split(X_train, y_train, X_test, y_test)


def fewer_rows(folder: Path, reader: Callable[[Path], Split], count: int) -> Split:
    """Read a data set with a part of its training samples only.

    The notebooks of the paper's authors set aside a fifth of the training samples, as TS-TCC does,
    though the paper prints the number of all of them.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.
    reader : callable
        Function that reads the whole data set.
    count : int
        Number of training samples to keep.

    Returns
    -------
    split : Split
        Training samples drawn at random, always the same, and the whole test part.
    """
    split = reader(folder)
    rows = np.random.default_rng(0).choice(len(split.X_train), count, replace=False)
    return replace(split, X_train=split.X_train[rows], y_train=split.y_train[rows])


def fault(folder: Path, name: str) -> Split:
    """Read a domain of Fault Diagnosis: motor current in windows of 5120 steps, not scaled.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.
    name : str
        Name of the domain.

    Returns
    -------
    split : Split
        The split of Ragab et al.: 60 % for training and 20 % for testing; the 20 % for validation
        are not used.
    """
    return Split(*_fault_part(name, folder, 0), *_fault_part(name, folder, 1))


def _fault_part(name: str, folder: Path, group: int) -> tuple[np.ndarray, np.ndarray]:
    import torch

    path = DATASETS[name].find(folder, group)
    with reading(path):
        part = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(part, dict) or not {"samples", "labels"} <= set(part):
            raise ValueError("a dictionary with 'samples' and 'labels' is expected")
        samples = part["samples"].float().numpy()
        if samples.ndim == 3 and 1 in samples.shape[1:]:  # one channel, first or last
            samples = samples.reshape(len(samples), -1)
        if samples.ndim != 2:
            raise ValueError(f"'samples' has shape {samples.shape}; one channel is expected")
        return samples[:, None, :], part["labels"].long().numpy()
