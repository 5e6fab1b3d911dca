"""Reader of the PhysioNet Challenge 2012, an open intensive-care data set."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.files import opened, reading
from aleator.benchmark.datasets.mimic3 import STEPS, length_of_stay_class
from aleator.benchmark.datasets.split import Split

_MEASURED = (
    "ALP ALT AST Albumin BUN Bilirubin Cholesterol Creatinine DiasABP FiO2 GCS Glucose HCO3 HCT HR "
    "K Lactate MAP MechVent Mg NIDiasABP NIMAP NISysABP Na PaCO2 PaO2 Platelets RespRate SaO2 "
    "SysABP Temp TroponinI TroponinT Urine WBC Weight pH"
).split()
_UNITS = [f"ICUType {kind}" for kind in (1, 2, 3, 4)]
CHANNELS = ["Age", "Gender", "Height", *_UNITS, *_MEASURED]
_NAMES = {"Age", "Gender", "Height", "ICUType", *_MEASURED}
_QUANTILES = (0.001, 0.999)  # values beyond them are likely to be typing errors


@dataclass(frozen=True)
class Stays:
    """Measurements in long form, and what became of the stays.

    Attributes
    ----------
    names : list of str
        What is measured.
    stay, minute, name : ndarray of shape (m,), int64
        Stay and minute of every measurement, and its place in `names`.
    value : ndarray of shape (m,), float32
        Its value; -1 if it is unknown.
    days : ndarray of shape (n,), int64
        Length of every stay; -1 if it is unknown.
    died : ndarray of shape (n,), int64
        Whether the patient died in the hospital.
    """

    names: list[str]
    stay: np.ndarray
    minute: np.ndarray
    name: np.ndarray  # index into names
    value: np.ndarray
    days: np.ndarray
    died: np.ndarray

    def __post_init__(self) -> None:
        if unknown := set(self.names) - _NAMES:
            raise ValueError(f"unknown measurement {min(unknown)!r}")
        units = self.value[self.name == self.names.index("ICUType")]
        if not np.isin(units, (1, 2, 3, 4)).all():
            raise ValueError("'ICUType' must be 1, 2, 3 or 4")


def physionet2012(folder: Path) -> Split:
    """Read PhysioNet 2012: the first 48 hours of each stay, with the classes of MIMIC-III.

    Values are means per hour, clipped at the quantiles 0.001 and 0.999 and standardized with the
    statistics of the training part, then carried forward; they are zero before the first
    measurement. Negative values mean 'unknown' and are ignored. The channels are age, sex, height,
    four indicators of the type of unit, and the measurements; mechanical ventilation is an
    indicator too. Stays of unknown length are dropped (60 and 54). A stay of n days counts as 24 n
    hours, and at least as 48, because each was observed for so long: the first two of the ten
    classes do not occur.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.

    Returns
    -------
    split : Split
        Set a is the training part, set b the test part.
    """
    train, test = read_stays(folder, 0, "a"), read_stays(folder, 1, "b")
    X_train, X_test = _hourly(train), _hourly(test)
    for channel in range(len(CHANNELS)):
        values = X_train[:, channel]
        measured = values[~np.isnan(values)].astype(np.float64)
        if not len(measured) or measured.min() == measured.max():
            continue  # an indicator
        low, high = np.quantile(measured, _QUANTILES)
        measured = measured.clip(low, high)
        mean, deviation = measured.mean(), measured.std() or 1
        for X in (X_train, X_test):
            X[:, channel] = (X[:, channel].clip(low, high) - mean) / deviation
    known = [stays.days >= 0 for stays in (train, test)]
    return Split(
        _carry_forward(X_train[known[0]]),
        _classes(train.days[known[0]]),
        _carry_forward(X_test[known[1]]),
        _classes(test.days[known[1]]),
    )


def _classes(days: np.ndarray) -> np.ndarray:
    return length_of_stay_class(np.maximum(24 * days, STEPS))


def read_stays(folder: Path, group: int, part: str) -> Stays:
    """Read the measurements of a set of stays.

    Parameters
    ----------
    folder : Path
        Folder of the data sets.
    group : int
        Place of the set among the files of the data set.
    part : {"a", "b"}
        Name of the set.

    Returns
    -------
    Stays
    """
    info = DATASETS["physionet2012"]
    path = info.find(folder, group)
    if path.suffix == ".npz":
        with reading(path), path.open("rb") as file, np.load(file) as packed:
            return Stays(
                [str(name) for name in packed["params"]],
                packed[f"{part}_rec"].astype(np.int64),
                packed[f"{part}_minute"].astype(np.int64),
                packed[f"{part}_param"].astype(np.int64),
                packed[f"{part}_value"],
                packed[f"{part}_length_of_stay"].astype(np.int64),
                packed[f"{part}_in_hospital_death"].astype(np.int64),
            )
    outcomes = info.find(folder, 2 + group)
    with reading(outcomes):
        table = csv.DictReader(io.StringIO(outcomes.read_text()))
        outcome_of = {
            int(row["RecordID"]): (int(row["Length_of_stay"]), int(row["In-hospital_death"]))
            for row in table
        }
    number_of: dict[str, int] = {}
    long: list[tuple[int, int, int, float]] = []
    with opened(path) as (names, read):
        stems = {PurePosixPath(name).stem: name for name in names if name.endswith(".txt")}
        ids = sorted(int(stem) for stem in stems if stem.isdigit())
        if sorted(outcome_of) != ids:
            raise ValueError(f"{outcomes} lists other stays; are the files complete?")
        for stay, record in enumerate(ids):
            for minute, name, value in _parse_record(read(stems[str(record)]).decode(), record):
                long.append((stay, minute, number_of.setdefault(name, len(number_of)), value))
        indices, values = np.array([row[:3] for row in long]), [row[3] for row in long]
        return Stays(
            list(number_of),
            indices[:, 0],
            indices[:, 1],
            indices[:, 2],
            np.array(values, dtype=np.float32),
            *np.array([outcome_of[record] for record in ids], dtype=np.int64).reshape(-1, 2).T,
        )


def _parse_record(text: str, record: int) -> list[tuple[int, str, float]]:
    lines = text.splitlines()
    if lines[:2] != ["Time,Parameter,Value", f"00:00,RecordID,{record}"]:
        raise ValueError(f"{record}.txt does not begin with the header of record {record}")
    measurements = []
    for line in lines[2:]:
        time, name, value = line.split(",")
        if name:  # a few lines of the original files have no name
            measurements.append((60 * int(time[:-3]) + int(time[-2:]), name, float(value)))
    return measurements


def _hourly(stays: Stays) -> np.ndarray:
    """Return means per hour, stays × channels × 48, with NaN if there is no measurement."""
    keep = stays.value >= 0
    stay, minute, name, value = (
        array[keep] for array in (stays.stay, stays.minute, stays.name, stays.value)
    )
    unit = name == stays.names.index("ICUType")
    first = CHANNELS.index(_UNITS[0])
    channel = np.array([first if n == "ICUType" else CHANNELS.index(n) for n in stays.names])[name]
    channel = np.where(unit, first + value.astype(np.int64) - 1, channel)
    value = np.where(unit, 1, value)
    shape = len(stays.days), len(CHANNELS), STEPS
    cell = np.ravel_multi_index((stay, channel, np.minimum(minute // 60, STEPS - 1)), shape)
    count = np.bincount(cell, minlength=int(np.prod(shape)))
    total = np.bincount(cell, weights=value, minlength=int(np.prod(shape)))
    with np.errstate(invalid="ignore"):
        return (total / count).reshape(shape).astype(np.float32)


def _carry_forward(X: np.ndarray) -> np.ndarray:
    last = np.where(np.isnan(X), -1, np.arange(STEPS))
    last = np.maximum.accumulate(last, axis=-1)
    carried = np.take_along_axis(X, np.maximum(last, 0), axis=-1)
    return np.where(last < 0, np.float32(0), carried)
