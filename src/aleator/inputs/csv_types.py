"""Types of the columns of a CSV file whose first block does not show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from aleator.inputs.arrow_values import import_pyarrow


def widened_types(blocks: Iterable[Any], types: list[Any]) -> list[Any]:
    """Return types that fit the values of all blocks.

    Parameters
    ----------
    blocks : iterable of pyarrow.RecordBatch
        The file, with all columns read as binary.
    types : list of pyarrow.DataType
        Types of the columns that pyarrow found in the first block.

    Returns
    -------
    list of pyarrow.DataType
        Where a type does not fit, the next one that does: whole numbers become fractions, dates
        become times, and all become text. A column without values gets the type of its first block
        with values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> blocks = [pa.record_batch({"a": [b"1", b"2"]}), pa.record_batch({"a": [b"0.5", b""]})]
    >>> widened_types(blocks, [pa.int64()])
    [DataType(double)]
    """
    types = list(types)
    for block in blocks:
        names = [str(position) for position in range(len(types))]
        block = import_pyarrow().RecordBatch.from_arrays(block.columns, names)
        # All columns at once, and one by one only if one of them does not fit.
        if not _fits(block, types):
            types = [
                _first_that_fits(block.select([name]), kind)
                for name, kind in zip(names, types, strict=True)
            ]
    return types


def _first_that_fits(column: Any, kind: Any) -> Any:
    if import_pyarrow().types.is_null(kind):
        kind = _type_of(column)
    return next(wider for wider in _wider_types(kind) if _fits(column, [wider]))


def _wider_types(kind: Any) -> Iterator[Any]:
    """Yield a type and those that take its place, each of which reads most that the last one did.

    Not all: fractions are not hexadecimal, and nanoseconds end in 2262. Text reads everything.
    """
    pa = import_pyarrow()
    yield kind
    if pa.types.is_integer(kind):
        yield pa.float64()
    if pa.types.is_date(kind):
        yield pa.timestamp("s")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        yield pa.timestamp("ns", getattr(kind, "tz", None))
    yield pa.string()
    yield pa.binary()  # text that is not UTF-8


def _fits(block: Any, types: list[Any]) -> bool:
    pa = import_pyarrow()
    kinds = dict(zip(block.schema.names, types, strict=True))
    kinds = {name: kind for name, kind in kinds.items() if kind != pa.binary()}
    try:
        _as_csv(block.select(list(kinds)), kinds)
    except pa.ArrowInvalid:
        return False
    return True


def _type_of(column: Any) -> Any:
    pa = import_pyarrow()
    try:
        return _as_csv(column, {}).schema.types[0]
    except pa.ArrowInvalid:
        return pa.binary()


def _as_csv(block: Any, types: dict[str, Any]) -> Any:
    """Convert text as pyarrow converts that of a file, whose rules are not those of its casts."""
    pa = import_pyarrow()
    if not block.num_columns:
        return block
    written = pa.BufferOutputStream()
    pa.csv.write_csv(block, written)
    data = written.getvalue()
    return pa.csv.read_csv(
        pa.BufferReader(data),
        # One block, so that all of it decides about the types.
        pa.csv.ReadOptions(use_threads=False, block_size=max(1, data.size)),
        pa.csv.ParseOptions(newlines_in_values=True),
        pa.csv.ConvertOptions(column_types=types),
    )
