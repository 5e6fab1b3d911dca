"""Readers of the paper's tables: Income, Theorem, HEPMASS."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.catalogue import SOURCES
from aleator.benchmark.datasets.split import Split

_INCOME_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()


def income(folder: Path) -> Split:
    """UCI Adult: rows with unknown values dropped, categories one-hot, numbers standardised."""
    import pandas as pd

    def part(group: int) -> pd.DataFrame:
        frame = pd.read_csv(
            SOURCES["income"].find(folder, group), names=_INCOME_COLUMNS, skipinitialspace=True,
            na_values="?", comment="|",
        ).dropna()  # fmt: skip
        frame["income"] = frame["income"].str.strip(".")
        return frame

    train, test = part(0), part(1)
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


def theorem(folder: Path) -> Split:
    """UCI First-order theorem proving: the training and test files; validation is not used."""

    def part(group: int) -> tuple[np.ndarray, np.ndarray]:
        path = SOURCES["theorem"].find(folder, group)
        values = np.loadtxt(path, delimiter=",", dtype=np.float32)
        return values[:, :51], values[:, 51:].argmax(1)

    return Split(*part(0), *part(1))


def hepmass(folder: Path) -> Split:
    """UCI HEPMASS, all masses: a label, 27 features, and the mass, which is left out."""
    import pandas as pd

    def part(group: int) -> tuple[np.ndarray, np.ndarray]:
        path = SOURCES["hepmass"].find(folder, group)
        with pd.read_csv(path, dtype=np.float32, chunksize=500_000) as chunks:
            arrays = [chunk.to_numpy(np.float32) for chunk in chunks]
        values = np.concatenate(arrays)
        if values.shape[1] != 29:
            raise ValueError(f"{path} has {values.shape[1]} columns; HEPMASS has 29")
        return np.ascontiguousarray(values[:, 1:28]), values[:, 0].astype(np.int64)

    return Split(*part(0), *part(1))
