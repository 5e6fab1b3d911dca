"""One schema for all files of a table, and the columns of every file in its types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aleator.inputs.arrow_values import import_pyarrow

# Digits of the largest whole number of 64 bits.
_DIGITS = 20


def unified_schema(schemas: Sequence[tuple[str, Any]]) -> tuple[Any, dict[str, str]]:
    """Return a schema that holds the values of all files.

    Parameters
    ----------
    schemas : sequence of tuple of (str, pyarrow.Schema)
        Names and schemas of the files. Columns of the first one are in all.

    Returns
    -------
    schema : pyarrow.Schema
        The columns of the first file, with types for the values of all.
    conflicts : dict of str to str
        For columns that have no such type, why. They have that of the first file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> files = [("0.pq", pa.schema({"a": pa.int8()})), ("1.pq", pa.schema({"a": pa.int64()}))]
    >>> unified_schema(files)[0].types
    [DataType(int64)]
    """
    pa = import_pyarrow()
    first_file, first = schemas[0]
    fields, conflicts = list(first), {}
    once = [at for at, name in enumerate(first.names) if first.names.count(name) == 1]
    # The file that has shown the type of a column, for messages.
    shown = dict.fromkeys(once, first_file)
    for file, schema in schemas[1:]:
        for at in once:
            name, kind = fields[at].name, fields[at].type
            if name in conflicts or schema.names.count(name) != 1:
                continue
            other = schema.field(name)
            common = common_kind(kind, other.type)
            if common is None:
                conflicts[name] = (
                    f"column {name!r} is {kind} in {shown[at]}, but {other.type} in {file}"
                )
                continue
            if common != kind:
                shown[at] = file
            nullable = fields[at].nullable or other.nullable
            fields[at] = fields[at].with_type(common).with_nullable(nullable)
    return pa.schema(fields, metadata=first.metadata), conflicts


def common_kind(kind: Any, other: Any) -> Any | None:
    """Return the type that holds the values of two types, or None.

    Parameters
    ----------
    kind, other : pyarrow.DataType
        The types.

    Returns
    -------
    pyarrow.DataType or None
        The wider of two types of numbers, of times, of text and so on. None of numbers and text,
        or of numbers and truth values: one would change into the other.

    Examples
    --------
    >>> import pyarrow as pa
    >>> common_kind(pa.int32(), pa.float32()), common_kind(pa.int32(), pa.string())
    (DataType(double), None)
    """
    pa = import_pyarrow()
    types = pa.types
    if kind.equals(other):
        return kind
    if types.is_dictionary(kind) != types.is_dictionary(other):
        category, plain = (kind, other) if types.is_dictionary(kind) else (other, kind)
        return category if types.is_null(plain) else common_kind(category.value_type, plain)
    if _is_binary_number(kind) and _is_binary_number(other):
        common = np.result_type(kind.to_pandas_dtype(), other.to_pandas_dtype())
        return pa.from_numpy_dtype(common)
    if types.is_date(kind) and _is_local_time(other):
        return other
    if types.is_date(other) and _is_local_time(kind):
        return kind
    pair = [_as_merged(kind, other), _as_merged(other, kind)]
    try:
        schemas = [pa.schema([("", each)]) for each in pair]
        return pa.unify_schemas(schemas, promote_options="permissive").types[0]
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return None


def conformed(batch: Any, schema: Any, *, exact: bool) -> Any:
    """Return a batch of a file with the types of a schema.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        Some columns of the schema.
    schema : pyarrow.Schema
        Their types.
    exact : bool
        Whether whole numbers that fractions do not hold are an error, and not rounded.

    Returns
    -------
    pyarrow.RecordBatch
    """
    fields = [schema.field(name) for name in batch.schema.names]
    if all(column.type.equals(field.type) for column, field in zip(batch, fields, strict=True)):
        return batch
    columns = []
    for column, field in zip(batch, fields, strict=True):
        try:
            columns.append(_cast(column, field.type, exact))
        except import_pyarrow().ArrowException as error:
            raise ValueError(
                f"column {field.name!r} is {column.type} in this file and cannot become "
                f"{field.type}, as which the table has it: {error}"
            ) from error
    return import_pyarrow().RecordBatch.from_arrays(columns, [field.name for field in fields])


def _cast(column: Any, kind: Any, exact: bool) -> Any:
    pa = import_pyarrow()
    if column.type.equals(kind):
        return column
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        column = _cast(column, kind.value_type, exact).dictionary_encode()
    rounded = pa.types.is_integer(column.type) and pa.types.is_floating(kind) and not exact
    return column.cast(kind, safe=not rounded)


def _is_binary_number(kind: Any) -> bool:
    types = import_pyarrow().types
    return types.is_integer(kind) or types.is_floating(kind)


def _is_local_time(kind: Any) -> bool:
    return import_pyarrow().types.is_timestamp(kind) and kind.tz is None


def _as_merged(kind: Any, other: Any) -> Any:
    """Return a type as that with which pyarrow merges it with another one."""
    pa = import_pyarrow()
    if pa.types.is_integer(kind) and pa.types.is_decimal(other):
        return pa.decimal128(_DIGITS, 0)  # pyarrow would take a digit less than its casts need
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return views.get(kind, kind)
