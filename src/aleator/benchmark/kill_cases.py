"""The fits that `aleator.benchmark.kills` kills, and their data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.soak_data import OTHERS, make_data

_ROWS_PER_GROUP, _GROUPS_IN_BUFFER = 100, 2.5  # of a table that is read from a file
_SERIES, _TABLE, _IMAGES = (240, 3, 48), (600, 12), (120, 3, 16, 16)
_FEW = {"embedding_dim": 32, "n_projectors": 4}


@dataclass(frozen=True)
class Case:
    """A fit that is killed: an estimator, its parameters, and the data.

    Data are the shape of an array, which may be in a file, or a kind of `make_data`.
    """

    estimator: str
    data: tuple[int, ...] | str
    parameters: dict[str, Any]
    in_file: bool = False


CASES = {
    "LFR, series": Case("LFR", _SERIES, {**_FEW, "target_dim": 32, "epochs": 30}),
    "LFR, table": Case("LFR", _TABLE, {**_FEW, "target_dim": 32, "epochs": 20}),
    "LFR, file": Case("LFR", _TABLE, {**_FEW, "target_dim": 32, "epochs": 20}, in_file=True),
    "LFR, images": Case("LFR", _IMAGES, {**_FEW, "target_dim": 32, "epochs": 40}),
    # Encoder and predictors in turns, dropout, batch normalization, a schedule, and warm-up.
    "LFR.paper, series": Case(
        "LFR.paper",
        _SERIES,
        {**_FEW, "n_candidates": 8, "predictor": "mlp", "predictor_epochs": 2, "epochs": 10,
         "schedule": "cosine", "warmup_epochs": 2},
    ),
    "SimCLR, table": Case("SimCLR", _TABLE, {"embedding_dim": 64, "epochs": 20}),
    "BYOL, series": Case("BYOL", _SERIES, {"embedding_dim": 64, "epochs": 8}),
    "TSTCC, series": Case("TSTCC", _SERIES, {"epochs": 10}),
    "Supervised, series": Case("Supervised", _SERIES, {"epochs": 30, "schedule": "cosine"}),
    "DIET, table": Case("DIET", _TABLE, {"embedding_dim": 64, "epochs": 20}),
    "Autoencoder, series": Case("Autoencoder", _SERIES, {"epochs": 20}),
    "SimSiam, table": Case("SimSiam", _TABLE, {"embedding_dim": 64, "epochs": 20}),
    "SCARF, table": Case("SCARF", _TABLE, {"embedding_dim": 64, "epochs": 20}),
    "STab, table": Case("STab", _TABLE, {"embedding_dim": 64, "epochs": 20}),
    "DACL, series": Case("DACL", _SERIES, {"embedding_dim": 64, "epochs": 8}),
    **{f"LFR, {kind}": Case("LFR", kind, {**_FEW, "target_dim": 32, "epochs": 200})
       for kind in OTHERS if kind != "file"},
}  # fmt: skip


def data_of(case: Case, place: Path) -> tuple[Any, np.ndarray]:
    """Make the data of a case, the same every time.

    Parameters
    ----------
    case : Case
        The case.
    place : Path
        Folder for files.

    Returns
    -------
    X : object
        What can be passed to `fit`.
    y : ndarray of shape (n,)
        Labels of three classes.

    Examples
    --------
    >>> X, y = data_of(CASES["LFR, series"], Path())
    >>> X.shape, y[:4].tolist()
    ((240, 3, 48), [0, 1, 2, 0])
    """
    if isinstance(case.data, str):
        return make_data(case.data, (0,), place)
    X = np.random.default_rng(0).normal(size=case.data).astype(np.float32)
    y = np.arange(len(X)) % 3
    X[:, ..., 0] += y.reshape(-1, *[1] * (len(case.data) - 2))
    return _opened(place / "rows.parquet", X) if case.in_file else X, y


def _opened(path: Path, X: np.ndarray) -> Any:
    """Open a table larger than the buffer; the first fit of a case writes it."""
    import pandas as pd

    from aleator import open_table

    if not path.exists():
        frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
        frame.to_parquet(path, row_group_size=_ROWS_PER_GROUP)
    buffer_size = int(_GROUPS_IN_BUFFER * _ROWS_PER_GROUP * X.shape[1] * 8)
    opened = open_table(path, buffer_size=buffer_size)
    assert not opened.fits_buffer
    return opened
