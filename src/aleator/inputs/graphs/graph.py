"""One graph, whatever library it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from aleator.inputs.sources import tensor_to_array

# Attributes of PyTorch Geometric's graphs that are read; others are coordinates, labels and so on.
_NODE_ATTRIBUTES, _ARC_ATTRIBUTES = ("x",), ("edge_attr", "edge_weight")


@dataclass(frozen=True)
class Graph:
    """A graph: nodes, arcs between them, and attributes of both.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    source, target : ndarray of shape (n_arcs,), int64
        Nodes that arcs lead from and to. An edge of a graph that is not directed is two arcs.
    nodes, arcs : mapping of str to ndarray, default={}
        Attributes of nodes and of arcs: numbers of shape (n, k), or integers or objects (text, or
        None if it is missing) of shape (n,).
    directed : bool, default=False
        Whether arcs have no counterpart.

    Examples
    --------
    >>> Graph(2, np.array([0, 1]), np.array([1, 0])).n_arcs
    2
    """

    n_nodes: int
    source: np.ndarray
    target: np.ndarray
    nodes: Mapping[str, np.ndarray] = field(default_factory=dict)
    arcs: Mapping[str, np.ndarray] = field(default_factory=dict)
    directed: bool = False

    @property
    def n_arcs(self) -> int:
        """Number of arcs, when each can be followed in both directions."""
        return len(self.source) * (1 + self.directed)

    def tobytes(self) -> bytes:
        """Return all there is to know of the graph, to compare it with others."""
        parts = [repr((self.n_nodes, self.directed)).encode()]
        parts += [self.source.tobytes(), self.target.tobytes()]
        for attributes in (self.nodes, self.arcs):
            for name, values in sorted(attributes.items()):
                plain = (
                    repr(values.tolist()).encode() if values.dtype == object else values.tobytes()
                )
                parts += [name.encode(), plain]
        return b"\n".join(parts)


def is_graph(item: Any) -> bool:
    """Whether an object is a graph that can be read; no library is imported for it.

    Examples
    --------
    >>> import networkx
    >>> is_graph(networkx.path_graph(3)), is_graph([0, 1])
    (True, False)
    """
    return isinstance(item, Graph) or _is_networkx(item) or _is_geometric(item)


def read_graph(item: Any, place: str) -> Graph:
    """Read a graph.

    Parameters
    ----------
    item : Graph, networkx graph or torch_geometric Data
        The graph.
    place : str
        How messages name it.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import networkx
    >>> read_graph(networkx.path_graph(3), "row 0").source.tolist()
    [0, 1, 1, 2]
    """
    if isinstance(item, Graph):
        return item
    if _is_networkx(item):
        return _of_networkx(item, place)
    if _is_geometric(item):
        return _of_geometric(item, place)
    raise ValueError(
        f"{place} of X is {type(item).__name__}, but the others are graphs: give graphs of "
        "networkx or Data of PyTorch Geometric"
    )


def _is_networkx(item: Any) -> bool:
    return any(
        kind.__module__ == "networkx.classes.graph" and kind.__name__ == "Graph"
        for kind in type(item).__mro__
    )


def _is_geometric(item: Any) -> bool:
    return any(
        kind.__module__ == "torch_geometric.data.data" and kind.__name__ == "Data"
        for kind in type(item).__mro__
    )


def _of_networkx(graph: Any, place: str) -> Graph:
    position = {node: index for index, node in enumerate(graph)}
    ends, of_arcs = [], []
    directed = graph.is_directed()
    for source, target, attributes in graph.edges(data=True):
        ends.append((position[source], position[target]))
        of_arcs.append(attributes)
        if not directed and source != target:
            ends.append((position[target], position[source]))
            of_arcs.append(attributes)
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    of_nodes = [attributes for _, attributes in graph.nodes(data=True)]
    return Graph(
        len(position),
        pairs[:, 0],
        pairs[:, 1],
        _columns(of_nodes, f"a node of {place}"),
        _columns(of_arcs, f"an edge of {place}"),
        directed,
    )


def _of_geometric(data: Any, place: str) -> Graph:
    x = getattr(data, "x", None)
    given = getattr(data, "edge_index", None)
    if given is None:
        pairs = np.empty((2, 0), np.int64)
    elif isinstance(given, torch.Tensor) and given.ndim == 2 and given.shape[0] == 2:
        pairs = tensor_to_array(given).astype(np.int64)
    else:
        raise ValueError(f"{place} of X: edge_index must have the shape (2, number of edges)")
    n_nodes = getattr(data, "num_nodes", None) if x is None else len(x)
    n_nodes = int(pairs.max(initial=-1)) + 1 if n_nodes is None else int(n_nodes)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n_nodes):
        raise ValueError(
            f"{place} of X: edge_index has nodes from {pairs.min()} to {pairs.max()}, but there "
            f"are {n_nodes} nodes"
        )
    return Graph(
        n_nodes,
        pairs[0],
        pairs[1],
        _tensors(data, _NODE_ATTRIBUTES, n_nodes, place),
        _tensors(data, _ARC_ATTRIBUTES, pairs.shape[1], place),
        directed=not _is_symmetric(pairs),
    )


def _is_symmetric(pairs: np.ndarray) -> bool:
    """Whether every arc has its counterpart."""
    there = pairs[:, np.lexsort(pairs)]
    back = pairs[::-1]
    return np.array_equal(there, back[:, np.lexsort(back)])


def _tensors(data: Any, names: Sequence[str], count: int, place: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name in names:
        if (values := getattr(data, name, None)) is not None:
            found |= _tensor_columns(name, values, count, place)
    return found


def _tensor_columns(name: str, values: Any, count: int, place: str) -> dict[str, np.ndarray]:
    """Numbers as one attribute; integers, which are often codes, as one per column."""
    array = tensor_to_array(torch.as_tensor(values))
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or len(array) != count or array.dtype.kind not in "buif":
        raise ValueError(
            f"{place} of X: {name} must be numbers of shape ({count}, features), but it has the "
            f"shape {array.shape}"
        )
    if array.dtype.kind == "f":
        return {name: array.astype(np.float64)}
    named = [f"{name}[{k}]" for k in range(array.shape[1])] if array.shape[1] > 1 else [name]
    return dict(zip(named, array.T.astype(np.int64), strict=True))


def _columns(rows: Sequence[Mapping[Any, Any]], place: str) -> dict[str, np.ndarray]:
    """One array per attribute of a list of dictionaries."""
    names = {name: str(name) for row in rows for name in row}
    return {
        names[name]: _array_of([row.get(name) for row in rows], names[name], place)
        for name in sorted(names, key=str)
    }


def _array_of(values: Sequence[Any], name: str, place: str) -> np.ndarray:
    known = [value for value in values if not _is_missing(value)]
    if all(isinstance(value, (bool, int, np.integer, np.bool_)) for value in known):
        try:
            if len(known) == len(values):
                return np.array(values, np.int64)
        except OverflowError:
            pass
        return np.array([[np.nan if _is_missing(v) else float(v)] for v in values])
    if all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in known):
        return np.array([[np.nan if _is_missing(v) else float(v)] for v in values])
    if any(isinstance(value, (list, tuple, np.ndarray, torch.Tensor)) for value in known):
        return _vectors(values, name, place)
    made = np.empty(len(values), object)
    for index, value in enumerate(values):
        made[index] = None if _is_missing(value) else str(value)
    return made


def _vectors(values: Sequence[Any], name: str, place: str) -> np.ndarray:
    rows: list[np.ndarray | None] = []
    for value in values:
        if _is_missing(value):
            rows.append(None)
            continue
        try:
            array = tensor_to_array(value) if isinstance(value, torch.Tensor) else np.asarray(value)
            rows.append(array.astype(np.float64).ravel())
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"the attribute {name!r} of {place} in X is {value!r:.60}, which is no list of "
                "numbers"
            ) from error
    width = max(len(row) for row in rows if row is not None)
    if any(row is not None and len(row) != width for row in rows):
        raise ValueError(f"the attribute {name!r} of {place} in X has lists of different lengths")
    missing = np.full(width, np.nan)
    return np.array([missing if row is None else row for row in rows])


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
