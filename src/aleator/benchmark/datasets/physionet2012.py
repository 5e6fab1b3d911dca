"""Reader of the PhysioNet Challenge 2012: open intensive-care data beside MIMIC-III."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from aleator.benchmark.datasets.catalogue import SOURCES
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
_SPAN = (0.001, 0.999)  # quantiles beyond which a value is taken for a slip of the pen


@dataclass(frozen=True)
class _Stays:
    """Measurements in long form (stay, minute, which of `names`, value) and days, -1 if unknown."""

    names: list[str]
    stay: np.ndarray
    minute: np.ndarray
    name: np.ndarray
    value: np.ndarray
    days: np.ndarray

    def __post_init__(self) -> None:
        if unknown := set(self.names) - _NAMES:
            raise ValueError(f"there is no measurement called {min(unknown)!r}")
        units = self.value[self.name == self.names.index("ICUType")]
        if not np.isin(units, (1, 2, 3, 4)).all():
            raise ValueError("'ICUType' should be 1, 2, 3 or 4")


def physionet2012(folder: Path) -> Split:
    """PhysioNet 2012: set a to train on, set b to test on; 48 hours, classes as in MIMIC-III.

    A value is the mean of its hour, cut to all but the most extreme thousandth and standardised, by
    figures of the training part, then carried forward; zero stands where nothing was measured
    before. Negative values mean 'unknown' and are left out. Age, sex and height come first, then
    the kind of unit as four indicators; mechanical ventilation is an indicator too. Stays of
    unknown length are left out (60 and 54). A stay of n days counts as 24 n hours, and as at least
    48, since each was followed for as long: the first two of the ten classes do not occur.
    """
    train, test = _stays(folder, 0, "a"), _stays(folder, 1, "b")
    X_train, X_test = _hourly(train), _hourly(test)
    for channel in range(len(CHANNELS)):
        values = X_train[:, channel]
        seen = values[~np.isnan(values)].astype(np.float64)
        if not len(seen) or seen.min() == seen.max():
            continue  # an indicator
        low, high = np.quantile(seen, _SPAN)
        seen = seen.clip(low, high)
        for X in (X_train, X_test):
            X[:, channel] = (X[:, channel].clip(low, high) - seen.mean()) / (seen.std() or 1)
    known = [stays.days >= 0 for stays in (train, test)]
    return Split(
        _carried_forward(X_train[known[0]]),
        _classes(train.days[known[0]]),
        _carried_forward(X_test[known[1]]),
        _classes(test.days[known[1]]),
    )


def _classes(days: np.ndarray) -> np.ndarray:
    return length_of_stay_class(np.maximum(24 * days, STEPS))


def _stays(folder: Path, group: int, part: str) -> _Stays:
    source = SOURCES["physionet2012"]
    path = source.find(folder, group)
    if path.suffix == ".npz":
        with reading(path), np.load(path) as packed:
            return _Stays(
                [str(name) for name in packed["params"]],
                packed[f"{part}_rec"].astype(np.int64),
                packed[f"{part}_minute"].astype(np.int64),
                packed[f"{part}_param"].astype(np.int64),
                packed[f"{part}_value"],
                packed[f"{part}_length_of_stay"].astype(np.int64),
            )
    outcomes = source.find(folder, 2 + group)
    with reading(outcomes):
        table = csv.DictReader(io.StringIO(outcomes.read_text()))
        days_of = {int(row["RecordID"]): int(row["Length_of_stay"]) for row in table}
    number_of: dict[str, int] = {}
    long: list[tuple[int, int, int, float]] = []
    with opened(path) as (names, read):
        stems = {PurePosixPath(name).stem: name for name in names if name.endswith(".txt")}
        ids = sorted(int(stem) for stem in stems if stem.isdigit())
        if sorted(days_of) != ids:
            raise ValueError(f"{outcomes} is about other stays: are they complete?")
        for at, record in enumerate(ids):
            for minute, name, value in _lines(read(stems[str(record)]).decode(), record):
                long.append((at, minute, number_of.setdefault(name, len(number_of)), value))
        whole, values = np.array([row[:3] for row in long]), [row[3] for row in long]
        return _Stays(
            list(number_of),
            whole[:, 0],
            whole[:, 1],
            whole[:, 2],
            np.array(values, dtype=np.float32),
            np.array([days_of[record] for record in ids], dtype=np.int64),
        )


def _lines(text: str, record: int) -> list[tuple[int, str, float]]:
    lines = text.splitlines()
    if lines[:2] != ["Time,Parameter,Value", f"00:00,RecordID,{record}"]:
        raise ValueError(f"{record}.txt does not begin like the record of stay {record}")
    found = []
    for line in lines[2:]:
        time, what, number = line.split(",")
        if what:  # a few lines of the original files name nothing
            found.append((60 * int(time[:-3]) + int(time[-2:]), what, float(number)))
    return found


def _hourly(stays: _Stays) -> np.ndarray:
    """Mean of each hour: stays × channels × 48, not a number where nothing was measured."""
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


def _carried_forward(X: np.ndarray) -> np.ndarray:
    last = np.where(np.isnan(X), -1, np.arange(STEPS))
    last = np.maximum.accumulate(last, axis=-1)
    carried = np.take_along_axis(X, np.maximum(last, 0), axis=-1)
    return np.where(last < 0, np.float32(0), carried)
