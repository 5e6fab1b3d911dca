"""How likely a random walk is back where it began, which tells nodes on cycles from others.

Sums over neighbors, however often they are repeated, are the same at the nodes of a ring of five
and of a ring of six (Xu et al. 2019). Probabilities of return are not, and serve as features of
nodes for that reason (Dwivedi et al. 2022, Graph neural networks with learnable structural and
positional representations).
"""

from __future__ import annotations

import torch
from torch import Tensor

from aleator.networks.packed_graphs import GraphBatch

# Time grows with the squared number of nodes, so that larger graphs are left out.
_MOST_NODES = 2048
# Nodes of a graph at which walks begin at once.
_STARTS = 64


@torch.no_grad()
def return_probabilities(batch: GraphBatch, most_steps: int) -> Tensor:
    """Compute how likely a walk from a node is there again after two, three and more steps.

    Every step of a walk takes one of the arcs that leave a node, all equally likely.

    Parameters
    ----------
    batch : GraphBatch
        The graphs, in which arcs have their counterparts.
    most_steps : int
        Number of steps of the longest walks.

    Returns
    -------
    Tensor of shape (n_nodes, most_steps - 1)
        The probabilities, zero for a node without arcs, and NaN in graphs of more than 2048 nodes.

    Examples
    --------
    >>> from aleator.networks.packed_graphs import unpack
    >>> triangle = torch.tensor([[3.0, 6, 0, 0, 0, 0, 1, 1, 2, 2, 1, 2, 0, 2, 0, 1]])
    >>> return_probabilities(unpack(triangle, 0, 0), 3)[0].tolist()
    [0.5, 0.25]
    """
    size = batch.sizes[batch.graph]
    position = torch.arange(len(size), device=size.device)
    position -= (batch.sizes.cumsum(0) - batch.sizes)[batch.graph]
    degree = torch.bincount(batch.source, minlength=len(size)).to(batch.nodes.dtype)
    found = batch.nodes.new_full((len(size), most_steps - 1), torch.nan)
    small = size <= _MOST_NODES
    n_starts = int(size[small].max()) if small.any() else 0
    for first in range(0, n_starts, _STARTS):
        kept = small & (size > first)  # of other graphs, all nodes had their turn
        number = kept.cumsum(0) - 1
        arcs = kept[batch.source]
        source, target = batch.source[arcs], batch.target[arcs]
        # The symmetric counterpart of the matrix of transitions: its powers have the same diagonal.
        matrix = torch.sparse_coo_tensor(
            torch.stack([number[target], number[source]]),
            (degree[source] * degree[target]).rsqrt(),
            (int(kept.sum()),) * 2,
            check_invariants=False,
        ).coalesce()
        column, graph = position[kept] - first, batch.graph[kept]
        begins = (column >= 0) & (column < _STARTS)
        node, start = begins.nonzero()[:, 0], column[begins]
        walks = found.new_zeros(len(column), _STARTS)
        walks[node, start] = 1
        diagonals: list[Tensor] = []
        while len(diagonals) < most_steps:
            onward = torch.sparse.mm(matrix, walks)
            # Diagonals of the odd and of the even power that these two powers multiply to.
            for product in (walks * onward, onward.square()):
                total = found.new_zeros(len(batch.sizes), _STARTS).index_add_(0, graph, product)
                diagonals.append(total[graph[node], start])
            walks = onward
        found[kept.nonzero()[node, 0]] = torch.stack(diagonals[1:most_steps], 1)
    return found
