"""Values of a column as numbers, dates or text, whatever a frame holds them as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aleator.inputs.frames.base import INSTANT, NUMERIC, Frame, Kind

Place = Callable[[int], str]

# Text that stands for a missing value, in any case. "None" is also a word, but a category of its
# own is made of missing values, so that nothing is lost.
NULL_WORDS = frozenset(
    ["", "?", "-", "--", ".", "...", "na", "n/a", "#n/a", "#na", "nan", "-nan", "null", "none",
     "nil", "<na>", "#n/a n/a", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", "nat"]
)  # fmt: skip


def import_pandas() -> Any:
    """Import pandas, or say how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("columns of text need pandas: pip install 'aleator[tables]'") from error
    return pandas


def texts_of(frame: Frame, column: int) -> list[str | None]:
    """Return the text of a column; None where it is missing or a word for that.

    Examples
    --------
    >>> import pandas as pd
    >>> from aleator.inputs.frames import as_frame
    >>> texts_of(as_frame(pd.DataFrame({"city": ["Rome", " ? ", None]})), 0)
    ['Rome', None, None]
    """
    return [
        None if value is None or value.lower() in NULL_WORDS else value
        for value in frame.texts(column)
    ]


def numbers_of(frame: Frame, column: int, place: Place, *, strict: bool) -> np.ndarray:
    """Return the numbers of a column; NaN where they are missing.

    Parameters
    ----------
    frame : Frame
        Rows.
    column : int
        Position of the column.
    place : callable
        How messages name a row.
    strict : bool
        Whether text that is no number is an error; else it is missing.

    Returns
    -------
    ndarray of shape (n,), float64

    Examples
    --------
    >>> import pandas as pd
    >>> from aleator.inputs.frames import as_frame
    >>> frame = as_frame(pd.DataFrame({"pay": ["1.5", "?", "much"]}))
    >>> numbers_of(frame, 0, str, strict=False).tolist()
    [1.5, nan, nan]
    """
    kind = frame.kind(column)
    if kind is Kind.EMPTY:
        return np.full(len(frame), np.nan)
    if kind in (Kind.TEXT, Kind.CATEGORY):
        return _parsed_numbers(frame, column, place, strict=strict)
    if kind not in NUMERIC:
        raise _of_another_kind(frame, column, "numbers")
    values = frame.numbers(column)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(
            f"X contains an infinity (inf) in {place(int(infinite[0]))}, column "
            f"{frame.names[column]!r}: replace it by a number, or by a missing value"
        )
    return values


def instants_of(frame: Frame, column: int, format: str | None) -> np.ndarray:
    """Return the dates of a column; NaT where they are missing, or text of another format.

    Parameters
    ----------
    frame : Frame
        Rows.
    column : int
        Position of the column.
    format : str or None
        Format of dates that are text; None is that of ISO 8601.

    Returns
    -------
    ndarray of shape (n,), datetime64[us]

    Examples
    --------
    >>> import pandas as pd
    >>> from aleator.inputs.frames import as_frame
    >>> frame = as_frame(pd.DataFrame({"hired": ["09/22/1986", "soon"]}))
    >>> instants_of(frame, 0, "%m/%d/%Y").astype("datetime64[D]").tolist()
    [datetime.date(1986, 9, 22), None]
    """
    kind = frame.kind(column)
    if kind is Kind.EMPTY:
        return np.full(len(frame), np.datetime64("NaT"), INSTANT)
    if kind is Kind.DATE:
        return frame.instants(column)
    if kind not in (Kind.TEXT, Kind.CATEGORY):
        raise _of_another_kind(frame, column, "dates")
    return parsed_instants(texts_of(frame, column), format)


def parsed_instants(texts: list[str | None], format: str | None) -> np.ndarray:
    """Return the dates that text of one format stands for; NaT for any other text.

    Examples
    --------
    >>> parsed_instants(["2024-02-01", None, "x"], "%Y-%m-%d").astype("datetime64[D]").tolist()
    [datetime.date(2024, 2, 1), None, None]
    """
    pandas = import_pandas()
    values = pandas.Series(texts, dtype=object)
    found = pandas.to_datetime(
        values, format=format or "ISO8601", errors="coerce", utc="%z" in (format or "%z")
    )
    if getattr(found.dtype, "tz", None) is not None:
        found = found.dt.tz_localize(None)
    return found.to_numpy().astype(INSTANT)


def parsed_numbers(texts: list[str | None]) -> np.ndarray:
    """Return the numbers that text stands for; NaN for any other text.

    Examples
    --------
    >>> parsed_numbers(["1e3", None, "x"]).tolist()
    [1000.0, nan, nan]
    """
    pandas = import_pandas()
    values = pandas.Series(texts, dtype=object)
    found = pandas.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(found), found, np.nan)


def _parsed_numbers(frame: Frame, column: int, place: Place, *, strict: bool) -> np.ndarray:
    texts = texts_of(frame, column)
    values = parsed_numbers(texts)
    if strict:
        for row in np.flatnonzero(np.isnan(values)).tolist():
            if texts[row] is not None:
                raise ValueError(
                    f"column {frame.names[column]!r} held numbers in training, but {place(row)} "
                    f"holds {texts[row]!r:.60}: replace it by a number, or by a missing value"
                )
    return values


def _of_another_kind(frame: Frame, column: int, expected: str) -> ValueError:
    kind = frame.kind(column)
    return ValueError(
        f"column {frame.names[column]!r} held {expected} in training, but now it holds values of "
        f"the kind {kind.value!r}: convert it"
    )
