"""Embedding with Spark's ``mapInPandas``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from aleator.integrations.batches import BatchEmbedder


def transform_spark(
    frame: Any,
    model: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    columns: str | Sequence[str] | None = None,
) -> Any:
    """Embed a Spark DataFrame, partition by partition, with a saved model.

    Nothing is computed yet. Partitions and their rows stay in order. Every Python worker loads the
    model once, when it gets its first rows; Spark keeps its workers for later partitions
    (``spark.python.worker.reuse``). Needs ``pip install 'aleator[spark]'`` and Java.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data. If the model was trained on columns with names, they are found by name.
    model : str or path-like
        Folder of the saved model, which every executor must be able to read.
    keep : sequence of str, default=()
        Columns that are copied beside the embedding, such as identifiers.
    columns : str or sequence of str, default=None
        For a model that was trained on an array: the columns in the order of training, or the one
        column that holds a whole series or image in every row, as nested arrays. None is all
        columns that are not kept.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns in `keep`, then the embedding as floats.

    See Also
    --------
    aleator.load : What workers do with the folder.

    Examples
    --------
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> from aleator.integrations import transform_spark
    >>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
    >>> frame = spark.read.parquet("people")  # doctest: +SKIP
    >>> transform_spark(frame, "model", keep=["id"]).write.parquet("embedded")  # doctest: +SKIP
    """
    types = _import_types()
    embedder = BatchEmbedder.prepare(model, columns, keep, frame.columns)
    kept = [frame.schema[name] for name in embedder.keep]
    made = [types.StructField(name, types.FloatType(), nullable=False) for name in embedder.names]
    # Spark then need not read, nor convert, the other columns. They have other names meanwhile,
    # since `mapInPandas` does not find columns with a dot in their names.
    needed = frame.columns if embedder.needed is None else embedder.needed
    quoted = ["`" + name.replace("`", "``") + "`" for name in needed]
    chosen = frame.select(*(frame[name].alias(f"_{i}") for i, name in enumerate(quoted)))
    return chosen.mapInPandas(
        partial(_embed_frames, embedder, needed), types.StructType([*kept, *made])
    )


def _embed_frames(
    embedder: BatchEmbedder, names: Sequence[str], frames: Iterable[Any]
) -> Iterator[Any]:
    """Embed the batches of a partition, whose columns get their names back."""
    for frame in frames:
        yield embedder.embed_frame(frame.set_axis(list(names), axis=1))


def _import_types() -> Any:
    try:
        from pyspark.sql import types
    except ImportError as error:
        raise ImportError("transform_spark needs PySpark: pip install 'aleator[spark]'") from error
    return types
