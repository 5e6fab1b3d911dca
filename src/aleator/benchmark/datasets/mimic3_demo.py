"""Reader of the open demo of MIMIC-III: the tables of the database, of a hundred patients.

The benchmark of Harutyunyan et al. (2019) is followed in the variables, the items of the database
that they are recorded as, the ranges of valid values, the values before the first measurement, and
the stays that are left out. Different are: measurements in urine and other fluids are left out;
categories are numbers, so that the two record systems of the hospital agree; samples are split by
patient at random, because the list of test patients is that of the whole database.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import reading
from aleator.benchmark.datasets.mimic3 import Windows, length_of_stay_class
from aleator.benchmark.datasets.split import UNLABELED, Split

if TYPE_CHECKING:
    import pandas as pd

_FIRST_LABEL = 5  # hours of a stay without a label
_LEAST_AGE = 18
_TEST_SHARE = 0.2
_YEAR = 365.25
_FAHRENHEIT, _INCHES, _POUNDS, _OUNCES = (
    {678, 679, 223761, 3654}, {226707, 1394}, {3581, 226531}, {3582},
)  # fmt: skip
_FRACTION_OF_OXYGEN = {3420, 223835, 3422, 189, 727}
_CAPILLARY_REFILL = {3348, 115, 8377}


@dataclass(frozen=True)
class _Variable:
    """A channel, or one channel per category.

    `valid` is the range to which values are clipped, those outside of `plausible` are ignored.
    """

    items: tuple[int, ...]
    valid: tuple[float, float]
    plausible: tuple[float, float]
    normal: float
    categories: tuple[int, ...] = ()


def _scale(items: tuple[int, ...], low: int, high: int) -> _Variable:
    """Make a scale of integers, a channel each; the highest one is normal."""
    span = (low, high)
    return _Variable(items, span, span, high, tuple(range(low, high + 1)))


# The first channel, height, does not change in the course of a stay, as in the paper.
_VARIABLES = (
    _Variable((226707, 226730, 1394), (0, 240), (0, 275), 170),
    _Variable(  # diastolic blood pressure
        (8368, 220051, 225310, 8555, 8441, 220180, 8502, 8440, 8503, 8504, 8507, 8506, 224643),
        (0, 375), (0, 375), 59,
    ),
    _Variable(tuple(sorted(_FRACTION_OF_OXYGEN)), (0.21, 1), (0.2, 1.1), 0.21),
    _Variable(  # glucose in blood
        (50931, 807, 811, 1529, 50809, 3745, 225664, 220621, 226537), (33, 2000), (0, 2200), 128,
    ),
    _Variable((211, 220045), (0, 350), (0, 390), 86),  # heart rate
    _Variable(  # mean blood pressure
        (52, 220052, 225312, 224, 6702, 224322, 456, 220181, 3312, 3314, 3316, 3322, 3320),
        (14, 330), (0, 375), 77,
    ),
    _Variable((834, 50817, 8498, 220227, 646, 220277), (0, 100), (0, 150), 98),  # oxygen saturation
    _Variable(  # respiratory rate
        (618, 220210, 3603, 224689, 614, 651, 224422, 615, 224690), (0, 300), (0, 330), 19,
    ),
    _Variable(  # systolic blood pressure
        (51, 220050, 225309, 6701, 455, 220179, 3313, 3315, 442, 3317, 3323, 3321, 224167, 227243),
        (0, 375), (0, 375), 118,
    ),
    _Variable(  # temperature
        (3655, 677, 676, 223762, *sorted(_FAHRENHEIT)), (26, 45), (14.2, 47), 36.6,
    ),
    _Variable(  # weight
        (763, 224639, 226512, 3580, 3693, 3581, 226531, 3582), (0, 250), (0, 250), 81,
    ),
    _Variable(  # pH of blood
        (50820, 3839, 1673, 780, 1126, 223830, 4753, 4202, 860, 220274), (6.3, 8.4), (6.3, 10), 7.4,
    ),
    _Variable(tuple(sorted(_CAPILLARY_REFILL)), (0, 1), (0, 1), 0, (0, 1)),
    _scale((184, 220739), 1, 4),  # Glasgow coma scale: eyes, motor response, speech, and their sum
    _scale((454, 223901), 1, 6),
    _scale((723, 223900), 1, 5),
    _scale((198,), 3, 15),
)  # fmt: skip
_VARIABLE_OF = {item: number for number, v in enumerate(_VARIABLES) for item in v.items}


def mimic3_demo(folder: Path) -> Split:
    """Read the demo: every hour of every stay is a sample of the last 48 hours.

    Stays of children, stays with a transfer between units, and hospital admissions with several
    stays are left out. A value is the last one of its hour; it is carried forward, and is normal
    before the first measurement. Numbers are standardized with the training part.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        A fifth of the patients are the test part. The first five hours of a stay have no label.
    """
    path = DATASETS["mimic3-demo"].find(folder)
    stays = _stays(path)
    hourly = _hourly_values(stays, _measurements(path, stays))
    patients = stays["subject_id"].unique()
    n_test = max(1, round(_TEST_SHARE * len(patients)))
    test = np.random.default_rng(0).choice(np.sort(patients), n_test, replace=False)
    in_test = stays["subject_id"].isin(test).to_numpy()
    training = np.concatenate(
        [values for values, out in zip(hourly, in_test, strict=True) if not out]
    )
    n_numbers = sum(not variable.categories for variable in _VARIABLES)
    mean, deviation = training[:, :n_numbers].mean(0), training[:, :n_numbers].std(0)
    for values in hourly:
        values[:, :n_numbers] -= mean
        values[:, :n_numbers] /= np.where(deviation > 0, deviation, 1)
    hours = stays["hours"].to_numpy()
    parts = (
        _windows([hourly[k] for k in rows], hours[rows])
        for rows in (np.flatnonzero(~in_test), np.flatnonzero(in_test))
    )
    (X_train, y_train), (X_test, y_test) = parts
    return Split(X_train, y_train, X_test, y_test)  # type: ignore[arg-type]


def _table(folder: Path, name: str, columns: list[str]) -> Iterator[pd.DataFrame]:
    """Read columns of a table in pieces; names of files and columns are in capitals or not."""
    import pandas as pd

    names = (f"{text}.csv{suffix}" for text in (name, name.lower()) for suffix in ("", ".gz"))
    path = next((folder / n for n in names if (folder / n).exists()), folder / f"{name}.csv")
    with (
        reading(path),
        pd.read_csv(
            path, usecols=lambda text: text.lower() in columns, chunksize=1 << 20, low_memory=False
        ) as pieces,
    ):
        for piece in pieces:
            piece.columns = piece.columns.str.lower()
            if missing := set(columns) - set(piece.columns):
                raise ValueError(f"there is no column {min(missing)!r}")
            yield piece


def _stays(folder: Path) -> pd.DataFrame:
    """Stays that are used, with their length in hours."""
    import pandas as pd

    columns = ["subject_id", "hadm_id", "icustay_id", "first_careunit", "last_careunit",
               "first_wardid", "last_wardid", "intime", "outtime"]  # fmt: skip
    stays = pd.concat(_table(folder, "ICUSTAYS", columns))
    born = pd.concat(_table(folder, "PATIENTS", ["subject_id", "dob"])).set_index("subject_id")
    for name in ("intime", "outtime"):
        stays[name] = pd.to_datetime(stays[name])
    age = (
        stays["intime"] - pd.to_datetime(born["dob"]).reindex(stays["subject_id"]).to_numpy()
    ).dt.days
    stays["hours"] = (stays["outtime"] - stays["intime"]).dt.total_seconds() / 3600
    stayed = stays["first_careunit"].eq(stays["last_careunit"])
    stayed &= stays["first_wardid"].eq(stays["last_wardid"])
    only = ~stays["hadm_id"].duplicated(keep=False)
    kept = stays[stayed & only & (age >= _LEAST_AGE * _YEAR) & (stays["hours"] > 0)]
    return kept.sort_values(["subject_id", "intime"]).reset_index(drop=True)


def _measurements(folder: Path, stays: pd.DataFrame) -> pd.DataFrame:
    """Stay, hour, variable and value of all measurements, in the order of time."""
    import pandas as pd

    columns = ["hadm_id", "itemid", "charttime", "value", "valuenum"]
    pieces = []
    for name in ("CHARTEVENTS", "LABEVENTS"):
        for piece in _table(folder, name, columns):
            known = piece[
                piece["itemid"].isin(_VARIABLE_OF) & piece["hadm_id"].isin(stays["hadm_id"])
            ]
            known = known.assign(value=_converted(known))[known.columns.drop("valuenum")]
            pieces.append(known.dropna(subset=["value"]))
    found = pd.concat(pieces)
    found["charttime"] = pd.to_datetime(found["charttime"])
    found = found.merge(stays.reset_index(names="stay")[["stay", "hadm_id", "intime", "hours"]])
    found = found.sort_values("charttime", kind="stable")
    hour = (found["charttime"] - found["intime"]).dt.total_seconds() / 3600
    found = found.assign(hour=hour, variable=found["itemid"].map(_VARIABLE_OF))
    return found[(found["hour"] >= 0) & (found["hour"] < found["hours"])]


def _converted(rows: pd.DataFrame) -> pd.Series:
    """Values in the units of the variables; values that are not plausible are missing."""
    import pandas as pd

    item, value = rows["itemid"], pd.to_numeric(rows["valuenum"], errors="coerce").astype(float)
    text = rows["value"].astype("string").str.lower()
    refill = item.isin(_CAPILLARY_REFILL)
    value[refill & text.str.startswith(("normal", "brisk"), na=False)] = 0.0
    value[refill & text.str.startswith(("abnormal", "delayed"), na=False)] = 1.0
    value[item.isin(_FAHRENHEIT)] = (value - 32) / 1.8
    value[item.isin(_INCHES)] *= 2.54
    value[item.isin(_POUNDS)] *= 0.45359237
    value[item.isin(_OUNCES)] *= 0.028349523
    percent = item.isin(_FRACTION_OF_OXYGEN) & (value > 1.1)
    value[percent] /= 100
    variables = [_VARIABLES[number] for number in item.map(_VARIABLE_OF)]
    low, high = (np.array([v.plausible[end] for v in variables]) for end in (0, 1))
    smallest, largest = (np.array([v.valid[end] for v in variables]) for end in (0, 1))
    return value.where((value >= low) & (value <= high)).clip(smallest, largest)


def _hourly_values(stays: pd.DataFrame, found: pd.DataFrame) -> list[np.ndarray]:
    """Values of every hour of a stay: numbers first, then one channel per category."""
    by_stay = {number: rows for number, rows in found.groupby("stay")}
    hourly = []
    for stay, hours in enumerate(stays["hours"]):
        last = np.full((int(np.ceil(hours)), len(_VARIABLES)), np.nan, np.float32)
        if (rows := by_stay.get(stay)) is not None:
            # In the order of time: the last value of an hour remains.
            last[rows["hour"].astype(int), rows["variable"]] = rows["value"]
        columns = []
        for number, variable in enumerate(_VARIABLES):
            values = _carried_forward(last[:, number], variable.normal)
            if variable.categories:
                values = np.rint(values)[:, None] == np.array(variable.categories)
            columns.append(values.reshape(len(last), -1).astype(np.float32))
        hourly.append(np.concatenate(columns, axis=1))
    return hourly


def _carried_forward(values: np.ndarray, before: float) -> np.ndarray:
    """Replace missing values by the last one, or by `before` if there is none."""
    positions = np.where(np.isnan(values), -1, np.arange(len(values)))
    latest = np.maximum.accumulate(positions)
    return np.where(latest < 0, before, values[latest])


def _windows(hourly: list[np.ndarray], hours: np.ndarray) -> tuple[Windows, np.ndarray]:
    """Windows of 48 hours, and classes of what is left of the stay; unlabeled ones come last."""
    lengths = np.array([len(values) for values in hourly])
    start = np.cumsum(lengths) - lengths
    first = np.repeat(start, lengths)
    elapsed = np.arange(lengths.sum()) - first + 1
    left = np.repeat(hours, lengths) - elapsed
    known = (elapsed > _FIRST_LABEL) & (left >= 0)
    rows = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
    y = np.full(len(rows), UNLABELED, dtype=np.int64)
    y[: known.sum()] = length_of_stay_class(left[known])
    return Windows(np.concatenate(hourly), first, rows), y
