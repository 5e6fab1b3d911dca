"""Graphs as rows of numbers, and batches of them as one graph whose parts are not connected.

A row holds a graph, whatever its size: four numbers (nodes, arcs, features of a node, features of
an arc), the sources of all arcs, their targets, the features of nodes and those of arcs. What
follows is not read. An edge is two arcs, one in each direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

HEADER = 4


class GraphBatch(NamedTuple):
    """Several graphs as one, whose nodes are numbered consecutively.

    Attributes
    ----------
    nodes : Tensor of shape (n_nodes, node_features)
        Features of nodes.
    arcs : Tensor of shape (n_arcs, arc_features)
        Features of arcs.
    source, target : Tensor of shape (n_arcs,), int64
        Nodes that arcs lead from and to.
    graph : Tensor of shape (n_nodes,), int64
        Position of the graph that a node belongs to.
    sizes : Tensor of shape (n_graphs,), int64
        Number of nodes of each graph.
    """

    nodes: Tensor
    arcs: Tensor
    source: Tensor
    target: Tensor
    graph: Tensor
    sizes: Tensor

    def sum_of_neighbors(self, messages: Tensor) -> Tensor:
        """Add up, for every node, messages of the nodes that arcs lead from.

        Parameters
        ----------
        messages : Tensor of shape (n_nodes, k)
            Messages of all nodes.

        Returns
        -------
        Tensor of shape (n_nodes, k)
        """
        return torch.zeros_like(messages).index_add_(0, self.target, messages[self.source])

    def sum_over_nodes(self, values: Tensor) -> Tensor:
        """Add up values of the nodes of each graph; zero for a graph without nodes.

        Parameters
        ----------
        values : Tensor of shape (n_nodes, k)
            Values of all nodes.

        Returns
        -------
        Tensor of shape (n_graphs, k)
        """
        total = values.new_zeros(len(self.sizes), values.shape[1])
        return total.index_add_(0, self.graph, values)


def packed_width(n_nodes: int, n_arcs: int, node_features: int, arc_features: int) -> int:
    """Return the length of the row that holds a graph.

    Examples
    --------
    >>> packed_width(3, 4, 2, 0)
    18
    """
    return HEADER + n_arcs * (2 + arc_features) + n_nodes * node_features


def pack(
    row: np.ndarray, source: np.ndarray, target: np.ndarray, nodes: np.ndarray, arcs: np.ndarray
) -> None:
    """Write a graph into a row, which must be long enough.

    Parameters
    ----------
    row : ndarray of shape (width,), float32
        Where to write it.
    source, target : ndarray of shape (n_arcs,)
        Nodes that arcs lead from and to.
    nodes : ndarray of shape (n_nodes, node_features)
        Features of nodes.
    arcs : ndarray of shape (n_arcs, arc_features)
        Features of arcs.

    Examples
    --------
    >>> row = np.zeros(10, np.float32)
    >>> pack(row, np.array([0]), np.array([1]), np.array([[5.0], [6.0]]), np.empty((1, 0)))
    >>> row.tolist()
    [2.0, 1.0, 1.0, 0.0, 0.0, 1.0, 5.0, 6.0, 0.0, 0.0]
    """
    row[:HEADER] = len(nodes), len(source), nodes.shape[1], arcs.shape[1]
    parts = (source, target, nodes.ravel(), arcs.ravel())
    whole = np.concatenate(parts, dtype=np.float32, casting="unsafe")
    row[HEADER : HEADER + len(whole)] = whole


def feature_counts(sample: Tensor) -> tuple[int, int]:
    """Return the number of features of a node and of an arc in packed graphs.

    Examples
    --------
    >>> feature_counts(torch.tensor([[1.0, 0.0, 2.0, 0.0, 7.0, 8.0]]))
    (2, 0)
    """
    return int(sample[0, 2]), int(sample[0, 3])


def unpack(x: Tensor, node_features: int, arc_features: int) -> GraphBatch:
    """Make one graph of a batch of packed ones.

    Parameters
    ----------
    x : Tensor of shape (m, width)
        Packed graphs.
    node_features, arc_features : int
        Number of features of a node and of an arc.

    Returns
    -------
    GraphBatch

    Examples
    --------
    >>> x = torch.tensor([[2.0, 1, 1, 0, 0, 1, 5, 6], [1.0, 1, 1, 0, 0, 0, 7, 0]])
    >>> batch = unpack(x, 1, 0)
    >>> batch.nodes.flatten().tolist(), batch.source.tolist(), batch.target.tolist()
    ([5.0, 6.0, 7.0], [0, 2], [1, 2])
    """
    n_nodes, n_arcs = x[:, 0].long(), x[:, 1].long()
    # A saved network may be damaged, and must not read beyond a graph.
    other_nodes = (n_nodes > 0) & (x[:, 2] != node_features)
    other_arcs = (n_arcs > 0) & (x[:, 3] != arc_features)
    if (other_nodes | other_arcs).any():
        raise ValueError(
            f"a network of graphs expects {node_features} features per node and {arc_features} per "
            "edge, but the graphs have others"
        )
    graph, node = _positions(n_nodes)
    row, arc = _positions(n_arcs)
    values, start = x.flatten(), HEADER + x.shape[1] * torch.arange(len(x), device=x.device)
    first_node = n_nodes.cumsum(0) - n_nodes
    source = values[start[row] + arc].long() + first_node[row]
    target = values[(start + n_arcs)[row] + arc].long() + first_node[row]
    start = start + 2 * n_arcs
    nodes = values[_blocks(start[graph], node, node_features)]
    start = start + node_features * n_nodes
    arcs = values[_blocks(start[row], arc, arc_features)]
    return GraphBatch(nodes, arcs, source, target, graph, n_nodes)


def _positions(counts: Tensor) -> tuple[Tensor, Tensor]:
    """For every item, the group that it is in and its position in it."""
    group = torch.repeat_interleave(counts)
    first = counts.cumsum(0) - counts
    return group, torch.arange(len(group), device=counts.device) - first[group]


def _blocks(start: Tensor, position: Tensor, width: int) -> Tensor:
    """Where the numbers of the block at a position are."""
    return (start + position * width)[:, None] + torch.arange(width, device=start.device)
