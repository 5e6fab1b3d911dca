"""Reading .wav files: uncompressed integers or floating-point numbers (RIFF/WAVE)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from aleator.exceptions import DamagedFileError

_INTEGERS, _FLOATS, _EXTENSIBLE = 1, 3, 0xFFFE
_WIDTHS = {_INTEGERS: (8, 16, 24, 32), _FLOATS: (32, 64)}
_MOST_CHANNELS = 256
HIGHEST_RATE = 1 << 20


class WavHeader(NamedTuple):
    """What a .wav file holds.

    Attributes
    ----------
    rate : int
        Samples per second.
    n_channels : int
        Number of channels.
    bits : int
        Bits of a sample.
    is_float : bool
        Whether samples are floating-point numbers.
    start, n_samples : int
        Where samples begin in the file, and how many there are of each channel.
    """

    rate: int
    n_channels: int
    bits: int
    is_float: bool
    start: int
    n_samples: int


def read_header(path: str) -> WavHeader:
    """Read what a .wav file holds, without its samples.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    WavHeader
    """
    with open(path, "rb") as file:
        return _header(file, path)


def read_wav(path: str) -> tuple[np.ndarray, int]:
    """Read a .wav file.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    wave : ndarray of shape (n_samples,), float32
        The mean of all channels; integers are scaled to [-1, 1].
    rate : int
        Samples per second.
    """
    with open(path, "rb") as file:
        header = _header(file, path)
        file.seek(header.start)
        data = file.read(header.n_samples * header.n_channels * header.bits // 8)
    return _decode(data, header).reshape(-1, header.n_channels).mean(1), header.rate


def _header(file: BinaryIO, path: str) -> WavHeader:
    begin = file.read(12)
    if begin[:4] != b"RIFF" or begin[8:] != b"WAVE":
        raise _damaged(path, "it is no .wav file (RIFF/WAVE)")
    layout = None
    for name, start, size in _chunks(file):
        if name == b"fmt ":
            layout = _layout(file.read(min(size, 40)), path)
        elif name == b"data":
            if layout is None:
                raise _damaged(path, "its samples come before their format")
            kind, n_channels, rate, bits = layout
            return WavHeader(
                rate, n_channels, bits, kind == _FLOATS, start, 8 * size // (bits * n_channels)
            )
    raise _damaged(path, "it has no samples")


def _chunks(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Name, begin and size of the parts of a file, as far as they are there."""
    end = file.seek(0, os.SEEK_END)
    at = 12
    while at + 8 <= end:
        file.seek(at)
        name, size = struct.unpack("<4sI", file.read(8))
        yield name, at + 8, min(size, end - at - 8)
        at += 8 + size + size % 2


def _layout(data: bytes, path: str) -> tuple[int, int, int, int]:
    if len(data) < 16:
        raise _damaged(path, "its header is too short")
    kind, n_channels, rate, _, _, bits = struct.unpack("<HHIIHH", data[:16])
    if kind == _EXTENSIBLE and len(data) >= 26:
        kind = struct.unpack("<H", data[24:26])[0]
    if bits not in _WIDTHS.get(kind, ()):
        raise _damaged(
            path,
            f"its encoding (format {kind}, {bits} bits) is not integers or numbers: convert it",
        )
    if not 0 < n_channels <= _MOST_CHANNELS or not 0 < rate <= HIGHEST_RATE:
        raise _damaged(path, f"its header has {n_channels} channels at {rate} Hz")
    return kind, n_channels, rate, bits


def _decode(data: bytes, header: WavHeader) -> np.ndarray:
    if header.is_float:
        return np.frombuffer(data, f"<f{header.bits // 8}").astype(np.float32)
    if header.bits == 8:  # which are not signed
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    if header.bits == 24:
        triples = np.frombuffer(data, np.uint8).reshape(-1, 3)
        padded = np.zeros((len(triples), 4), np.uint8)
        padded[:, 1:] = triples
        return padded.view("<i4")[:, 0].astype(np.float32) / (1 << 31)
    values = np.frombuffer(data, f"<i{header.bits // 8}")
    return values.astype(np.float32) / (1 << (header.bits - 1))


def _damaged(path: str, reason: str) -> DamagedFileError:
    return DamagedFileError(f"{path} cannot be read: {reason}")
