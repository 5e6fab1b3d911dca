"""Free Spoken Digits, as clips of different lengths."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from aleator.benchmark.real_data.parts import RealParts
from aleator.exceptions import DamagedFileError
from aleator.inputs.audio.source import open_audio

# Takes below this are the test part, as its publisher has it.
_FIRST_TRAINING_TAKE = 5


def load_fsdd(folder: Path) -> RealParts:
    """Load Free Spoken Digits: 3000 clips of six speakers; takes 0 to 4 are the test part.

    Parameters
    ----------
    folder : Path
        Folder of the data, with ``fsdd.npz``.

    Returns
    -------
    RealParts
    """
    path = Path(folder) / "fsdd.npz"
    try:
        with open(path, "rb") as stream, np.load(stream) as file:
            names = ("audio", "length", "digit", "take", "sample_rate")
            audio, length, digit, take, rate = (file[name] for name in names)
        waves = np.split(audio, np.cumsum(length)[:-1])
        clips = open_audio(waves, int(rate))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFileError(f"{path} cannot be read: {error}") from error
    test = take < _FIRST_TRAINING_TAKE
    digits = digit.astype(np.int64)
    return RealParts(clips[~test], digits[~test], clips[test], digits[test])
