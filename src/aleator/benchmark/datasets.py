"""The paper's data sets: read from a folder as published, or generated in the same shapes.

`load` wants a folder holding the files that each data set's publisher distributes (or, for HAR, the
nine inertial signals packed into one `.npz`). `generated` makes random data of the paper's shapes,
on which speed can be measured by anyone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Split:
    """Training and test part."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


# name: (shape of a sample, training rows, test rows, classes), from the appendix's table 4.
SHAPES: dict[str, tuple[tuple[int, ...], int, int, int]] = {
    "income": ((104,), 30162, 15060, 2),
    "theorem": ((51,), 3059, 1530, 6),
    "har": ((9, 128), 7352, 2947, 6),
    "epilepsy": ((1, 178), 9200, 2300, 2),
    "kvasir": ((3, 80, 100), 6000, 2000, 8),
}


def generated(name: str, seed: int = 0) -> Split:
    """Random data of a data set's shape.

    >>> generated("theorem").X_train.shape
    (3059, 51)
    """
    shape, train, test, classes = SHAPES[name]
    random = np.random.default_rng(seed)
    X = random.random((train + test, *shape), dtype=np.float32)
    y = random.integers(classes, size=train + test)
    return Split(X[:train], y[:train], X[train:], y[train:])


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Split:
    """Read a data set from `folder`, by default the one that `ALEATOR_DATA` names."""
    if name not in _READERS:
        raise ValueError(f"there is no reader for {name!r} yet; known: {', '.join(_READERS)}")
    folder = folder or os.environ.get("ALEATOR_DATA")
    if folder is None:
        raise ValueError(f"to read {name}, name its folder: --data FOLDER or ALEATOR_DATA=FOLDER")
    split = _READERS[name](Path(folder))
    shape, train, test, classes = SHAPES[name]
    counts = (split.X_train.shape, split.X_test.shape, len(np.unique(split.y_train)))
    if counts != ((train, *shape), (test, *shape), classes):
        raise ValueError(
            f"{name} should have {train} + {test} samples of shape {shape} in {classes} classes; "
            f"the files in {folder} give {split.X_train.shape} and {split.X_test.shape}, "
            f"{counts[2]} classes: are they complete?"
        )
    return split


def _found(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"{folder} holds none of {', '.join(names)}")


_INCOME_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()


def _income(folder: Path) -> Split:
    """UCI Adult: rows with unknown values dropped, categories one-hot, numbers standardised."""
    import pandas as pd

    def part(*names: str) -> pd.DataFrame:
        frame = pd.read_csv(
            _found(folder, *names), names=_INCOME_COLUMNS, skipinitialspace=True, na_values="?",
            comment="|",
        ).dropna()  # fmt: skip
        frame["income"] = frame["income"].str.strip(".")
        return frame

    train = part("adult.data", "adult.data.gz")
    test = part("adult.test", "adult.test.gz")
    both = pd.concat([train, test]).drop(columns="income")
    numeric = both.select_dtypes("number").columns
    known = train[numeric]
    both[numeric] = (both[numeric] - known.mean()) / known.std()
    X = pd.get_dummies(both, dtype=float).to_numpy(np.float32)
    return Split(
        X[: len(train)],
        (train["income"] == ">50K").to_numpy(np.int64),
        X[len(train) :],
        (test["income"] == ">50K").to_numpy(np.int64),
    )


def _theorem(folder: Path) -> Split:
    """UCI First-order theorem proving: the training and test files; validation is not used."""

    def part(name: str) -> tuple[np.ndarray, np.ndarray]:
        path = _found(folder, f"{name}.csv", f"theorem_{name}.csv.gz")
        values = np.loadtxt(path, delimiter=",", dtype=np.float32)
        return values[:, :51], values[:, 51:].argmax(1)

    return Split(*part("train"), *part("test"))


def _har(folder: Path) -> Split:
    """UCI HAR: nine inertial signals of 128 steps, split by subject."""
    with np.load(_found(folder, "uci_har_inertial.npz")) as packed:
        return Split(
            packed["X_train"],
            packed["y_train"].astype(np.int64),
            packed["X_test"],
            packed["y_test"].astype(np.int64),
        )


def _epilepsy(folder: Path) -> Split:
    """Bonn EEG in rows of 178 steps: each step scaled to 0..1 over all rows, as the paper does.

    The paper's split: 80 / 20 with seed 42; seizure (class 1) against the rest.
    """
    import pandas as pd
    from sklearn.model_selection import train_test_split

    frame = pd.read_csv(
        _found(folder, "epileptic_seizure_data.csv", "epileptic_seizure_data.csv.gz",
               "Epileptic Seizure Recognition.csv")
    )  # fmt: skip
    values = frame.iloc[:, 1:-1].to_numpy(np.float64)
    low, high = values.min(0), values.max(0)
    X = ((values - low) / (high - low)).astype(np.float32)[:, None, :]
    y = (frame["y"] == 1).to_numpy(np.int64)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    return Split(X_train, y_train, X_test, y_test)


_READERS: dict[str, Callable[[Path], Split]] = {
    "income": _income,
    "theorem": _theorem,
    "har": _har,
    "epilepsy": _epilepsy,
}
