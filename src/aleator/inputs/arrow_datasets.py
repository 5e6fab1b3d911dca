"""Datasets of pyarrow: those that users pass, and those of the files of a folder."""

from __future__ import annotations

import os
from typing import Any

from aleator.inputs.arrow_schemas import unified_schema
from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.files import ARROW, PARQUET, Files, naming, version_of
from aleator.inputs.frames.base import listed

_FORMATS = {PARQUET: "parquet", ARROW: "ipc"}


def open_dataset(files: Files) -> tuple[Any, Any, dict[str, str]]:
    """Open files as a dataset of pyarrow.

    Parameters
    ----------
    files : Files
        Parquet or Arrow files.

    Returns
    -------
    dataset : pyarrow.dataset.Dataset
        The dataset. Its schema is that of the first file.
    schema : pyarrow.Schema
        Types of the columns for the values of all files.
    conflicts : dict of str to str
        Columns that have no such type, and why.
    """
    pa = import_pyarrow()
    kind = _FORMATS[files.format]
    with naming(files.name(files.paths[0])):
        dataset = pa.dataset.dataset(list(files.paths), format=kind, filesystem=files.filesystem)
    schemas = []
    for fragment in dataset.get_fragments():
        file = files.name(fragment.path)
        with naming(file):
            found = fragment.physical_schema
            names = found.names
        missing = [name for name in dataset.schema.names if name not in names]
        if missing:
            first = files.name(files.paths[0])
            raise ValueError(f"{file} has no {listed(missing)}, which {first} has")
        schemas.append((file, found))
    schema, conflicts = unified_schema(schemas)
    return dataset, schema, conflicts


def check_not_filtered(dataset: Any) -> None:
    """Raise ValueError if a dataset is not its files as they are."""
    try:
        dataset.get_fragments()
    except ValueError as error:
        raise ValueError(
            "X is a pyarrow dataset with a filter or projection, which cannot be read in any "
            "order: write the rows to files with pyarrow.dataset.write_dataset, and pass these"
        ) from error


def versions_of_dataset(dataset: Any) -> list[Any]:
    """Names, sizes and times of change of the files of a dataset, as JSON values."""
    found = []
    for file in getattr(dataset, "files", []):
        local = type(dataset.filesystem).__name__ == "LocalFileSystem"
        if local and os.path.exists(file):
            found.append([file, *version_of(file)])
        else:
            about = dataset.filesystem.get_file_info(file)
            found.append([file, about.size, about.mtime_ns])
    return found
