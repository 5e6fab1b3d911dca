"""Texts: the SMS Spam Collection (UCI 228)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from aleator.benchmark.datasets.files import reading
from aleator.benchmark.real_data.parts import RealParts, split_parts


def load_sms_spam(folder: Path) -> RealParts:
    """Read the messages; a fifth of them, drawn with seed 0, is the test part.

    Parameters
    ----------
    folder : Path
        Folder of the data sets, with ``text/SMSSpamCollection.gz`` in it.

    Returns
    -------
    RealParts
    """
    path = folder / "text" / "SMSSpamCollection.gz"
    with reading(path), gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file if line.strip()]
        labels, texts = zip(*rows, strict=True)
    return split_parts(list(texts), np.array(labels))
