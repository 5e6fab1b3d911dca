"""Projectors of several parts at once: random functions of the drawn features of all parts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from aleator.projectors.drawn import DrawnModule
from aleator.projectors.feature_bank import Family, FeatureBank, draw_families

# Random features that are drawn of a part, and their principal components that are joined.
_FEATURES, _COMPONENTS = 256, 8
_TINY = 1e-12


class JointFeatures(DrawnModule):
    """A projector of the principal components of every part's random features.

    A part has as many components as any other, and all parts have the same total variance, so that
    an image of many pixels has no more say than a table of a few columns.

    Parameters
    ----------
    banks : sequence of FeatureBank
        Random features of every part, and their components.
    network : torch.nn.Module
        A projector of all components.
    weight : Tensor of shape (n_parts,), default=None
        By what the components of every part are multiplied.

    Examples
    --------
    >>> from aleator.projectors.trees import RandomTrees
    >>> rows = torch.randn(50, 6)
    >>> joint = JointFeatures.build_of(
    ...     (6,), 16, rows, parts=[[RandomTrees.build], [RandomTrees.build]],
    ...     family=RandomTrees.build)
    >>> joint(rows).shape
    torch.Size([50, 16])
    """

    weight: Tensor

    def __init__(
        self, banks: Sequence[FeatureBank], network: nn.Module, weight: Tensor | None = None
    ) -> None:
        super().__init__()
        self.banks = nn.ModuleList(banks)
        self.network = network
        self.store(weight=weight)

    @classmethod
    def build_of(
        cls,
        input_shape: Sequence[int],
        output_dim: int,
        sample: Tensor | None = None,
        *,
        parts: Sequence[Sequence[Family]],
        family: Family,
    ) -> JointFeatures:
        """Draw features of every part, and a projector of them.

        Parameters
        ----------
        input_shape : sequence of int
            Shape of a row.
        output_dim : int
            Number of features.
        sample : Tensor of shape (n, values), default=None
            Rows of the training data; None creates a module that is to be loaded.
        parts : sequence of sequences of callable
            Families of random features of every part, as functions of rows.
        family : callable
            Family of the projector, as a function of tables.

        Returns
        -------
        JointFeatures
            A module on the CPU.
        """
        drawn = [draw_families(families, input_shape, _FEATURES, sample) for families in parts]
        width = _COMPONENTS * len(parts)
        if sample is None:
            banks = [FeatureBank(modules) for modules in drawn]
            return cls(banks, family((width,), output_dim, None))
        banks = [FeatureBank.fit(modules, sample, _COMPONENTS) for modules in drawn]
        # Fewer components, as those of few rows, have all of the variance.
        weight = torch.stack([bank.deviation.square().sum() for bank in banks])
        weight = weight.clamp_min(_TINY).rsqrt()
        joint = cls(banks, nn.Identity(), weight)
        with torch.no_grad():
            rows = torch.cat([joint(piece) for piece in sample.split(256)])
        joint.network = family(tuple(rows.shape[1:]), output_dim, rows)
        return joint.cpu()

    def forward(self, x: Tensor) -> Tensor:
        """Project rows.

        Parameters
        ----------
        x : Tensor of shape (m, values)
            Rows.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        parts = [bank(x) * self.weight[k] for k, bank in enumerate(self.banks)]
        return self.network(torch.cat(parts, 1))
