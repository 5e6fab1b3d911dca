"""Samples in .npy files: one that is mapped into memory, or several that are read in pieces."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from aleator.atomic_io import json_digest
from aleator.inputs.files import Files, naming
from aleator.inputs.pieces import PiecewiseSource
from aleator.inputs.sources import Schema

_PIECE_BYTES = 8 << 20


@dataclass(frozen=True)
class _Block:
    """Consecutive samples of a file."""

    path: str
    first_row: int
    rows: int
    offset: int


class NpyFilesSource(PiecewiseSource):
    """Samples of .npy files, one after the other, read in blocks of eight megabytes.

    Files are read, not mapped: the pages of a map count as memory of the process.

    Parameters
    ----------
    files : Files
        The files.
    buffer_size : int
        Bytes of the buffer in which samples are mixed.
    """

    def __init__(self, files: Files, buffer_size: int) -> None:
        self._files = files
        self._blocks: list[_Block] = []
        schema: Schema | None = None
        for path in files.paths:
            shape, dtype, offset = _read_header(files, path)
            _check_size(files, path, shape, dtype, offset)
            found = Schema(shape[1:], dtype)
            schema = schema or found
            if found != schema:
                raise ValueError(
                    f"{files.name(path)} has samples of shape {found.shape} and type "
                    f"{found.dtype}, but {files.name(files.paths[0])} has {schema.shape} and "
                    f"{schema.dtype}: all parts must be alike"
                )
            step = max(1, _PIECE_BYTES // max(1, schema.size * dtype.itemsize))
            for first in range(0, shape[0], step):
                rows = min(step, shape[0] - first)
                start = offset + first * schema.size * dtype.itemsize
                self._blocks.append(_Block(path, first, rows, start))
        assert schema is not None
        super().__init__(schema, [block.rows for block in self._blocks], buffer_size)

    def read_piece(self, piece: int) -> np.ndarray:
        """Read a block."""
        block = self._blocks[piece]
        values = np.empty((block.rows, *self.schema.shape), self.schema.dtype)
        with naming(self._files.name(block.path)), self._files.open(block.path) as file:
            file.seek(block.offset)
            target, done = values.reshape(-1).view(np.uint8).data, 0
            while done < len(target):
                read = file.readinto(target[done:])  # type: ignore[attr-defined]
                if not read:
                    raise ValueError("it ends too early")
                done += read
        return values

    def describe_row(self, row: int) -> str:
        """Name a sample by its file."""
        piece = int(np.searchsorted(self.starts, row, side="right")) - 1
        block = self._blocks[piece]
        within = row - int(self.starts[piece]) + block.first_row
        return f"row {within} of {self._files.name(block.path)}"

    def fingerprint(self) -> str:
        """Return a digest of names, sizes and times of change of the files."""
        return json_digest(self._files.versions())


def is_plain(path: str) -> bool:
    """Whether a .npy file can be read in blocks: its values are numbers, row by row."""
    try:
        _read_header(Files((path,), "NumPy"), path)
    except ValueError:
        return False
    return True


def _read_header(files: Files, path: str) -> tuple[tuple[int, ...], np.dtype, int]:
    """Return shape, data type and the position of the first value."""
    with naming(files.name(path)), files.open(path) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, in_columns, dtype = read(file)
        if not shape or in_columns or dtype.kind not in "buif":
            raise ValueError("it must hold numbers, and be stored in C order")
        return shape, dtype, file.tell()


def _check_size(files: Files, path: str, shape: tuple[int, ...], dtype: Any, offset: int) -> None:
    """Raise an error if a file cannot hold what its header says, before memory is taken for it."""
    with naming(files.name(path)), files.open(path) as file:
        if not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"it says that its shape is {shape}")
        # Numbers of Python, as those of NumPy may overflow.
        needed, size = offset + math.prod(shape) * dtype.itemsize, file.seek(0, os.SEEK_END)
        if needed > size:
            raise ValueError(f"it ends too early, at byte {size} of {needed}")
        if shape[0] > 0 and math.prod(shape) == 0:
            raise ValueError(f"it holds no values: its shape is {shape}")
