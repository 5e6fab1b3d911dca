"""An encoder that begins with random features of the data and ends with a small network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from aleator.networks.frozen_front import FrozenFront
from aleator.projectors.feature_bank import Family, FeatureBank, draw_families

_EMBEDDING_DIM = 512
_N_FEATURES = 4096
_N_COMPONENTS = 512
_HIDDEN = 1024
_SAMPLES_PER_COMPONENT = 4
_LEAST_DEVIATION = 1e-6
_TINY = 1e-12


def feature_encoder(
    input_shape: Sequence[int],
    embedding_dim: int | None,
    sample: Tensor | None = None,
    *,
    families: Sequence[Family],
) -> FrozenFront:
    """Build an encoder: random features, their principal components, and a trainable network.

    Parameters
    ----------
    input_shape : sequence of int
        Shape of a sample.
    embedding_dim : int or None
        Width of the embedding; None is 512.
    sample : Tensor of shape (n, ...), default=None
        Samples of the training data; None builds an encoder whose weights are to be loaded.
    families : sequence of callable
        Families of random features.

    Returns
    -------
    FrozenFront

    Examples
    --------
    >>> from aleator.projectors.trees import RandomTrees
    >>> sample = torch.randn(50, 3)
    >>> encoder = feature_encoder((3,), 8, sample, families=[RandomTrees.build])
    >>> encoder(sample).shape
    torch.Size([50, 8])
    """
    modules = draw_families(families, input_shape, _N_FEATURES, sample)
    width = _EMBEDDING_DIM if embedding_dim is None else embedding_dim
    if sample is None:
        return FrozenFront(FeatureBank(modules), FeatureTrunk(_N_COMPONENTS, width))
    bank = FeatureBank.fit(modules, sample, _N_COMPONENTS)
    # Few samples have few components. The others are zero, so that sizes do not depend on the data.
    missing = _N_COMPONENTS - len(bank.deviation)
    bank.components = F.pad(bank.components, (0, missing))
    bank.deviation = F.pad(bank.deviation, (0, missing))
    # A network that sees a component for every few samples learns them by heart.
    n_trusted = len(sample) // _SAMPLES_PER_COMPONENT
    return FrozenFront(bank, FeatureTrunk(_N_COMPONENTS, width, bank.deviation, n_trusted))


class FeatureTrunk(nn.Module):
    """A fixed linear map of features plus a network that is trained.

    The linear map keeps distances: it is a random rotation of the components with the largest
    variance. The network begins at zero, so that training departs from the features themselves.

    Parameters
    ----------
    n_inputs : int
        Number of components.
    n_outputs : int
        Width of the embedding.
    deviation : Tensor of shape (n_inputs,), default=None
        Standard deviations of the components; None leaves the fixed map to be loaded.
    n_trusted : int, default=None
        Number of leading components that the network sees; None is all. The fixed map uses all.

    Examples
    --------
    >>> trunk = FeatureTrunk(4, 4, torch.ones(4))
    >>> x = torch.randn(3, 4)
    >>> bool(torch.allclose(torch.cdist(x, x), torch.cdist(trunk(x), trunk(x)), atol=1e-3))
    True
    """

    linear: Tensor
    scale: Tensor

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        deviation: Tensor | None = None,
        n_trusted: int | None = None,
    ) -> None:
        super().__init__()
        if deviation is None:
            deviation = torch.ones(n_inputs)
        kept = min(n_inputs, n_outputs)
        linear = torch.zeros(n_inputs, n_outputs)
        rotation = nn.init.orthogonal_(torch.empty(kept, n_outputs))
        # The mean variance of an output is one.
        total = deviation[:kept].square().sum().clamp_min(_TINY)
        linear[:kept] = rotation * (n_outputs / total).sqrt()
        # Components enter the network with the roots of their deviations, half-way between their
        # own scale, on which only the first ones count, and one scale for all, noise included.
        seen = deviation > _LEAST_DEVIATION * deviation.max()
        if n_trusted is not None:
            seen[max(1, n_trusted) :] = False
        root = torch.where(seen, deviation, torch.inf).rsqrt()
        power = (deviation * root).square().sum() / seen.sum().clamp_min(1)
        self.register_buffer("linear", linear)
        self.register_buffer("scale", root / power.clamp_min(_TINY).sqrt())
        last = nn.Linear(_HIDDEN, n_outputs)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.network = nn.Sequential(nn.Linear(n_inputs, _HIDDEN), nn.GELU(), last)

    def forward(self, x: Tensor) -> Tensor:
        """Embed components.

        Parameters
        ----------
        x : Tensor of shape (m, n_inputs)
            Components.

        Returns
        -------
        Tensor of shape (m, n_outputs)
        """
        return x @ self.linear + self.network(x * self.scale)
