"""Files of the format .ts, in which the UCR and UEA archives and aeon keep series."""

from __future__ import annotations

import gzip
import os
import zlib
from array import array
from pathlib import Path

import numpy as np

from aleator.exceptions import DamagedFileError
from aleator.inputs.series.source import SeriesSource

ENDINGS = (".ts", ".ts.gz")
# A value and its comma are two characters or more, and eight bytes in memory. More are for channels
# of different lengths. In all, no file may take more than ten times its size and some megabytes.
_BYTES_PER_CHARACTER = 5
_SPARE_BYTES = 8 << 20
# How much of a channel is divided at commas at once: the text of one value takes fifty bytes.
_CHARACTERS_AT_ONCE = 1 << 16
_MISSING = ("?", "", "nan", "none")


def is_ts_path(path: object) -> bool:
    """Whether an object is a path with the ending of such a file.

    Examples
    --------
    >>> is_ts_path("GunPoint_TRAIN.ts"), is_ts_path("notes.txt")
    (True, False)
    """
    return isinstance(path, (str, os.PathLike)) and os.fspath(path).lower().endswith(ENDINGS)


def read_ts(path: str | os.PathLike[str]) -> SeriesSource:
    r"""Read a file of series, with their labels if it has any.

    Parameters
    ----------
    path : str or path-like
        The file; its name may end in .gz.

    Returns
    -------
    SeriesSource
        Series of shape (channels, time); "?" is NaN. Labels are text, or numbers if the file says
        ``@targetlabel``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "example.ts")
    ...     _ = path.write_text("@classLabel true a b\n@data\n1,2,?:4,5,6:a\n7:8:b\n")
    ...     series = read_ts(path)
    >>> series.gather(np.array([0]))[0].tolist(), series.labels.tolist()
    ([[1.0, 2.0, nan], [4.0, 5.0, 6.0]], ['a', 'b'])
    """
    opener = gzip.open if os.fspath(path).lower().endswith(".gz") else open
    if not Path(path).exists():
        raise FileNotFoundError(f"X is the path {os.fspath(path)!r}, but there is no such file")
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DamagedFileError(f"{os.fspath(path)} cannot be read: {error}") from error
    settings, rows = _split(lines, path)
    if settings.get("timestamps", "").startswith("true"):
        raise ValueError(
            f"{os.fspath(path)} has time stamps, which are not read: pass the observations as a "
            "data frame to open_series(frame, id=…, time=…)"
        )
    is_number = settings.get("targetlabel", "").startswith("true")
    labeled = is_number or settings.get("classlabel", "").startswith("true")
    series, labels = [], []
    cells, characters = 0, sum(map(len, lines))
    for number, line in rows:
        parts = line.split(":")
        if labeled:
            labels.append(parts.pop().strip())
        place = f"line {number} of {os.fspath(path)}"
        read = _parse(parts, place)
        cells += len(read) * max(map(len, read))
        if 8 * cells > _BYTES_PER_CHARACTER * characters + _SPARE_BYTES:
            raise DamagedFileError(
                f"{place} has {len(read)} channels and up to {max(map(len, read))} steps: with all "
                f"channels of a series as long as its longest, the {characters} characters of the "
                "file would take far more memory than the file; leave out empty channels"
            )
        series.append(_as_array(read))
    if not series:
        raise ValueError(f"{os.fspath(path)} holds no series")
    # As objects, texts take as much memory as they are long; in an array of text, as the longest.
    try:
        found = np.array(labels, np.float64 if is_number else object) if labeled else None
    except ValueError as error:
        raise DamagedFileError(
            f"{os.fspath(path)} has a label that is no number: {error}"
        ) from error
    return SeriesSource(series, found)


def _split(
    lines: list[str], path: str | os.PathLike[str]
) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """Return settings of the header, and the lines after ``@data`` with their numbers."""
    settings: dict[str, str] = {}
    for number, line in enumerate(lines):
        if line.lower() == "@data":
            rows = [(k, row) for k, row in enumerate(lines[number + 1 :], number + 2) if row]
            return settings, [(k, row) for k, row in rows if not row.startswith("#")]
        if line.startswith("@"):
            name, _, value = line[1:].partition(" ")
            settings[name.lower()] = value.strip().lower()
    raise DamagedFileError(f"{os.fspath(path)} is not a file of series: it has no line '@data'")


def _parse(channels: list[str], place: str) -> list[array[float]]:
    if not channels:
        raise DamagedFileError(f"{place} holds no series")
    return [_numbers(channel, place) for channel in channels]


def _numbers(channel: str, place: str) -> array[float]:
    numbers = array("d")
    start = 0
    while start <= len(channel):
        end = channel.find(",", start + _CHARACTERS_AT_ONCE)
        end = len(channel) if end < 0 else end
        for text in channel[start:end].split(","):
            text = text.strip()
            try:
                numbers.append(np.nan if text.lower() in _MISSING else float(text))
            except ValueError:
                raise DamagedFileError(
                    f"{place} holds {text!r:.40}, which is not a number"
                ) from None
        start = end + 1
    return numbers


def _as_array(values: list[array[float]]) -> np.ndarray:
    longest = max(map(len, values))
    whole = np.full((len(values), longest), np.nan)
    for row, numbers in enumerate(values):
        whole[row, : len(numbers)] = numbers
    return whole
