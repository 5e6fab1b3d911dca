"""Series of different lengths with gaps, in all forms that people have them in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch

from aleator import RandomFeatures, open_series

NAN = np.nan


def ragged(n=24, channels=2, low=1, high=12, gaps=0.2, seed=0):
    random = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        one = random.normal(size=(channels, random.integers(low, high))).cumsum(1)
        one[random.random(one.shape) < gaps] = NAN
        one[0, -1] = 1.0  # else its end would depend on chance
        made.append(one)
    return made


def padded(series, longest=None):
    whole = np.full((len(series), len(series[0]), longest or max(s.shape[1] for s in series)), NAN)
    for row, one in enumerate(series):
        whole[row, :, : one.shape[1]] = one
    return whole


def long_frame(series):
    rows = [
        (f"s{k}", step, name, float(one[channel, step]))
        for k, one in enumerate(series)
        for step in range(one.shape[1])
        for channel, name in enumerate("ab")
        if not np.isnan(one[channel, step])
    ]
    return pd.DataFrame(rows, columns=["id", "time", "what", "value"])


def wide_frame(series):
    parts = [
        pd.DataFrame({"id": f"s{k}", "time": np.arange(one.shape[1]), "a": one[0], "b": one[1]})
        for k, one in enumerate(series)
    ]
    return pd.concat(parts, ignore_index=True)


def nested(series):
    return pd.DataFrame({n: [pd.Series(one[k]) for one in series] for k, n in enumerate("ab")})


def _objects(series):
    made = np.empty(len(series), object)
    made[:] = series
    return made


FORMS = {
    "list": list,
    "array of objects": lambda series: _objects(series),
    "tensors": lambda series: [torch.from_numpy(one) for one in series],
    "array with NaN": padded,
    "frames": lambda series: [pd.DataFrame(one.T, columns=["a", "b"]) for one in series],
    "nested": nested,
    "polars lists": lambda series: pl.DataFrame(
        {n: [one[k].tolist() for one in series] for k, n in enumerate("ab")}
    ),
    "pyarrow lists": lambda series: pa.table(
        {n: [one[k].tolist() for one in series] for k, n in enumerate("ab")}
    ),
    "open_series": open_series,
}


def features(X, **parameters):
    model = RandomFeatures(n_features=12, random_state=0, **parameters)
    return model.fit(X).transform(X)
