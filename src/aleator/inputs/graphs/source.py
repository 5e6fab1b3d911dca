"""Sources of graphs, and which objects are graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch

from aleator.inputs.graphs.graph import is_graph, read_graph
from aleator.inputs.graphs.tu_format import is_tu_folder, read_tu_folder
from aleator.inputs.sources import Schema, Source, chosen_rows

_ROWS_PER_CHUNK = 256


class Graphs(Source):
    """Graphs of any size, in memory.

    Made by `open_graphs`; see there. It can be passed to estimators as X.

    Parameters
    ----------
    items : sequence of networkx graph, torch_geometric Data or Graph
        The graphs.
    labels : ndarray of shape (n,) or None, default=None
        Labels of the graphs.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
        Labels of the graphs; None if there are none.

    Examples
    --------
    >>> import networkx
    >>> graphs = Graphs([networkx.path_graph(3), networkx.star_graph(4)])
    >>> [graph.n_nodes for graph in graphs.gather(np.array([1, 0]))]
    [5, 3]
    """

    modality = "graph"
    in_memory = True

    def __init__(self, items: Sequence[Any], labels: np.ndarray | None = None) -> None:
        self._items = list(items)
        self.labels = labels
        self.schema = Schema((), np.dtype(object))

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Self:
        """Return some of the graphs, with their labels: those of a slice, a mask or positions."""
        chosen = chosen_rows(len(self), index)
        items = [self._items[row] for row in chosen]
        return type(self)(items, None if self.labels is None else self.labels[chosen])

    @property
    def rows_per_chunk(self) -> int:
        """Graphs per chunk if nothing else is asked for."""
        return _ROWS_PER_CHUNK

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the graphs at `index`, in that order: an array of `Graph`."""
        found = np.empty(len(index), object)
        for position, row in enumerate(np.asarray(index).tolist()):
            found[position] = read_graph(self._items[row], self.describe_row(row))
        return found

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return the graphs at `index` as bytes, to compare them."""
        return b"\n".join(graph.tobytes() for graph in self.gather(index))


def open_graphs(graphs: Any) -> Graphs:
    r"""Open a folder of graphs in the TU format, or a list of graphs.

    The result can be passed to `fit` and `transform` of all estimators that take graphs.

    Parameters
    ----------
    graphs : str, path-like, or list of graphs
        A folder with the files ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and, if there are such
        labels and attributes, ``NAME_graph_labels.txt``, ``NAME_node_labels.txt``,
        ``NAME_node_attributes.txt``, ``NAME_edge_labels.txt`` and ``NAME_edge_attributes.txt``, as
        published by TUDataset; or graphs of networkx or PyTorch Geometric.

    Returns
    -------
    Graphs
        Its attribute `labels` holds the labels of the graphs, or is None if there are none.
        ``graphs[index]`` is a part of it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, lines in (("A", "1, 2\n2, 1\n"), ("graph_indicator", "1\n1\n2\n"),
    ...                         ("graph_labels", "-1\n1\n")):
    ...         _ = Path(folder, f"PAIR_{name}.txt").write_text(lines)
    ...     graphs = open_graphs(folder)
    >>> len(graphs), graphs.labels.tolist()
    (2, [-1, 1])
    """
    if isinstance(graphs, Graphs):
        return graphs
    if isinstance(graphs, (str, os.PathLike)):
        if not os.path.isdir(graphs):
            raise FileNotFoundError(f"there is no folder {os.fspath(graphs)!r}")
        if not is_tu_folder(graphs):
            raise ValueError(
                f"the folder {os.fspath(graphs)!r} has no graphs in the TU format: NAME_A.txt and "
                "NAME_graph_indicator.txt"
            )
        return Graphs(*read_tu_folder(graphs))
    found = as_graphs(graphs)
    if found is None:
        raise ValueError(
            f"{type(graphs).__name__} is no list of graphs of networkx or PyTorch Geometric, and "
            "no folder"
        )
    return found


def as_graphs(X: Any) -> Graphs | None:
    """Return X as a source if it is a list or a dataset of graphs.

    Parameters
    ----------
    X : object
        What a user passed as X.

    Returns
    -------
    Graphs or None
        None if X is something else.

    Examples
    --------
    >>> import networkx
    >>> len(as_graphs([networkx.path_graph(3)]))
    1
    >>> as_graphs([[1.0, 2.0]]) is None
    True
    """
    if isinstance(X, Graphs):
        return X
    if is_graph(X):
        raise ValueError(f"X is one graph ({type(X).__name__}): give a list of graphs")
    if isinstance(X, torch.utils.data.Dataset):
        indexed: Any = X
        if not hasattr(X, "__getitem__") or not hasattr(X, "__len__") or len(indexed) == 0:
            return None
        return Graphs([indexed[i] for i in range(len(indexed))]) if is_graph(indexed[0]) else None
    if isinstance(X, np.ndarray):
        X = X.tolist() if X.ndim == 1 and X.dtype == object else None
    if not isinstance(X, (list, tuple)) or not any(is_graph(item) for item in X[:16]):
        return None
    return Graphs(X)
