"""Random walks of the data: how likely a walk in another graph looks the same.

A walk is drawn in a graph of the training data. The feature of another graph is how likely a random
walk in it sees nodes and arcs with the same features, step by step. It is computed exactly, by one
multiplication with the matrix of transitions per step, as in kernels of random walks (Kashima,
Tsuda and Inokuchi 2003), of which this is one walk at a time.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from aleator.networks.packed_graphs import GraphBatch, feature_counts, unpack
from aleator.projectors.drawn import DrawnModule, log_uniform
from aleator.projectors.graph_pooling import nodes_of, shares_and_counts

_STEPS = 4
# Width of the comparison of features, as a share of the distance of two typical nodes.
_NARROWEST, _WIDEST = 0.1, 1.0
# Values that are computed at once: 128 MiB in double precision.
_VALUES_AT_ONCE = 1 << 24


class RandomWalks(DrawnModule):
    """How likely random walks look like walks of the data, for walks of zero to four steps.

    Half of the features are means over the nodes that walks begin at, the others logarithms of one
    plus the sum. Features are compared and summed in double precision, so that neither the order of
    nodes nor other graphs of a batch are seen.

    Parameters
    ----------
    node : Tensor of shape (5, walks, node_features), default=None
        Features of the nodes of every walk, from its end to its beginning.
    arc : Tensor of shape (4, walks, arc_features), default=None
        Features of the arcs between them.
    steps : Tensor of shape (walks,), int64, default=None
        Number of steps of every walk; later nodes are not read.
    precision : Tensor of shape (walks,), default=None
        By what the squared distance of features is multiplied.
    output_dim : int, default=0
        Number of features; surplus features are left out.
    """

    node: Tensor
    arc: Tensor
    steps: Tensor
    precision: Tensor
    output_dim: Tensor

    def __init__(
        self,
        node: Tensor | None = None,
        arc: Tensor | None = None,
        steps: Tensor | None = None,
        precision: Tensor | None = None,
        output_dim: int = 0,
    ) -> None:
        super().__init__()
        self.store(node=node, arc=arc, steps=steps, precision=precision, output_dim=output_dim)
        if node is not None:
            self.prepare()

    def prepare(self) -> None:
        """Read the sizes, and check those of a saved model."""
        length, walks, features = self.node.shape if self.node.ndim == 3 else (0, 0, 0)
        if (
            self.arc.ndim != 3
            or self.arc.shape[:2] != (length - 1, walks)
            or self.steps.shape != (walks,)
            or self.steps.is_floating_point()
            or self.precision.shape != (walks,)
            or self.output_dim.ndim
        ):
            raise ValueError("the walks of graphs have other sizes than their steps")
        self._counts = features, self.arc.shape[2]
        self._width = int(self.output_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features.

        Parameters
        ----------
        x : Tensor of shape (m, width)
            Packed graphs.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        batch = unpack(x.double(), *self._counts)
        place = _Place(batch, x.dtype)
        at_once = max(1, _VALUES_AT_ONCE // max(1, len(batch.nodes), len(batch.source)))
        features = []
        for first in range(0, len(self.steps), at_once):
            likely = self._likelihood(place, slice(first, first + at_once))
            features.append(shares_and_counts(batch, likely.double()))
        return torch.cat(features, 1)[:, : self._width].to(x.dtype)

    def _likelihood(self, place: _Place, walks: slice) -> Tensor:
        """How likely some of the walks are from every node."""
        steps, precision = self.steps[walks], self.precision[walks].double()
        likely = place.compare_nodes(self.node[0, walks], precision)
        for k in range(len(self.arc)):
            if self._counts[1]:
                onward = place.step_along(likely, self.arc[k, walks], precision)
            else:
                onward = torch.sparse.mm(place.transitions, likely)
            onward *= place.compare_nodes(self.node[k + 1, walks], precision)
            likely = torch.where(steps > k, onward, likely)
        return likely

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw walks in graphs of the data, and widths of the comparison.

        Parameters
        ----------
        sample : Tensor of shape (n, width)
            Packed graphs of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        RandomWalks
        """
        counts = feature_counts(sample)
        batch = nodes_of(sample, generator)
        n_walks = -(-output_dim // 2)
        order = batch.source.argsort(stable=True)
        leaving = torch.bincount(batch.source, minlength=len(batch.nodes))
        first = leaving.cumsum(0) - leaving
        node = torch.randint(len(batch.nodes), (n_walks,), generator=generator).to(sample.device)
        nodes, arcs = [batch.nodes[node]], []
        for _ in range(_STEPS):
            unit = torch.rand(n_walks, generator=generator, dtype=torch.float64).to(sample.device)
            chosen = first[node] + (unit * leaving[node]).long()
            features = batch.nodes.new_zeros(n_walks, counts[1])
            moves = leaving[node] > 0  # a node without arcs is not left
            arc = order[chosen[moves]]
            features[moves] = batch.arcs[arc]
            node = node.masked_scatter(moves, batch.target[arc])
            nodes.append(batch.nodes[node])
            arcs.append(features)
        width = log_uniform(_NARROWEST, _WIDEST, n_walks, generator).to(sample.device)
        # The squared distance of two typical nodes is twice the sum of the variances.
        typical = 2 * batch.nodes.var(0, unbiased=False).sum().clamp_min(1e-12)
        steps = torch.arange(n_walks, device=sample.device) % (_STEPS + 1)
        return cls(
            torch.stack(nodes).to(sample.dtype),
            torch.stack(arcs).to(sample.dtype),
            steps,
            1 / (2 * width.square() * typical.to(sample.dtype)),
            output_dim,
        ).to(sample.device)


class _Place:
    """The graphs that walks are compared with: transitions, and features of nodes and arcs."""

    def __init__(self, batch: GraphBatch, dtype: torch.dtype) -> None:
        self._batch, self._dtype = batch, dtype
        # Many nodes have the same features, if these are few categories.
        self._nodes, self._node = _unique_rows(batch.nodes)
        self._arcs, self._arc = _unique_rows(batch.arcs)
        n_nodes = len(batch.nodes)
        leaving = torch.bincount(batch.source, minlength=n_nodes)
        self._share = (1 / leaving[batch.source]).to(dtype)
        ends = torch.stack([batch.source, batch.target])
        self.transitions = torch.sparse_coo_tensor(
            ends, self._share, (n_nodes, n_nodes), check_invariants=False
        ).coalesce()

    def compare_nodes(self, drawn: Tensor, precision: Tensor) -> Tensor:
        return _similarity(self._nodes, drawn, precision).to(self._dtype)[self._node]

    def step_along(self, likely: Tensor, drawn: Tensor, precision: Tensor) -> Tensor:
        sent = likely[self._batch.target] * self._share[:, None]
        sent *= _similarity(self._arcs, drawn, precision).to(self._dtype)[self._arc]
        return torch.zeros_like(likely).index_add_(0, self._batch.source, sent)


def _unique_rows(values: Tensor) -> tuple[Tensor, Tensor]:
    if values.numel() == 0:
        return values, torch.arange(len(values), device=values.device)
    return torch.unique(values, dim=0, return_inverse=True)


def _similarity(values: Tensor, drawn: Tensor, precision: Tensor) -> Tensor:
    """Compare all values with all that were drawn; one where they are equal."""
    drawn = drawn.double()
    distance = values.square().sum(1, keepdim=True) - 2 * values @ drawn.T + drawn.square().sum(1)
    return torch.exp(-distance.clamp_min_(0) * precision)
