"""Writing the embedding of large data into a folder of Parquet files, part by part.

A part is written under a temporary name, which readers of Parquet skip, and renamed when it is on
disk. A folder therefore holds whole parts only, whenever the process ends, and the next call writes
those that are missing. `_manifest.json` says which model and which data they belong to. A part that
is there counts as whole if its footer, which is written last, has its number of rows. One call at a
time writes into a folder, which is locked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from aleator.atomic_io import describe_failure, json_digest, make_folder, new_file, write_file
from aleator.estimators.kept_columns import KeptColumns, check_names_differ
from aleator.folder_lock import lock_folder
from aleator.inputs import AdapterSource, PiecewiseSource, Source, checksum_of
from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.files import version_of
from aleator.training.columns import rows_per_piece
from aleator.training.embedding import embed_chunks
from aleator.training.launch import in_group

MANIFEST = "_manifest.json"
_FORMAT = 2
# Leftovers of a process that was killed while it wrote; see `aleator.atomic_io`.
_LEFTOVER = re.compile(r"\.(_manifest\.json|part-\d{5,}\.parquet)\.[0-9a-f]+\.part")
# Bytes of embedding in a part, which a restart may have to repeat, and in a row group of it.
_PART_BYTES, _ROW_GROUP_BYTES = 128 << 20, 16 << 20


@dataclass(frozen=True)
class PartWriter:
    """Writes the embedding of a source.

    Parameters
    ----------
    folder : Path
        Where to write.
    source : AdapterSource
        The data.
    kept : KeptColumns
        Columns that are copied.
    names : sequence of str
        Names of the columns of the embedding.
    rows_per_part : int
        Rows of every part but the last.
    """

    folder: Path
    source: AdapterSource
    kept: KeptColumns
    names: Sequence[str]
    rows_per_part: int

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return -(-len(self.source) // self.rows_per_part)

    def path(self, part: int) -> Path:
        """Return where a part is written."""
        return self.folder / f"part-{part:05d}.parquet"

    def rows(self, part: int) -> tuple[int, int]:
        """Return the first row of a part, and the one after its last."""
        start = part * self.rows_per_part
        return start, min(start + self.rows_per_part, len(self.source))

    def missing(self) -> list[int]:
        """Return the parts that are not there, or have another number of rows."""
        return [part for part in range(self.n_parts) if not self._is_whole(part)]

    def write(self, part: int, chunks: Iterator[np.ndarray]) -> None:
        """Write a part; `chunks` are its embedding in row groups."""
        pa = import_pyarrow()
        start, stop = self.rows(part)
        kept = self.kept.read(start, stop)
        schema = pa.schema([*kept.schema, *(pa.field(name, pa.float32()) for name in self.names)])
        read = _Read(chunks)
        with (
            _explained(f"part {part} of the embedding", self.folder, unless=read),
            new_file(self.path(part)) as file,
            # Numbers that hardly repeat gain nothing from a dictionary.
            pa.parquet.ParquetWriter(file, schema, use_dictionary=kept.column_names) as writer,
        ):
            done = 0
            for embedding in read:
                columns = kept.slice(done, len(embedding)).columns
                values = np.ascontiguousarray(embedding.T)
                arrays = [*columns, *(pa.array(row) for row in values)]
                writer.write_table(pa.table(arrays, schema=schema))
                done += len(embedding)

    def _is_whole(self, part: int) -> bool:
        start, stop = self.rows(part)
        path = self.path(part)
        if not path.exists():
            return False
        try:
            return import_pyarrow().parquet.read_metadata(path).num_rows == stop - start
        except (OSError, ValueError):
            return False


class _Read:
    """An iterator that remembers its own failure, which is not one of writing."""

    def __init__(self, chunks: Iterator[np.ndarray]) -> None:
        self._chunks = chunks
        self.failed = False

    def __iter__(self) -> Iterator[np.ndarray]:
        try:
            yield from self._chunks
        except OSError:
            self.failed = True
            raise


@contextmanager
def _explained(what: str, folder: Path, unless: _Read | None = None) -> Iterator[None]:
    """Say in one sentence why something was not written, and what to do."""
    try:
        yield
    except OSError as error:
        if unless is not None and unless.failed:
            raise
        then = "and call transform_to again; the parts that are there are whole and are kept"
        message = describe_failure(f"{what} was not written", folder, error, then)
        raise OSError(error.errno, message) from error


def write_parts(
    estimator: Any,
    X: Any,
    source: AdapterSource,
    folder: Path,
    kept: KeptColumns,
    rows_per_part: int | None,
    device: torch.device,
    precision: str,
) -> None:
    """Write the parts that a folder lacks.

    Parameters
    ----------
    estimator : RepresentationLearner
        A fitted estimator.
    X : object
        What the user passed.
    source : AdapterSource
        The data.
    folder : Path
        Where to write.
    kept : KeptColumns
        Columns that are copied.
    rows_per_part : int or None
        Rows of a part; None is about 128 MiB of embedding.
    device : torch.device
        Where to compute.
    precision : str
        Precision of the training.
    """
    names = [str(name) for name in estimator.get_feature_names_out()]
    check_names_differ(kept.names, names)
    piece = rows_per_piece(source.schema.size, device)
    if rows_per_part is None:
        rows_per_part = max(1, _PART_BYTES // (4 * len(names) * piece)) * piece
    writer = PartWriter(folder, source, kept, names, rows_per_part)
    manifest = {
        "format": _FORMAT,
        "model": _digest_of_model(estimator),
        "source": _digest_of_source(X, source),
        "rows": len(source),
        "rows_per_part": rows_per_part,
        "keep": kept.names,
        "kept_values": kept.fingerprint(),
        "columns": names,
    }
    group = max(1, _ROW_GROUP_BYTES // (4 * len(names)))
    with _held(folder):
        _check_manifest(folder, manifest)
        for first, last in _runs(writer.missing()):
            start, stop = writer.rows(first)[0], writer.rows(last)[1]
            embedded = embed_chunks(
                estimator.encoder_, source, device, precision, rows=piece, start=start, stop=stop
            )
            rows = _Regrouped(embedded)
            for part in range(first, last + 1):
                begin, end = writer.rows(part)
                writer.write(part, rows.take(end - begin, group))


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Create a folder, and hold it while parts are written.

    Processes that run the same script wait for the first of them, and find its parts. A message
    between them would wait forever where only one of them calls `transform_to`.
    """
    with ExitStack() as held:
        with _explained("the embedding", folder):
            make_folder(folder)
            try:
                held.enter_context(lock_folder(folder, wait=in_group()))
            except BlockingIOError:
                raise ValueError(
                    f"another call of transform_to is writing into {folder}: wait until it has "
                    "ended, or choose another folder"
                ) from None
        yield


