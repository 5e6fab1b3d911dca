"""Readers of the paper's tabular data sets: Income, Theorem, HEPMASS."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import reading
from aleator.benchmark.datasets.split import Split

INCOME_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()


def income(folder: Path) -> Split:
    """Read UCI Adult.

    Rows with unknown values are dropped, categories are one-hot encoded and numbers standardized
    with mean and deviation of the training part.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        The publisher's training and test file.
    """
    import pandas as pd

    def part(group: int) -> pd.DataFrame:
        path = DATASETS["income"].find(folder, group)
        with reading(path):
            frame = pd.read_csv(
                path, header=None, skipinitialspace=True, na_values="?", comment="|"
            ).dropna()
            _expect_columns(frame.shape[1], len(INCOME_COLUMNS))
            frame.columns = pd.Index(INCOME_COLUMNS)
            frame["income"] = frame["income"].str.strip(".")
            if unexpected := set(frame["income"]) - {"<=50K", ">50K"}:
                raise ValueError(
                    f"the last column contains {sorted(unexpected)[0]!r}; '<=50K' and '>50K' are "
                    "expected"
                )
        return frame

    train, test = part(0), part(1)
    both = pd.concat([train, test]).drop(columns="income")
    numeric = both.select_dtypes("number").columns
    both[numeric] = (both[numeric] - train[numeric].mean()) / train[numeric].std()
    X = pd.get_dummies(both, dtype=float).to_numpy(np.float32)
    return Split(
        X[: len(train)],
        (train["income"] == ">50K").to_numpy(np.int64),
        X[len(train) :],
        (test["income"] == ">50K").to_numpy(np.int64),
    )


def theorem(folder: Path) -> Split:
    """Read UCI First-order theorem proving.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        The publisher's training and test file; the validation file is not used.
    """

    def part(group: int) -> tuple[np.ndarray, np.ndarray]:
        path = DATASETS["theorem"].find(folder, group)
        with reading(path):
            values = np.loadtxt(path, delimiter=",", dtype=np.float32, ndmin=2)
            _expect_columns(values.shape[1], 57)
            if not (np.sort(values[:, 51:])[:, -2:] == [-1, 1]).all():
                raise ValueError(
                    "the last six columns must be 1 for one class and -1 for the others"
                )
        return values[:, :51], values[:, 51:].argmax(1)

    return Split(*part(0), *part(1))


def hepmass(folder: Path) -> Split:
    """Read UCI HEPMASS for a particle mass of 1000: a label and 27 features, not scaled.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        The publisher's training and test file.
    """
    import pandas as pd

    def part(group: int) -> tuple[np.ndarray, np.ndarray]:
        path = DATASETS["hepmass"].find(folder, group)
        X, y = [], []
        with reading(path), pd.read_csv(path, dtype=np.float32, chunksize=500_000) as chunks:
            for chunk in chunks:
                _expect_columns(chunk.shape[1], 28)
                values = chunk.to_numpy(np.float32)
                X.append(values[:, 1:])
                y.append(values[:, 0].astype(np.int64))
            return np.concatenate(X), np.concatenate(y)

    return Split(*part(0), *part(1))


def _expect_columns(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"it has {found} columns; {expected} are expected")
