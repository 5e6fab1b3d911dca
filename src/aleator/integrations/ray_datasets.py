"""Embedding with Ray Data's ``map_batches``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from aleator.integrations.batches import BatchEmbedder


def transform_ray(
    dataset: Any,
    model: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    columns: str | Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """Embed a Ray Dataset, batch by batch, with a saved model.

    Nothing is computed yet. Batches are embedded by actors, each a process that loads the model
    once, when it starts. Rows stay in order: `preserve_order` is set in the context that the
    dataset and the result share. Needs ``pip install 'aleator[ray]'``.

    Parameters
    ----------
    dataset : ray.data.Dataset
        The data. If the model was trained on columns with names, they are found by name.
    model : str or path-like
        Folder of the saved model, which every node must be able to read.
    keep : sequence of str, default=()
        Columns that are copied beside the embedding, such as identifiers.
    columns : str or sequence of str, default=None
        For a model that was trained on an array: the columns in the order of training, or the one
        column that holds a whole series or image in every row, as a tensor or as nested lists. None
        is all columns that are not kept.
    **options : object
        Options of `ray.data.Dataset.map_batches`, such as ``batch_size=4096``, ``num_gpus=1`` or
        ``compute=ray.data.ActorPoolStrategy(size=4)`` (four actors).

    Returns
    -------
    ray.data.Dataset
        The columns in `keep`, then the embedding in float32. Ray Data has no way to declare a
        schema: its method `schema` embeds a first block, and is None if there are no rows.

    See Also
    --------
    aleator.load : What actors do with the folder.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from aleator.integrations import transform_ray
    >>> dataset = ray.data.read_parquet("people")  # doctest: +SKIP
    >>> embedded = transform_ray(dataset, "model", keep=["id"])  # doctest: +SKIP
    >>> embedded.write_parquet("embedded")  # doctest: +SKIP
    """
    _check_installed()
    if taken := sorted(_OWN_OPTIONS & set(options)):
        raise ValueError(f"{taken[0]} is set by transform_ray")
    schema = dataset.schema(fetch_if_missing=False)
    known = None if schema is None else list(schema.names)
    embedder = BatchEmbedder.prepare(model, columns, keep, known)
    embedded = dataset.map_batches(
        EmbeddingActor, fn_constructor_args=(embedder,), batch_format="pyarrow", **options
    )
    embedded.context.execution_options.preserve_order = True
    return embedded


_OWN_OPTIONS = {
    "fn", "fn_args", "fn_kwargs", "fn_constructor_args", "fn_constructor_kwargs", "batch_format",
}  # fmt: skip


class EmbeddingActor:
    """What an actor of Ray Data does: load the model, then embed one batch after another.

    Parameters
    ----------
    embedder : BatchEmbedder
        Model and columns.
    """

    def __init__(self, embedder: BatchEmbedder) -> None:
        self._embedder = embedder
        embedder.model.get()

    def __call__(self, table: Any) -> Any:
        """Embed a batch, which is a pyarrow Table."""
        return self._embedder.embed_table(table)


def _check_installed() -> None:
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        raise ImportError("transform_ray needs Ray Data: pip install 'aleator[ray]'") from error
