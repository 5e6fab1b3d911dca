"""The demo of MIMIC-III, with small files in the format of the published tables."""

import gzip

import numpy as np
import pytest

from aleator.benchmark import datasets

# The header lines of version 1.4 of the demo.
ICUSTAYS = ("row_id,subject_id,hadm_id,icustay_id,dbsource,first_careunit,last_careunit,"
            "first_wardid,last_wardid,intime,outtime,los")  # fmt: skip
PATIENTS = "row_id,subject_id,gender,dob,dod,dod_hosp,dod_ssn,expire_flag"
CHARTEVENTS = ("row_id,subject_id,hadm_id,icustay_id,itemid,charttime,storetime,cgid,value,"
               "valuenum,valueuom,warning,error,resultstatus,stopped")  # fmt: skip
LABEVENTS = "row_id,subject_id,hadm_id,itemid,charttime,value,valuenum,valueuom,flag"
HEIGHT, OXYGEN, HEART_RATE, TEMPERATURE, WEIGHT, PH = 0, 2, 4, 9, 10, 11
REFILL, EYES, SUM = slice(12, 14), slice(14, 18), slice(29, 42)


class Database:
    """Ten patients with a stay of 60 hours each, from midnight."""

    def __init__(self, folder):
        self.folder = folder / "mimic-iii-clinical-database-demo-1.4"
        self.stays = [
            f"{k},{k},{100 + k},{200 + k},metavision,MICU,MICU,50,50,2150-01-01 00:00:00,"
            "2150-01-03 12:00:00,2.5"
            for k in range(10)
        ]
        self.patients = [f"{k},{k},F,2100-01-01 00:00:00,,,,0" for k in range(10)]
        self.charted, self.labs = [], []

    def chart(self, patient, item, time, value, number=None):
        number = value if number is None else number
        self.charted.append(
            f"1,{patient},{100 + patient},{200 + patient},{item},2150-01-0{time},,,{value},"
            f"{number},,0,0,,"
        )

    def write(self):
        self.folder.mkdir(exist_ok=True)
        tables = {"ICUSTAYS": [ICUSTAYS, *self.stays], "PATIENTS": [PATIENTS, *self.patients],
                  "CHARTEVENTS": [CHARTEVENTS, *self.charted],
                  "LABEVENTS": [LABEVENTS, *self.labs]}  # fmt: skip
        for name, lines in tables.items():
            (self.folder / f"{name}.csv").write_text("\n".join(lines) + "\n")

    def load(self):
        self.write()
        return datasets.load("mimic3-demo", self.folder.parent)


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.setenv("ALEATOR_CACHE", str(tmp_path / "cache"))
    made = Database(tmp_path)
    made.chart(0, 220045, "1 02:30:00", 100)
    return made


def last_hours(split):
    """The last step of every labeled window of the part in which something was measured."""
    for X, y in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        steps = np.asarray(X[: (y >= 0).sum(), :, -1])
        varies = np.ptp(steps.reshape(-1, 55, 42), axis=1).max(1) > 0
        if varies.any():
            return steps.reshape(-1, 55, 42)[varies][0]
    raise AssertionError("nothing was measured")


def test_samples_and_labels(database):
    split = database.load()
    # Hours 6 to 60 of a stay have a label, the first five have none.
    assert split.X_train.shape == (8 * 60, 42, 48)
    assert split.X_test.shape == (2 * 60, 42, 48)
    assert (split.y_test[: 2 * 55] >= 0).all()
    assert (split.y_test[2 * 55 :] == -1).all()
    # 54 hours are left after the sixth hour, none after the last.
    assert split.y_test[:55].tolist() == [2] * 7 + [1] * 24 + [0] * 24
    # Windows are padded with zeros in front.
    assert not np.asarray(split.X_test[:1])[0, :, :42].any()


def test_values_are_carried_forward(database):
    database.chart(0, 220739, "1 20:10:00", "To Pain", 2)
    database.chart(0, 220739, "1 20:50:00", "To Speech", 3)  # the last one of the hour counts
    hours = last_hours(database.load())
    # Windows end with hours 6 to 60; hour 21 begins at 20:00.
    assert (hours[:15, EYES] == [0, 0, 0, 1]).all()  # normal before the first measurement
    assert (hours[15:, EYES] == [0, 0, 1, 0]).all()
    assert np.ptp(hours[:, HEART_RATE]) == 0  # measured in the third hour
    assert (hours.sum(1, where=np.r_[[False] * 12, [True] * 30]) == 5).all()  # five scales