class _Regrouped:
    """Rows that come in chunks of one size and are taken in others."""

    def __init__(self, chunks: Iterator[np.ndarray]) -> None:
        self._chunks = chunks
        self._begun: np.ndarray | None = None

    def take(self, total: int, at_once: int) -> Iterator[np.ndarray]:
        """Yield the next `total` rows, `at_once` at a time."""
        while total:
            size = min(total, at_once)
            yield self._next(size)
            total -= size

    def _next(self, size: int) -> np.ndarray:
        found: list[np.ndarray] = []
        missing = size
        while missing:
            chunk = next(self._chunks) if self._begun is None else self._begun
            found.append(chunk[:missing])
            self._begun = chunk[missing:] if len(chunk) > missing else None
            missing -= len(found[-1])
        return found[0] if len(found) == 1 else np.concatenate(found)


def _runs(parts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of parts that follow each other."""
    begun: list[int] = []
    for part in parts:
        if begun and part != begun[-1] + 1:
            yield begun[0], begun[-1]
            begun = []
        begun.append(part)
    if begun:
        yield begun[0], begun[-1]


_WHAT_DIFFERS = {
    "format": "by another version of Aleator",
    "model": "with another model",
    "source": "from other data",
    "rows": "from other data",
    "columns": "with another model",
    "keep": "with other columns in keep",
    "kept_values": "with other values in the columns of keep",
    "rows_per_part": "with another rows_per_part",
}


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest, or check that the folder has the same; remove what a crash left."""
    path = folder / MANIFEST
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    leftovers = [folder / name for name in names if _LEFTOVER.fullmatch(name)]
    if not path.exists():
        if not folder.is_dir() or len(names) > len(leftovers):
            raise ValueError(
                f"{folder} is not empty, and was not written by transform_to: choose another folder"
            )
        with _explained("the embedding", folder):
            _remove(leftovers)
            write_file(path, json.dumps(manifest, indent=1).encode())
        return
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(
            f"{path} is damaged, so that what is in {folder} cannot be compared: choose another "
            "folder, or delete this one"
        )
    for key, words in _WHAT_DIFFERS.items():
        if found.get(key) != manifest[key]:
            raise ValueError(
                f"{folder} holds an embedding that was written {words}: choose another folder, or "
                "delete this one"
            )
    _remove(leftovers)


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _digest_of_model(estimator: Any) -> str:
    digest = hashlib.sha256(type(estimator).__name__.encode())
    digest.update(json_digest(estimator.adapter_.to_dict()).encode())
    for name, array in sorted(estimator.adapter_.arrays().items()):
        digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    for name, value in sorted(estimator.encoder_.state_dict().items()):
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def _digest_of_source(X: Any, source: AdapterSource) -> str:
    """Return a digest of names, sizes and times of change of files, or of values in memory."""
    raw: Source = source.raw
    if isinstance(raw, PiecewiseSource):
        return raw.fingerprint()
    about: list[Any] = [len(raw), list(raw.schema.shape), str(raw.schema.dtype)]
    if isinstance(X, (str, os.PathLike)) and os.path.isfile(X):
        return json_digest([*about, os.fspath(X), *version_of(os.fspath(X))])
    return json_digest([*about, checksum_of(raw)])
