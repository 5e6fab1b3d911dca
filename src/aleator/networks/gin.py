"""Graph isomorphism networks (Xu et al. 2019, How powerful are graph neural networks?)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from aleator.networks.packed_graphs import GraphBatch, feature_counts, unpack

_HIDDEN, _LAYERS = 64, 4
_EMBEDDING = 256


class NodeNorm(nn.BatchNorm1d):
    """Batch normalization over nodes, which leaves a single node as it is.

    A batch of empty graphs has no node at all. Several processes that train together decide by the
    nodes of all of them.

    Attributes
    ----------
    min_values : int
        Number of nodes from which on they are normalized in training.

    Examples
    --------
    >>> norm = NodeNorm(1)
    >>> norm(torch.tensor([[5.0]])).tolist(), norm(torch.tensor([[5.0], [7.0]])).round().tolist()
    ([[5.0]], [[-1.0], [1.0]])
    """

    min_values = 2

    def forward(self, x: Tensor) -> Tensor:
        """Normalize nodes.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, features)
            Nodes of all graphs of a batch.

        Returns
        -------
        Tensor of shape (n_nodes, features)
        """
        return x if self.training and len(x) < self.min_values else super().forward(x)


class GIN(nn.Module):
    """Layers that add up neighbors, whose outputs are averaged over nodes and joined.

    The output of every layer counts, as in jumping knowledge networks (Xu et al. 2018). Besides the
    mean over nodes, a layer gives its product with the logarithm of their number, since a mean
    alone does not tell the size of a graph. If arcs have features, they are added to what
    neighbors send (Hu et al. 2020).

    Parameters
    ----------
    node_features, arc_features : int
        Number of features of a node and of an arc.
    output_dim : int
        Width of the output.

    Examples
    --------
    >>> x = torch.tensor([[2.0, 1, 1, 0, 0, 1, 5, 6], [0.0, 0, 1, 0, 0, 0, 0, 0]])
    >>> GIN(1, 0, 8).eval()(x).shape
    torch.Size([2, 8])
    """

    def __init__(self, node_features: int, arc_features: int, output_dim: int) -> None:
        super().__init__()
        self._output_dim = output_dim
        self._build(node_features, arc_features)

    def _build(self, node_features: int, arc_features: int) -> None:
        self.counts = node_features, arc_features
        self.enter = nn.Linear(node_features, _HIDDEN)
        self.of_arcs = nn.ModuleList(
            nn.Linear(arc_features, _HIDDEN) for _ in range(_LAYERS) if arc_features
        )
        self.epsilon = nn.Parameter(torch.zeros(_LAYERS))
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Linear(_HIDDEN, _HIDDEN, bias=False),
                NodeNorm(_HIDDEN),
                nn.ReLU(),
                nn.Linear(_HIDDEN, _HIDDEN),
                nn.ReLU(),
            )
            for _ in range(_LAYERS)
        )
        self.leave = nn.Linear(2 * _HIDDEN * (_LAYERS + 1), self._output_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Embed graphs.

        Parameters
        ----------
        x : Tensor of shape (m, width)
            Packed graphs.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        batch = unpack(x, *self.counts)
        values = self.enter(batch.nodes)
        pooled = [_pool(batch, values)]
        for k, layer in enumerate(self.layers):
            received = self._received(batch, values, k)
            values = layer((1 + self.epsilon[k]) * values + received)
            pooled.append(_pool(batch, values))
        return self.leave(torch.cat(pooled, 1))

    def _received(self, batch: GraphBatch, values: Tensor, layer: int) -> Tensor:
        if len(self.of_arcs) == 0:
            return batch.sum_of_neighbors(values)
        messages = (values[batch.source] + self.of_arcs[layer](batch.arcs)).relu()
        return torch.zeros_like(values).index_add_(0, batch.target, messages.to(values.dtype))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:
        # Graphs of the training data, which tell the sizes, are not there when a model is loaded.
        enter, arcs = (state_dict.get(prefix + k) for k in ("enter.weight", "of_arcs.0.weight"))
        if enter is not None and enter.ndim == 2 and (arcs is None or arcs.ndim == 2):
            found = enter.shape[1], 0 if arcs is None else arcs.shape[1]
            if found != self.counts:
                self._build(*found)
        super()._load_from_state_dict(state_dict, prefix, *arguments)


def gin_encoder(
    input_shape: Sequence[int], embedding_dim: int | None = None, sample: Tensor | None = None
) -> GIN:
    """Build a graph isomorphism network for packed graphs.

    Parameters
    ----------
    input_shape : sequence of int
        Length of a row.
    embedding_dim : int, default=None
        Width of the embedding; None is 256.
    sample : Tensor of shape (n, width), default=None
        Packed graphs, which tell the number of features; None builds a network whose weights are
        to be loaded.

    Returns
    -------
    GIN

    Examples
    --------
    >>> gin_encoder((8,), 16, torch.tensor([[2.0, 1, 1, 0, 0, 1, 5, 6]])).counts
    (1, 0)
    """
    counts = (1, 0) if sample is None else feature_counts(sample)
    return GIN(*counts, _EMBEDDING if embedding_dim is None else embedding_dim)


def _pool(batch: GraphBatch, values: Tensor) -> Tensor:
    count = batch.sizes.to(values.dtype)[:, None]
    mean = batch.sum_over_nodes(values) / count.clamp_min(1)
    return torch.cat([mean, mean * count.log1p()], 1)
