"""Tables as they are published: Adult, and eight tables of text, categories, dates and numbers."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.datasets.files import reading
from aleator.benchmark.datasets.tabular import INCOME_COLUMNS
from aleator.benchmark.real_data.parts import RealParts, split_parts


@dataclass(frozen=True)
class MixedTable:
    """A table of which one column is predicted from the others.

    Attributes
    ----------
    file : str
        Its name.
    target : str
        The column to predict.
    left_out : tuple of str, default=()
        Columns that would give the target away, or number the rows.
    task : {"classes", "numbers", "logarithms", "logarithms of 1 + x", "other than None"}
        What is predicted of the target.
    """

    file: str
    target: str
    left_out: tuple[str, ...] = ()
    task: str = "classes"


MIXED_TABLES = {
    "employee-salaries": MixedTable(
        "employee_salaries.zip", "current_annual_salary", task="numbers"
    ),
    "open-payments": MixedTable("open_payments.zip", "status"),
    "videogame-sales": MixedTable(
        "videogame_sales.zip",
        "Global_Sales",
        ("Rank", "NA_Sales", "EU_Sales", "JP_Sales", "Other_Sales"),
        "logarithms of 1 + x",
    ),
    "bike-sharing": MixedTable(
        "bike_sharing.zip", "cnt", ("casual", "registered", "instant"), "logarithms of 1 + x"
    ),
    "bank": MixedTable("bank-full.csv.gz", "y", ("duration",)),
    "birdstrikes": MixedTable(
        "birdstrikes.csv.gz",
        "Effect Amount of damage",
        ("Cost Other", "Cost Repair", "Cost Total $"),
        "other than None",
    ),
    "titanic": MixedTable("titanic.csv.gz", "Survived", ("PassengerId",)),
    "ames": MixedTable("ames.csv.gz", "Sale_Price", ("rownames",), "logarithms"),
}


def load_mixed(folder: Path, name: str) -> RealParts:
    """Read one of the eight tables; a fifth of the rows, drawn with seed 0, is the test part.

    Parameters
    ----------
    folder : Path
        Folder of the data sets; the tables are in its folder ``mixed``.
    name : str
        A key of `MIXED_TABLES`.

    Returns
    -------
    RealParts
    """
    table = MIXED_TABLES[name]
    path = folder / "mixed" / table.file
    with reading(path):
        frame = _read_frame(path)
        y = _targets_of(frame[table.target], table.task)
        missing = [column for column in table.left_out if column not in frame]
        if missing:
            raise ValueError(f"there is no column {missing[0]!r}")
    return split_parts(frame.drop(columns=[table.target, *table.left_out]), y)


def load_adult(folder: Path) -> RealParts:
    """Read UCI Adult as it is, with unknown values as ``?``, in the publisher's two parts.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    RealParts
    """
    import pandas as pd

    parts: list[Any] = []
    for file in ("adult.data.gz", "adult.test.gz"):
        with reading(folder / file):
            # The first line of the test file is a comment; its labels end in a point.
            frame = pd.read_csv(
                folder / file, header=None, names=list(INCOME_COLUMNS), skipinitialspace=True,
                comment="|",
            )  # fmt: skip
        labels = frame.pop(INCOME_COLUMNS[-1]).str.strip(".").to_numpy(str)
        parts += [frame, labels]
    return RealParts(*parts)


def _read_frame(path: Path) -> Any:
    import pandas as pd

    # In birdstrikes the word None is a value.
    missing: dict[str, Any] = {"keep_default_na": False, "na_values": ["", "NA", "N/A"]}
    if path.suffix != ".zip":
        return pd.read_csv(path, **missing)
    with zipfile.ZipFile(path) as archive, archive.open(f"{path.stem}/{path.stem}.csv") as file:
        return pd.read_csv(file, **missing)


def _targets_of(column: Any, task: str) -> np.ndarray:
    if column.isna().any():
        raise ValueError(f"column {column.name!r} has rows without a value")
    if task == "classes":
        return column.to_numpy().astype(str)
    if task == "other than None":
        return (column != "None").to_numpy().astype(int)
    values = column.to_numpy(np.float64)
    if task == "logarithms":
        return np.log(values)
    return np.log1p(values) if task == "logarithms of 1 + x" else values
