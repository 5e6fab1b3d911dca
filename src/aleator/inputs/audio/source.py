"""Sources of audio clips: in files, or in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from aleator.inputs.audio.wav_files import HIGHEST_RATE, read_header, read_wav
from aleator.inputs.files import is_hidden, natural_order, version_of
from aleator.inputs.sources import Schema, Source, chosen_rows, tensor_to_array

ENDING = ".wav"
_ROWS_PER_CHUNK = 64


class Clip(NamedTuple):
    """A clip: a path, or samples in [-1, 1], with its rate and its number of samples."""

    item: Any
    rate: int
    n_samples: int


class Clips(Source):
    """Audio clips of any length. Files are read when they are needed.

    Made by `open_audio`; see there. It can be passed to estimators as X.

    Parameters
    ----------
    clips : sequence of Clip
        The clips.
    labels : ndarray of shape (n,) or None, default=None
        Names of the folders that they are in.
    root : str, default=""
        Folder to which names in messages are relative.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
        Names of the folders that the clips are in; None if there are no such folders.
    rates : ndarray of shape (n,)
        Samples per second.
    """

    modality = "audio"

    def __init__(
        self, clips: Sequence[Clip], labels: np.ndarray | None = None, root: str = ""
    ) -> None:
        self._clips = list(clips)
        self.labels = labels
        self._root = root
        self.schema = Schema((), np.dtype(object))
        self.in_memory = not any(isinstance(clip.item, str) for clip in clips)

    def __len__(self) -> int:
        return len(self._clips)

    def __getitem__(self, index: Any) -> Self:
        """Return some of the clips, with their labels: those of a slice, a mask or positions."""
        chosen = chosen_rows(len(self), index)
        labels = None if self.labels is None else self.labels[chosen]
        return type(self)([self._clips[row] for row in chosen], labels, self._root)

    @property
    def rates(self) -> np.ndarray:
        """Samples per second of every clip."""
        return np.array([clip.rate for clip in self._clips], np.int64)

    @property
    def lengths(self) -> np.ndarray:
        """Number of samples of every clip."""
        return np.array([clip.n_samples for clip in self._clips], np.int64)

    @property
    def rows_per_chunk(self) -> int:
        """Clips per chunk if nothing else is asked for."""
        return _ROWS_PER_CHUNK

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the clips at `index`: an array of arrays of samples."""
        found = np.empty(len(index), object)
        for position, row in enumerate(np.asarray(index).tolist()):
            item = self._clips[row].item
            wave = read_wav(item)[0] if isinstance(item, str) else item
            if not np.isfinite(wave).all():
                raise ValueError(f"{self.describe_row(row)} of X contains NaN or inf: replace them")
            found[position] = wave
        return found

    def describe_row(self, row: int) -> str:
        """Name a clip by its file, or by its row."""
        item = self._clips[row].item
        if not isinstance(item, str):
            return f"row {row}"
        return item.removeprefix(self._root).lstrip("/\\") if self._root else item

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return what tells clips apart: name, size and time of change of files, or samples."""
        parts = []
        for row in np.asarray(index).tolist():
            clip = self._clips[row]
            if isinstance(clip.item, str):
                parts.append(repr([self.describe_row(row), *version_of(clip.item)]).encode())
            else:
                parts.append(repr(clip.rate).encode() + clip.item.tobytes())
        return b"\n".join(parts)


def open_audio(audio: Any, rate: int | None = None) -> Clips:
    """Open a folder of .wav files, or a list of waveforms, without computing anything.

    The result can be passed to `fit` and `transform` of all estimators that take audio. Files of a
    folder, and of the folders in it, are sorted by path, numbers by their value. Names that begin
    with ``.`` or ``_`` and other files are skipped. Several channels are averaged.

    Parameters
    ----------
    audio : str, path-like, or list of arrays, tensors, paths, or dictionaries
        The folder, or the clips: arrays of shape (samples,), integers or numbers in [-1, 1]; paths
        of .wav files; or dictionaries with "array" and "sampling_rate".
    rate : int, default=None
        Samples per second of arrays.

    Returns
    -------
    Clips
        Its attribute `labels` holds the name of the sub-folder that each file is in, or is None if
        there are no sub-folders. ``clips[index]`` is a part of it.

    Examples
    --------
    >>> clips = open_audio([np.zeros(4000), np.zeros(9000, np.int16)], rate=8000)
    >>> len(clips), clips.lengths.tolist()
    (2, [4000, 9000])
    """
    if isinstance(audio, Clips):
        return audio
    if rate is not None and (
        isinstance(rate, bool)
        or not isinstance(rate, (int, np.integer))
        or not 0 < rate <= HIGHEST_RATE
    ):
        raise ValueError(f"rate must be the number of samples per second, got {rate!r}")
    if not isinstance(audio, (str, os.PathLike)):
        return Clips([_clip(item, rate, f"row {row}") for row, item in enumerate(audio)])
    root = os.fspath(audio)
    if not os.path.isdir(root):
        raise FileNotFoundError(f"there is no folder {root!r}")
    paths = wav_files(root)
    if not paths:
        raise ValueError(f"the folder {root!r} has no files that end in {ENDING}")
    parts = [re.split(r"[/\\]", os.path.relpath(path, root)) for path in paths]
    labels = np.array([part[0] if len(part) > 1 else "" for part in parts])
    has_labels = any(len(part) > 1 for part in parts)
    return Clips([_of_file(path) for path in paths], labels if has_labels else None, root)


def wav_files(root: str) -> list[str]:
    """List the .wav files in a folder and the folders in it."""
    found = (str(path) for path in Path(root).rglob("*") if str(path).lower().endswith(ENDING))
    visible = (path for path in found if not is_hidden(path.removeprefix(root)))
    return sorted((path for path in visible if os.path.isfile(path)), key=natural_order)


def as_audio(X: Any, *, rate: int | None = None, asked: bool = False) -> Clips | None:
    """Return X as a source if it is clips.

    Parameters
    ----------
    X : object
        What a user passed as X.
    rate : int, default=None
        Samples per second of arrays, if it is known.
    asked : bool, default=False
        Whether X is said to be audio; then arrays are clips, too.

    Returns
    -------
    Clips or None
        None if X is something else.

    Examples
    --------
    >>> as_audio([{"array": np.zeros(80), "sampling_rate": 8000}]).rates.tolist()
    [8000]
    >>> as_audio([np.zeros(80), np.zeros(90)]) is None
    True
    """
    if isinstance(X, Clips):
        return X
    if asked and isinstance(X, (np.ndarray, torch.Tensor)) and X.ndim == 2:
        return open_audio(list(X), rate)
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype == object:
        X = X.tolist()
    if not isinstance(X, (list, tuple)) or len(X) == 0:
        return None
    if asked or all(_is_dictionary(item) or _is_wav_path(item) for item in X):
        return open_audio(X, rate)
    return None


def _is_dictionary(item: Any) -> bool:
    return isinstance(item, Mapping) and "array" in item and "sampling_rate" in item


def _is_wav_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike)) and os.fspath(item).lower().endswith(ENDING)


def _of_file(path: str) -> Clip:
    header = read_header(path)
    return Clip(path, header.rate, header.n_samples)


def _clip(item: Any, rate: int | None, place: str) -> Clip:
    if isinstance(item, (str, os.PathLike)):
        return _of_file(os.fspath(item))
    if _is_dictionary(item):
        item, rate = item["array"], int(item["sampling_rate"])
    if rate is None:
        raise ValueError(
            "the number of samples per second is not known: give it as "
            "aleator.open_audio(clips, rate=16000)"
        )
    if isinstance(item, torch.Tensor):
        item = tensor_to_array(item)
    values = np.asarray(item)
    if values.dtype.kind not in "iuf" or values.ndim not in (1, 2):
        raise ValueError(
            f"{place} of X is no clip: it has the shape {values.shape} and the type "
            f"{values.dtype}; give arrays of numbers of shape (samples,)"
        )
    wave = values / _full_scale(values.dtype)
    if wave.ndim == 2:  # the shorter axis counts channels
        wave = wave.mean(axis=int(np.argmin(wave.shape)))
    with np.errstate(over="ignore"):
        return Clip(wave.astype(np.float32), int(rate), len(wave))


def _full_scale(dtype: np.dtype) -> float:
    return 1.0 if dtype.kind == "f" else float(np.iinfo(dtype).max) + 1
