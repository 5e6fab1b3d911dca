"""Folders of graphs in the format of TUDataset (Morris et al. 2020).

All graphs are in one numbering of nodes, which begins with one. ``NAME_A.txt`` has two nodes per
arc, ``NAME_graph_indicator.txt`` the graph of every node, and the other files one line per node,
arc or graph.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from aleator.exceptions import DamagedFileError
from aleator.inputs.files import naming
from aleator.inputs.graphs.graph import Graph

_ARCS, _INDICATOR = "_A.txt", "_graph_indicator.txt"
_OPTIONAL = {
    "nodes": (("label", "_node_labels.txt"), ("attribute", "_node_attributes.txt")),
    "arcs": (("label", "_edge_labels.txt"), ("attribute", "_edge_attributes.txt")),
}
# Integers up to here are exact in double precision.
_LARGEST = 1 << 53


def is_tu_folder(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds graphs in the TU format.

    Examples
    --------
    >>> is_tu_folder(".")
    False
    """
    return len(_names(folder)) > 0


def read_tu_folder(folder: str | os.PathLike[str]) -> tuple[list[Graph], np.ndarray | None]:
    """Read all graphs of a folder.

    Parameters
    ----------
    folder : str or path-like
        The folder.

    Returns
    -------
    graphs : list of Graph
        The graphs.
    labels : ndarray of shape (n_graphs,) or None
        Their labels; None if there is no file of them.
    """
    names = _names(folder)
    if len(names) != 1:
        raise ValueError(
            f"the folder {os.fspath(folder)!r} holds several sets of graphs ({', '.join(names)}): "
            "give each a folder of its own"
        )
    begin = Path(folder) / names[0]
    indicator = _integers(begin, _INDICATOR, 1)[:, 0]
    labels = _labels(begin)
    n_graphs = len(labels) if labels is not None else int(indicator.max(initial=0))
    if len(indicator) == 0 or indicator.min() < 1 or indicator.max() > n_graphs:
        raise _damaged(begin, _INDICATOR, f"it must name graphs from 1 to {n_graphs}")
    if labels is None and n_graphs > len(indicator):
        raise _damaged(begin, _INDICATOR, "it names more graphs than there are nodes")
    arcs = _integers(begin, _ARCS, 2) - 1
    if arcs.size and (arcs.min() < 0 or arcs.max() >= len(indicator)):
        raise _damaged(begin, _ARCS, f"it must name nodes from 1 to {len(indicator)}")
    graph_of_arc = indicator[arcs[:, 0]]
    if (graph_of_arc != indicator[arcs[:, 1]]).any():
        raise _damaged(begin, _ARCS, "it connects nodes of different graphs")
    of_nodes = _attributes(begin, "nodes", len(indicator))
    of_arcs = _attributes(begin, "arcs", len(arcs))
    return _divide(indicator, arcs, graph_of_arc, of_nodes, of_arcs, n_graphs), labels


def _divide(
    indicator: np.ndarray,
    arcs: np.ndarray,
    graph_of_arc: np.ndarray,
    of_nodes: dict[str, np.ndarray],
    of_arcs: dict[str, np.ndarray],
    n_graphs: int,
) -> list[Graph]:
    """Make one graph of the nodes and arcs of each."""
    node_order = np.argsort(indicator, kind="stable")
    arc_order = np.argsort(graph_of_arc, kind="stable")
    ends = np.arange(1, n_graphs + 2)
    node_bounds = np.searchsorted(indicator[node_order], ends)
    arc_bounds = np.searchsorted(graph_of_arc[arc_order], ends)
    position = np.empty(len(indicator), np.int64)  # of a node in its graph
    position[node_order] = np.arange(len(indicator)) - node_bounds[indicator[node_order] - 1]
    graphs = []
    for k in range(n_graphs):
        nodes = node_order[node_bounds[k] : node_bounds[k + 1]]
        chosen = arc_order[arc_bounds[k] : arc_bounds[k + 1]]
        source, target = position[arcs[chosen]].T
        there, back = (np.sort(a * len(nodes) + b) for a, b in ((source, target), (target, source)))
        graphs.append(
            Graph(
                len(nodes),
                source,
                target,
                {name: values[nodes] for name, values in of_nodes.items()},
                {name: values[chosen] for name, values in of_arcs.items()},
                directed=not np.array_equal(there, back),
            )
        )
    return graphs


def _attributes(begin: Path, kind: str, count: int) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, ending in _OPTIONAL[kind]:
        if not _path(begin, ending).exists():
            continue
        if name == "label":
            columns = _integers(begin, ending)
            found |= {f"label {k}" if k else "label": c for k, c in enumerate(columns.T)}
        else:
            found[name] = columns = _numbers(begin, ending)
        if len(columns) != count:
            what = "nodes" if kind == "nodes" else "lines in the file of arcs"
            raise _damaged(
                begin, ending, f"it has {len(columns)} lines, but there are {count} {what}"
            )
    return found


def _labels(begin: Path) -> np.ndarray | None:
    ending = "_graph_labels.txt"
    if not _path(begin, ending).exists():
        return None
    values = _numbers(begin, ending)
    if values.shape[1] != 1 or len(values) == 0:
        raise _damaged(begin, ending, "it must have one number per line")
    whole = (values == np.round(values)).all() and np.abs(values).max(initial=0) < _LARGEST
    return values[:, 0].astype(np.int64) if whole else values[:, 0]


def _integers(begin: Path, ending: str, n_columns: int | None = None) -> np.ndarray:
    values = _numbers(begin, ending)
    if len(values) == 0 and n_columns is not None:
        return np.empty((0, n_columns), np.int64)
    if n_columns is not None and values.shape[1] != n_columns:
        raise _damaged(begin, ending, f"it must have {n_columns} number(s) per line")
    if (values != np.round(values)).any() or np.abs(values).max(initial=0) >= _LARGEST:
        raise _damaged(begin, ending, "it has numbers that are not integers")
    return values.astype(np.int64)


def _numbers(begin: Path, ending: str) -> np.ndarray:
    path = _path(begin, ending)
    with naming(str(path)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data", UserWarning)
        values = np.loadtxt(path, delimiter=",", ndmin=2, comments=None, encoding="utf-8")
    if not np.isfinite(values).all():
        raise _damaged(begin, ending, "it has NaN or infinities")
    return values


def _names(folder: str | os.PathLike[str]) -> list[str]:
    found = (path.name.removesuffix(_ARCS) for path in Path(folder).glob(f"*{_ARCS}"))
    return sorted(name for name in found if (Path(folder) / f"{name}{_INDICATOR}").exists())


def _path(begin: Path, ending: str) -> Path:
    return begin.with_name(begin.name + ending)


def _damaged(begin: Path, ending: str, reason: str) -> DamagedFileError:
    return DamagedFileError(f"{_path(begin, ending)} cannot be read: {reason}")
