"""The same table as a frame of pandas, polars and pyarrow, from lists of Python values."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

ARROW_TYPES = {
    "number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "text": pa.string(),
    "date": pa.date32(), "instant": pa.timestamp("us"), "time": pa.time64("us"),
    "duration": pa.duration("us"), "category": pa.dictionary(pa.int32(), pa.string()),
}  # fmt: skip
POLARS_TYPES = {
    "number": pl.Float64, "integer": pl.Int64, "boolean": pl.Boolean, "text": pl.String,
    "date": pl.Date, "instant": pl.Datetime("us"), "time": pl.Time, "duration": pl.Duration("us"),
    "category": pl.Categorical,
}  # fmt: skip
PANDAS_TYPES = {
    "number": "float64", "instant": "datetime64[us]", "duration": "timedelta64[us]",
    "category": "category",
}  # fmt: skip


def to_pandas(columns):
    made = {}
    for name, (kind, values) in columns.items():
        dtype = PANDAS_TYPES.get(kind, object)
        if kind in ("integer", "boolean") and None not in values:
            dtype = {"integer": "int64", "boolean": "bool"}[kind]
        elif kind == "integer":
            dtype = "float64"
        made[name] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(made)


def to_polars(columns):
    return pl.DataFrame(
        {name: pl.Series(values, dtype=POLARS_TYPES[kind]) for name, (kind, values) in
         columns.items()}
    )  # fmt: skip


def to_arrow(columns):
    made = {}
    for name, (kind, values) in columns.items():
        if kind == "category":
            made[name] = pa.array(values, pa.string()).dictionary_encode()
        else:
            made[name] = pa.array(values, ARROW_TYPES[kind])
    return pa.table(made)


LIBRARIES = {"pandas": to_pandas, "polars": to_polars, "pyarrow": to_arrow}


def people(n=80, seed=0):
    """A table with a column of every kind, and gaps."""
    random = np.random.default_rng(seed)

    def column(kind, make, share=0.1):
        values = [make(int(i)) for i in random.integers(0, 1000, n)]
        return kind, [None if gap else v for v, gap in zip(values, random.random(n) < share,
                                                           strict=True)]  # fmt: skip

    day = datetime.date(2020, 1, 1)
    start = datetime.datetime(2021, 3, 4, 5, 6)
    cities = ["Rome", "Bonn", "?", "Oslo"]
    words = ["red fox", "blue whale", "old cat", "young dog", "tall bird"]
    return {
        "pay": column("number", lambda i: i / 7),
        "age": column("integer", lambda i: 18 + i % 60),
        "visits": column("integer", lambda i: i % 5, 0),
        "member": column("boolean", lambda i: i % 3 == 0),
        "city": column("text", lambda i: cities[i % 4]),
        "level": column("category", lambda i: ["low", "mid", "high"][i % 3]),
        "note": column("text", lambda i: f"{words[i % 5]} number {i} and {words[i % 3]}"),
        "born": column("date", lambda i: day - datetime.timedelta(days=20 * i)),
        "seen": column("instant", lambda i: start + datetime.timedelta(minutes=77 * i)),
        "alarm": column("time", lambda i: datetime.time(i % 24, i % 60, i % 7)),
        "lasted": column("duration", lambda i: datetime.timedelta(seconds=100 * i)),
        "hired": column("text", lambda i: (day - datetime.timedelta(i)).strftime("%m/%d/%Y")),
        "code": column("text", lambda i: str(i % 9)),
        "none": ("number", [None] * n),
        "same": ("text", ["x"] * n),
    }