@pytest.mark.parametrize(
    ("channel", "item", "value", "same_item", "same"),
    [
        (TEMPERATURE, 223761, 104, 223762, 40), (HEIGHT, 226707, 60, 226730, 152.4),
        (WEIGHT, 226531, 200, 224639, 90.718474), (OXYGEN, 223835, 60, 3420, 0.6),
    ],
)  # fmt: skip
def test_units_are_converted(database, channel, item, value, same_item, same):
    database.chart(0, item, "1 10:00:00", value)
    converted = last_hours(database.load())[:, channel]
    database.charted[-1] = database.charted[0]
    database.chart(0, same_item, "1 10:00:00", same)
    np.testing.assert_allclose(converted, last_hours(database.load())[:, channel], atol=1e-4)
    assert converted.std() > 0


def test_values_that_are_not_plausible_are_ignored(database):
    split = database.load()
    database.chart(0, 220045, "1 12:00:00", 9999)
    database.chart(0, 223830, "1 12:00:00", "error", "")
    database.chart(0, 999999, "1 12:00:00", 1)  # not one of the variables
    database.chart(0, 220045, "4 12:00:00", 60)  # after the stay
    again = database.load()
    np.testing.assert_array_equal(np.asarray(split.X_train[:]), np.asarray(again.X_train[:]))
    np.testing.assert_array_equal(np.asarray(split.X_test[:]), np.asarray(again.X_test[:]))


def test_words_of_capillary_refill(database):
    database.chart(0, 3348, "1 10:00:00", "Delayed", "")
    database.chart(0, 3348, "2 10:00:00", "Normal <3 secs", "")
    hours = last_hours(database.load())[:, REFILL]
    assert hours[:5].tolist() == [[1, 0]] * 5
    assert hours[5:29].tolist() == [[0, 1]] * 24
    assert hours[29:].tolist() == [[1, 0]] * 26


def test_laboratory_values_and_the_sum_of_the_coma_scale(database):
    database.labs.append("1,0,100,50820,2150-01-01 10:00:00,7.1,7.1,units,abnormal")
    database.chart(0, 198, "1 10:00:00", 12)
    hours = last_hours(database.load())
    assert hours[4, PH] > hours[5, PH]
    assert np.argmax(hours[4, SUM]) == 12  # 15, which is normal
    assert np.argmax(hours[5, SUM]) == 9  # 12


def test_children_transfers_and_several_stays_are_left_out(database):
    database.patients[1] = database.patients[1].replace("2100-01-01", "2140-01-01")
    database.stays[2] = database.stays[2].replace("MICU,MICU", "MICU,SICU")
    database.stays[3] = database.stays[3].replace("50,50", "50,51")
    database.stays.append(database.stays[4].replace("4,4,104,204", "11,4,104,304"))
    split = database.load()
    assert len(split.y_train) + len(split.y_test) == 6 * 60


def test_names_in_capitals_and_compressed_files(database):
    split = database.load()
    for path in list(database.folder.iterdir()):
        header, rest = path.read_text().split("\n", 1)
        path.unlink()
        path.with_suffix(".csv.gz").write_bytes(gzip.compress(f"{header.upper()}\n{rest}".encode()))
    again = datasets.load("mimic3-demo", database.folder.parent)
    np.testing.assert_array_equal(np.asarray(split.X_train[:]), np.asarray(again.X_train[:]))


def test_damaged_tables_raise(database):
    database.write()
    path = database.folder / "ICUSTAYS.csv"
    path.write_text(path.read_text().replace("intime", "in"))
    with pytest.raises(ValueError, match=r"ICUSTAYS\.csv .* no column 'intime'"):
        datasets.load("mimic3-demo", database.folder.parent)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="ICUSTAYS"):
        datasets.load("mimic3-demo", database.folder.parent)
    with pytest.raises(FileNotFoundError, match=r"physionet\.org/content/mimiciii-demo"):
        datasets.load("mimic3-demo", database.folder)
