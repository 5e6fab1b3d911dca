"""Leaves of totally random trees.

After extremely randomized trees (Geurts, Ernst and Wehenkel 2006): a node splits a random column at
a random value between those of two random rows that reach it. No labels take part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from aleator.projectors.drawn import DrawnModule

_DEPTH = 3
_N_BINS = 32
# Constant columns may be drawn too, if there are no others.
_LEAST_ENTROPY = 1e-6
# A column of the table of the user is tested at least and at most as often as so many columns of
# numbers with different values, whatever number of features it became.
_LEAST_NUMBERS, _MOST_NUMBERS = 1, 8


class RandomTrees(DrawnModule):
    """Which leaf of each tree a row falls into, one-hot.

    Parameters
    ----------
    column : Tensor of shape (trees, 2 ** depth - 1), default=None
        Column that a node tests; the children of node i are 2 i + 1 and 2 i + 2.
    threshold : Tensor of shape (trees, 2 ** depth - 1), default=None
        Rows with a larger value go to the second child.
    output_dim : int, default=0
        Number of features; surplus features are left out.

    Examples
    --------
    >>> stump = RandomTrees(torch.tensor([[0]]), torch.tensor([[0.5]]), output_dim=2)
    >>> stump(torch.tensor([[0.0], [1.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    column: Tensor
    threshold: Tensor
    output_dim: Tensor

    def __init__(
        self, column: Tensor | None = None, threshold: Tensor | None = None, output_dim: int = 0
    ) -> None:
        super().__init__()
        self.store(column=column, threshold=threshold, output_dim=output_dim)
        self._n_columns = 0  # which a saved model asks for; what was drawn fits the data
        if column is not None:
            self.prepare()

    def prepare(self) -> None:
        """Read the sizes, and check those of a saved model."""
        column, threshold = self.column, self.threshold
        n_nodes = column.shape[1] if column.ndim == 2 and len(column) else 0
        if (
            n_nodes != 2 ** _depth_of(n_nodes) - 1
            or n_nodes == 0
            or threshold.shape != column.shape
            or column.dtype != torch.long
            or self.output_dim.ndim
        ):
            raise ValueError("the nodes of random trees do not fit each other")
        self._width = int(self.output_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the leaves, one-hot.

        Parameters
        ----------
        x : Tensor of shape (m, columns)
            Rows.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        if x.shape[1] < self._n_columns:
            raise ValueError(
                f"random trees test {self._n_columns} columns, but rows have {x.shape[1]}"
            )
        n_trees, n_nodes = self.column.shape
        tree = torch.arange(n_trees, device=x.device)
        node = torch.zeros(len(x), n_trees, dtype=torch.long, device=x.device)
        for _ in range(_depth_of(n_nodes)):
            right = x.gather(1, self.column[tree, node]) > self.threshold[tree, node]
            node = 2 * node + 1 + right
        leaves = x.new_zeros(len(x), n_trees, n_nodes + 1)
        leaves.scatter_(2, (node - n_nodes)[..., None], 1)
        return leaves.flatten(1)[:, : self._width]

    def _load_from_state_dict(self, *arguments: Any) -> None:
        super()._load_from_state_dict(*arguments)
        if self.column.min() < 0:
            raise ValueError("random trees test a column before the first")
        self._n_columns = int(self.column.max()) + 1

    @classmethod
    def draw(
        cls,
        sample: Tensor,
        output_dim: int,
        generator: torch.Generator,
        blocks: Sequence[slice] = (),
    ) -> Self:
        """Draw totally random trees of depth 3.

        Parameters
        ----------
        sample : Tensor of shape (n, columns)
            Rows of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.
        blocks : sequence of slice, default=()
            Features that were made of one column. Those of texts are many, and would be tested by
            most nodes if they were drawn like others; indicators of categories would hardly be.

        Returns
        -------
        RandomTrees
        """
        n_nodes = 2**_DEPTH - 1
        n_trees = math.ceil(output_dim / (n_nodes + 1))
        weight = column_entropies(sample)
        for block in blocks:
            total, number = weight[block].sum(), math.log(_N_BINS)
            if total > 0:
                weight[block] *= (
                    total.clamp(_LEAST_NUMBERS * number, _MOST_NUMBERS * number) / total
                )
        weight += _LEAST_ENTROPY
        column = torch.multinomial(
            weight.cpu(), n_trees * n_nodes, replacement=True, generator=generator
        )
        column = column.view(n_trees, n_nodes).to(sample.device)
        threshold = torch.empty(n_trees, n_nodes, device=sample.device)
        # Node of every row.
        place = torch.zeros(n_trees, len(sample), dtype=torch.long, device=sample.device)
        for node in range(n_nodes):
            # The two rows of the node with the largest random numbers; a node with fewer rows
            # borrows others.
            order = torch.rand(n_trees, len(sample), generator=generator).to(sample.device)
            pair = order.masked_fill_(place != node, -1).topk(2, dim=1).indices
            first, second = sample[pair, column[:, node, None]].T
            share = torch.rand(n_trees, generator=generator).to(sample.device)
            threshold[:, node] = first.lerp(second, share)
            right = sample.T[column[:, node]] > threshold[:, node, None]
            place = torch.where(place == node, 2 * node + 1 + right, place)
        return cls(column, threshold, output_dim).to(sample.device)


def column_entropies(sample: Tensor) -> Tensor:
    """Entropy of every column, in bins of equal counts.

    Columns are drawn in proportion to it, so that a few numeric columns are not lost among many
    indicators of categories.

    Parameters
    ----------
    sample : Tensor of shape (n, columns)
        Rows of the training data.

    Returns
    -------
    Tensor of shape (columns,)

    Examples
    --------
    >>> column_entropies(torch.tensor([[0.0, 1.0], [1.0, 1.0]])).tolist()
    [0.6931471824645996, 0.0]
    """
    n_rows = len(sample)
    ranks = sample.sort(dim=0).values
    at = torch.linspace(0, n_rows - 1, _N_BINS + 1).long().to(sample.device)
    edges = ranks[at]  # (bins + 1, columns)
    # Rows in the bin of an edge; equal edges delimit one bin.
    below = torch.searchsorted(ranks.T.contiguous(), edges.T.contiguous(), right=True)
    counts = below.diff(dim=1, prepend=torch.zeros_like(below[:, :1])) / n_rows
    return torch.xlogy(counts, counts).sum(1).abs()


def _depth_of(n_nodes: int) -> int:
    return (n_nodes + 1).bit_length() - 1
