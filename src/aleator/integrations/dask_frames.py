"""Embedding with Dask's ``map_partitions``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from aleator.integrations.batches import BatchEmbedder


def transform_dask(
    frame: Any,
    model: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    columns: str | Sequence[str] | None = None,
) -> Any:
    """Embed a Dask DataFrame, partition by partition, with a saved model.

    Nothing is computed yet. Partitions stay in order and keep their index. Every worker process
    loads the model once, when it gets its first partition, and uses it in all of its threads. Needs
    ``pip install 'aleator[dask]'``.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The data. If the model was trained on columns with names, they are found by name.
    model : str or path-like
        Folder of the saved model, which every worker must be able to read.
    keep : sequence of str, default=()
        Columns that are copied beside the embedding, such as identifiers.
    columns : str or sequence of str, default=None
        For a model that was trained on an array: the columns in the order of training, or the one
        column that holds a whole series or image in every row, as an array or as nested lists. None
        is all columns that are not kept.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns in `keep`, then the embedding in float32.

    See Also
    --------
    aleator.load : What workers do with the folder.

    Examples
    --------
    >>> import tempfile
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from aleator import RandomEncoder
    >>> from aleator.integrations import transform_dask
    >>> people = pd.DataFrame({"id": ["a", "b", "c"], "age": [31.0, 18.0, 54.0]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> RandomEncoder(embedding_dim=2, random_state=0).fit(people[["age"]]).save(folder.name)
    >>> frame = dd.from_pandas(people, npartitions=2)
    >>> embedded = transform_dask(frame, folder.name, keep=["id"])
    >>> embedded.columns.tolist()
    ['id', 'randomencoder0', 'randomencoder1']
    >>> embedded.compute().shape
    (3, 3)
    >>> folder.cleanup()
    """
    make_meta = _import_make_meta()
    embedder = BatchEmbedder.prepare(model, columns, keep, list(frame.columns))
    # What a partition will look like: the model is not run for it.
    meta = embedder.embed_frame(make_meta(frame).iloc[:0])
    return frame.map_partitions(embedder.embed_frame, meta=meta)


def _import_make_meta() -> Any:
    try:
        import dask.dataframe  # noqa: F401 - it registers what make_meta knows
        from dask.dataframe.dispatch import make_meta
    except ImportError as error:
        raise ImportError("transform_dask needs Dask: pip install 'aleator[dask]'") from error
    return make_meta
