"""Choosing what becomes of every column, from rows of the training data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from aleator.inputs.frames import Frame, Kind
from aleator.inputs.tables.encoders import (
    Categories,
    ColumnEncoder,
    Dates,
    LeftOut,
    Numbers,
    TimesOfDay,
)
from aleator.inputs.tables.ngrams import MOST_DIRECTIONS, NGrams
from aleator.inputs.tables.values import import_pandas, parsed_instants, parsed_numbers, texts_of

# Columns of text with more different values than this are described by their n-grams.
_MOST_CATEGORIES = 40
# With many columns, each of them gets less features, so that there are about this many in all.
_MOST_OUTPUTS = 4096
_FEWEST_CATEGORIES, _FEWEST_DIRECTIONS = 8, 4
# A category that fewer than one row in a thousand has is rare.
_ROWS_PER_RARE = 1000

_NUMERIC = (Kind.NUMBER, Kind.BOOLEAN, Kind.DURATION)


def choose_encoders(frame: Frame) -> list[ColumnEncoder]:
    """Choose and learn an encoder for every column of a frame.

    Parameters
    ----------
    frame : Frame
        Rows of the training data.

    Returns
    -------
    list of ColumnEncoder

    Examples
    --------
    >>> from aleator.inputs.frames import as_frame
    >>> [encoder.treatment for encoder in choose_encoders(as_frame(np.eye(2)))]
    ['number', 'number']
    """
    kinds = [frame.kind(column) for column in range(len(frame.names))]
    texts = {
        column: texts_of(frame, column)
        for column, kind in enumerate(kinds)
        if kind in (Kind.TEXT, Kind.CATEGORY)
    }
    parsed = _parsed_columns({c: texts[c] for c, kind in enumerate(kinds) if kind is Kind.TEXT})
    words = [column for column in texts if column not in parsed]
    share = _MOST_OUTPUTS // max(1, len(words))
    most = int(np.clip(share, _FEWEST_CATEGORIES, _MOST_CATEGORIES))
    encoders: list[ColumnEncoder] = []
    for column, kind in enumerate(kinds):
        if column in parsed:
            encoders.append(parsed[column])
        elif column in texts:
            directions = int(np.clip(share, _FEWEST_DIRECTIONS, MOST_DIRECTIONS))
            encoders.append(_encoder_of_words(texts[column], most, directions))
        elif kind is Kind.EMPTY:
            encoders.append(LeftOut())
        elif kind in _NUMERIC:
            encoders.append(Numbers())
        else:
            encoders.append(TimesOfDay() if kind is Kind.TIME else Dates())
    return encoders


def _encoder_of_words(texts: list[str | None], most: int, directions: int) -> ColumnEncoder:
    counts = Counter(texts)
    missing = counts.pop(None, 0) > 0
    if not counts:
        return LeftOut()
    if len(counts) > most:
        # Directions need several values each.
        return NGrams.learn(texts, max(2, min(directions, len(counts) // 4)))
    least = math.ceil(len(texts) / _ROWS_PER_RARE)
    kept = sorted(str(category) for category, count in counts.items() if count >= least)
    return Categories(tuple(kept), missing, len(counts) - len(kept))


def _parsed_columns(texts: Mapping[int, list[str | None]]) -> dict[int, ColumnEncoder]:
    """Return the encoders of those columns of text that are numbers or dates."""
    found: dict[int, ColumnEncoder] = {}
    candidates = {column: values for column, values in texts.items() if any(values)}
    if not candidates:
        return found
    vectorizer = _fitted_vectorizer(candidates)
    for column, values in candidates.items():
        kind = vectorizer.column_to_kind_[str(column)]
        known = np.array([value is not None for value in values])
        if kind == "numeric" and np.isfinite(parsed_numbers(values)[known]).all():
            found[column] = Numbers(from_text=True)
        elif kind == "datetime":
            format = _date_format(vectorizer.all_processing_steps_[str(column)])
            if not np.isnat(parsed_instants(values, format)[known]).any():
                found[column] = Dates(format)
    return found


def _fitted_vectorizer(texts: Mapping[int, list[str | None]]) -> Any:
    try:
        import skrub
    except ImportError as error:
        raise ImportError(
            "finding dates and numbers in columns of text needs skrub: "
            "pip install 'aleator[tables]', or convert them to categories first"
        ) from error
    pandas = import_pandas()
    unchanged = dict.fromkeys(
        ["low_cardinality", "high_cardinality", "numeric", "datetime"], "passthrough"
    )
    frame = pandas.DataFrame(
        {str(column): pandas.Series(values, dtype=object) for column, values in texts.items()}
    )
    return skrub.TableVectorizer(**unchanged).fit(frame)


def _date_format(steps: list[Any]) -> str | None:
    formats = [getattr(step, "format_", None) for step in steps]
    return next((format for format in formats if format is not None), None)
