"""Which objects are texts, and a source of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aleator.inputs.sources import Schema, Source

_ROWS_PER_CHUNK = 1 << 10
# Elements of a list that are looked at before all of them are.
_FIRST = 16


class TextSource(Source):
    """Texts in memory; a missing one is None.

    Parameters
    ----------
    texts : ndarray of shape (n,), dtype object
        The texts.

    Examples
    --------
    >>> TextSource(np.array(["a", None, "c"], object)).gather(np.array([2, 0])).tolist()
    ['c', 'a']
    """

    in_memory = True
    modality = "text"

    def __init__(self, texts: np.ndarray) -> None:
        self.texts = texts
        self.schema = Schema((), np.dtype(object))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def rows_per_chunk(self) -> int:
        """Texts per chunk if nothing else is asked for."""
        return _ROWS_PER_CHUNK

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the texts at `index`, in that order."""
        return self.texts[index]

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return the texts at `index` as bytes, to compare them."""
        return repr(self.texts[index].tolist()).encode()


def as_texts(X: Any, *, asked: bool = False) -> TextSource | None:
    """Return X as a source if it is texts: a list, an array of one axis, or a column of a frame.

    Parameters
    ----------
    X : object
        What a user passed as X.
    asked : bool, default=False
        Whether X must be texts; then a value that is none is an error, also the first one, and an
        array may have a second axis of length one.

    Returns
    -------
    TextSource or None
        None if X is something else. None, NaN and what the library of X has for a missing value are
        None.

    Examples
    --------
    >>> as_texts(["one", None, b"three"]).texts.tolist()
    ['one', None, 'three']
    >>> as_texts([1.0, 2.0]) is None
    True
    """
    values = _values(X, asked)
    if values is None:
        return None
    if not asked and not any(isinstance(value, (str, bytes)) for value in values[:_FIRST]):
        known = (value for value in values if not _is_missing(value))
        if not isinstance(next(known, None), (str, bytes)):
            return None
    found = np.empty(len(values), object)
    for row, value in enumerate(values):
        found[row] = checked_text(value, f"row {row}")
    return TextSource(found)


def checked_text(value: Any, place: str) -> str | None:
    r"""Return a text, decoded if it is bytes; None if it is missing; or raise ValueError.

    Examples
    --------
    >>> checked_text(b"caf\xc3\xa9", "row 0")
    'café'
    """
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{place} of X holds bytes that are not UTF-8 (byte {error.start} is "
                f"0x{value[error.start]:02x}): decode them with their encoding first"
            ) from error
    if isinstance(value, str):
        # Also subclasses, such as NumPy's; halves of surrogate pairs are no text.
        text = str(value)
        try:
            if not text.isascii():
                text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{place} of X holds half of a surrogate pair (at character {error.start}), which "
                "is not Unicode text: read it with its encoding"
            ) from error
        return text
    if _is_missing(value):
        return None
    raise ValueError(
        f"{place} of X is {type(value).__name__} ({value!r:.60}), but the others are text: convert "
        "all of them to text"
    )


def _values(X: Any, asked: bool) -> Sequence[Any] | None:
    """Return the values of a sequence of one axis as Python objects; None if X is none."""
    if isinstance(X, (list, tuple)):
        return X
    library = type(X).__module__.partition(".")[0]
    if isinstance(X, np.ndarray):
        if asked and X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]
        return X.tolist() if X.ndim == 1 and X.dtype.kind in "OUST" else None
    if library == "pandas" and X.ndim == 1:
        return None if X.dtype.kind in "biufcmM" else X.astype(object).tolist()
    if library == "polars" and hasattr(X, "to_list") and hasattr(X, "dtype"):
        return None if X.dtype.is_numeric() or X.dtype.is_temporal() else X.to_list()
    if library == "pyarrow" and hasattr(X, "to_pylist") and hasattr(X, "type"):
        return X.to_pylist()
    return None


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value
