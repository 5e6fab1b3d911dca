"""Series as they are published: of different lengths, with gaps, and at irregular times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.datasets.physionet2012 import read_stays

Parts = tuple[Any, np.ndarray, Any, np.ndarray]


def load_japanese_vowels(folder: str | Path) -> Parts:
    """Read the vowels of nine speakers: 12 channels, 7 to 29 steps.

    Parameters
    ----------
    folder : str or Path
        Folder of the data sets, with ``JapaneseVowels_TRAIN.ts`` and ``JapaneseVowels_TEST.ts``,
        or both as ``.ts.gz`` in the folder ``ucr``.

    Returns
    -------
    X_train, y_train, X_test, y_test : SeriesSource and ndarray of shape (n,)
        The publisher's split, of 270 and 370 series. Labels are the speakers.
    """
    from aleator import open_series

    paths = DATASETS["japanese-vowels"].paths(Path(folder))
    train, test = (open_series(path) for path in paths)
    return train, np.asarray(train.labels), test, np.asarray(test.labels)


def load_physionet2012(folder: str | Path) -> Parts:
    """Read intensive-care stays as observations of 41 variables at irregular times.

    Values are as they were published, -1 for an unknown height or sex included.

    Parameters
    ----------
    folder : str or Path
        Folder of the data sets, with ``set-a``, ``set-b`` and the outcomes of both, or
        ``physionet2012.npz``.

    Returns
    -------
    X_train, y_train, X_test, y_test : EventSeries and ndarray of shape (n,)
        Sets a and b, of 4000 stays each. Labels say who died in the hospital.
    """
    import pandas as pd

    from aleator import open_series

    parts: list[Any] = []
    for group, part in enumerate("ab"):
        stays = read_stays(Path(folder), group, part)
        frame = pd.DataFrame(
            {
                "stay": stays.stay,
                "minute": stays.minute,
                "variable": np.array(stays.names)[stays.name],
                "value": stays.value,
            }
        )
        series = open_series(frame, id="stay", time="minute", variable="variable", value="value")
        parts += [series, stays.died[series.ids]]
    return tuple(parts)
