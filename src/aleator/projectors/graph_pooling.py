"""What projectors of graphs share: nodes to draw from, and how their values become features."""

from __future__ import annotations

import torch
from torch import Tensor

from aleator.networks.packed_graphs import GraphBatch, feature_counts, unpack

# Graphs are drawn for a sample as long as they have no more nodes and arcs together.
_MOST_ITEMS = 1 << 17


def shares_and_counts(batch: GraphBatch, values: Tensor) -> Tensor:
    """Return the mean of values over the nodes of graphs, and the logarithm of one plus their sum.

    Parameters
    ----------
    batch : GraphBatch
        The graphs.
    values : Tensor of shape (n_nodes, k)
        Values of nodes that are not negative.

    Returns
    -------
    Tensor of shape (n_graphs, 2 k)
        Means and logarithms in turn; zero for a graph without nodes.

    Examples
    --------
    >>> batch = unpack(torch.tensor([[2.0, 0, 1, 0, 5, 6]]), 1, 0)
    >>> shares_and_counts(batch, torch.tensor([[1.0], [0.0]]))
    tensor([[0.5000, 0.6931]])
    """
    total = batch.sum_over_nodes(values)
    share = total / batch.sizes.clamp_min(1)[:, None]
    return torch.stack([share, total.log1p()], 2).flatten(1)


def nodes_of(sample: Tensor, generator: torch.Generator) -> GraphBatch:
    """Return graphs of a sample to draw from, in double precision.

    Parameters
    ----------
    sample : Tensor of shape (n, width)
        Packed graphs of the training data.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    GraphBatch
        All graphs if they are not too many. If none has a node, one node whose features are zero.

    Examples
    --------
    >>> len(nodes_of(torch.tensor([[0.0, 0, 3, 0]]), torch.Generator()).nodes)
    1
    """
    counts = feature_counts(sample)
    order = torch.randperm(len(sample), generator=generator).to(sample.device)
    items = sample[order, :2].sum(1).cumsum(0)
    kept = order[: max(1, int((items <= _MOST_ITEMS).sum()))]
    batch = unpack(sample[kept.sort().values].double(), *counts)
    if len(batch.nodes):
        return batch
    nothing = sample.new_zeros(1, sample.shape[1] + counts[0])
    nothing[0, 0] = 1
    nothing[0, 2], nothing[0, 3] = counts
    return unpack(nothing.double(), *counts)
