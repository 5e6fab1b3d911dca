"""Random graph isomorphism networks, standardized on the data.

Layers add up neighbors (Xu et al. 2019) with random weights. A feature is how often, over the nodes
of a graph, a random direction of a layer exceeds the value that it has at a node of the data. Nodes
have their own features, and for one of two networks also how likely a walk from them returns.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from aleator.networks.packed_graphs import GraphBatch, feature_counts, unpack
from aleator.projectors.drawn import DrawnModule, scale_of
from aleator.projectors.graph_pooling import nodes_of, shares_and_counts
from aleator.projectors.graph_returns import return_probabilities

_LAYERS, _WIDTH = 4, 64
# Steps of the longest walks that return: rings of molecules have five or six nodes, two fused ten.
_STEPS = 10
# Width of the step from below to above a threshold, as a share of the standard deviation.
_SOFTNESS = 0.2
_TINY = 1e-6


class RandomGraphNetworks(DrawnModule):
    """How often random functions of the neighborhoods of nodes exceed thresholds.

    Half of the features are shares of the nodes, the others logarithms of their number. Half of the
    width is a network that sees probabilities of return, the other half one that does not; weights
    between them are zero, and directions belong to them in turn. Everything is computed in double
    precision, so that neither the order of nodes nor other graphs of a batch are seen.

    Parameters
    ----------
    enter : Tensor of shape (node_features + 9, 64), default=None
        Weights of the first layer: of the features of nodes, and of probabilities that walks of two
        to ten steps return.
    weight : Tensor of shape (3, 64, 64), default=None
        Weights of the other layers.
    arc_weight : Tensor of shape (3, arc_features, 64), default=None
        Weights of the features of arcs.
    mean, scale : Tensor of shape (4, 64), default=None
        What is subtracted from the outputs of layers, and by what they are divided.
    direction : Tensor of shape (4, 64, k), default=None
        Directions of every layer, divided by the width of a step.
    threshold : Tensor of shape (4, k), default=None
        Their thresholds.
    output_dim : int, default=0
        Number of features; surplus features are left out.
    returns : Tensor of shape (9,), default=None
        Mean probabilities of the data, for graphs that are too large to compute them.
    """

    enter: Tensor
    weight: Tensor
    arc_weight: Tensor
    mean: Tensor
    scale: Tensor
    direction: Tensor
    threshold: Tensor
    output_dim: Tensor
    returns: Tensor

    def __init__(
        self,
        enter: Tensor | None = None,
        weight: Tensor | None = None,
        arc_weight: Tensor | None = None,
        mean: Tensor | None = None,
        scale: Tensor | None = None,
        direction: Tensor | None = None,
        threshold: Tensor | None = None,
        output_dim: int = 0,
        returns: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.store(
            enter=enter, weight=weight, arc_weight=arc_weight, mean=mean, scale=scale,
            direction=direction, threshold=threshold, output_dim=output_dim, returns=returns,
        )  # fmt: skip
        if enter is not None:
            self.prepare()

    def prepare(self) -> None:
        """Read the sizes, and check those of a saved model."""
        layers, width, count = self.direction.shape if self.direction.ndim == 3 else (0, 0, 0)
        shapes = {
            "enter": (self.enter.shape[0], width),
            "weight": (layers - 1, width, width),
            "arc_weight": (layers - 1, *self.arc_weight.shape[1:2], width),
            "mean": (layers, width),
            "scale": (layers, width),
            "threshold": (layers, count),
            "output_dim": (),
            "returns": (self.returns.numel(),),
        }
        if not 0 < self.returns.numel() <= len(self.enter) or any(
            getattr(self, name).shape != shape for name, shape in shapes.items()
        ):
            raise ValueError("the layers of a random network of graphs do not fit each other")
        self._counts = len(self.enter) - len(self.returns), self.arc_weight.shape[1]
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
        features = []
        values = self.inputs(batch)
        for k in range(len(self.direction)):
            values = self.layer(batch, values, k)
            values = (values - self.mean[k].double()) / self.scale[k].double()
            above = values @ self.direction[k].double() - self.threshold[k].double()
            features.append(shares_and_counts(batch, above.sigmoid_()))
        return torch.cat(features, 1)[:, : self._width].to(x.dtype)

    def inputs(self, batch: GraphBatch) -> Tensor:
        """Return what the first layer sees.

        Parameters
        ----------
        batch : GraphBatch
            The graphs.

        Returns
        -------
        Tensor of shape (n_nodes, node_features + 9)
            Features of nodes, and probabilities of return.
        """
        returns = return_probabilities(batch, len(self.returns) + 1)
        return torch.cat([batch.nodes, returns.where(~returns.isnan(), self.returns.double())], 1)

    def layer(self, batch: GraphBatch, values: Tensor, layer: int) -> Tensor:
        """Compute the outputs of a layer, before they are standardized.

        Parameters
        ----------
        batch : GraphBatch
            The graphs.
        values : Tensor of shape (n_nodes, k)
            Outputs of the layer before, standardized, or what `inputs` returns.
        layer : int
            Its position.

        Returns
        -------
        Tensor of shape (n_nodes, 64)
        """
        if layer == 0:
            return values @ self.enter.double()
        values = values.relu()
        if self._counts[1]:
            sent = values[batch.source] + batch.arcs @ self.arc_weight[layer - 1].double()
            received = torch.zeros_like(values).index_add_(0, batch.target, sent.relu_())
        else:
            received = batch.sum_of_neighbors(values)
        return (values + received) @ self.weight[layer - 1].double()

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw weights, directions, and nodes that set the thresholds.

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
        RandomGraphNetworks
        """
        n_directions = -(-output_dim // (2 * _LAYERS))

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator).to(sample.device)

        counts = feature_counts(sample)
        batch = nodes_of(sample, generator)
        returns = return_probabilities(batch, _STEPS)
        known = returns[~returns.isnan().any(1)]
        if not len(known):
            known = torch.zeros_like(returns[:1])
        mean = known.mean(0)
        # Features of nodes are standardized; probabilities are so by their weights, and count as
        # much as the features together, however few these are.
        divisor = torch.ones(counts[0] + len(mean), 1, device=sample.device)
        divisor[counts[0] :, 0] = scale_of(known.std(0, unbiased=False), mean)
        divisor[counts[0] :] *= (len(mean) / max(1, counts[0])) ** 0.5
        enter = normal(counts[0] + len(mean), _WIDTH) / divisor
        weight = normal(_LAYERS - 1, _WIDTH, _WIDTH)
        arc_weight = normal(_LAYERS - 1, counts[1], _WIDTH)
        direction = normal(_LAYERS, _WIDTH, n_directions)
        # Where rings do not matter, probabilities of return are noise in all that is computed from
        # them. So only one of two networks sees them.
        sees = torch.arange(_WIDTH, device=sample.device) < _WIDTH // 2
        of_sight = torch.arange(n_directions, device=sample.device) % 2 == 0
        enter[counts[0] :, ~sees] = 0
        weight[:, sees[:, None] != sees] = 0
        direction[:, sees[:, None] != of_sight] = 0
        made = cls(
            enter,
            weight,
            arc_weight,
            torch.zeros(_LAYERS, _WIDTH),
            torch.ones(_LAYERS, _WIDTH),
            direction,
            torch.zeros(_LAYERS, n_directions),
            output_dim,
            mean.to(sample.dtype),
        ).to(sample.device)
        values = made.inputs(batch)
        for k in range(_LAYERS):
            values = made.layer(batch, values, k)
            made.mean[k] = values.mean(0)
            made.scale[k] = values.std(0, unbiased=False).clamp_min(_TINY)
            values = (values - made.mean[k].double()) / made.scale[k].double()
            response = values @ made.direction[k].double()
            step = _SOFTNESS * response.std(0, unbiased=False).clamp_min(_TINY)
            made.direction[k] /= step
            node = torch.randint(len(values), (n_directions,), generator=generator)
            node = node.to(sample.device)
            made.threshold[k] = (values[node] * made.direction[k].double().T).sum(1)
        return made
