"""An encoder that begins with random features of the data and ends with a small network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from aleator.networks.frozen_front import FrozenFront
from aleator.projectors.closed_form import reduced_rank_regression
from aleator.projectors.feature_bank import Family, FeatureBank, draw_families, few_of

_HIDDEN = 1024
# Sets of fewer samples get no more features.
_SMALL_SET, _FEATURES_OF_SMALL_SETS = 2048, 4096
# An embedding has at most one dimension for so many samples, unless more are asked for.
_SAMPLES_PER_DIMENSION, _DIM_OF_SMALL_SETS = 2, 512
_PENALTY = 0.1
_SAMPLES_PER_COMPONENT = 4
_LEAST_DEVIATION = 1e-6
_TINY = 1e-12


def feature_encoder(
    input_shape: Sequence[int],
    embedding_dim: int | None,
    sample: Tensor | None = None,
    *,
    families: Sequence[Family],
    n_features: int = 4096,
    default_dim: int = 512,
) -> FeatureEncoder:
    """Build an encoder: random features, a linear map of them, and a network, both random.

    Parameters
    ----------
    input_shape : sequence of int
        Shape of a sample.
    embedding_dim : int or None
        Width of the embedding; None is that of `default_width`.
    sample : Tensor of shape (n, ...), default=None
        Samples of the training data; None builds an encoder whose weights are to be loaded.
    families : sequence of callable
        Families of random features.
    n_features : int, default=4096
        Number of random features. Small sets, of less than 2048 samples, get at most 4096 of them.
    default_dim : int, default=512
        Usual width of the embedding. The linear map is at least as wide.

    Returns
    -------
    FeatureEncoder

    Examples
    --------
    >>> from aleator.projectors.trees import RandomTrees
    >>> sample = torch.randn(50, 3)
    >>> encoder = feature_encoder((3,), 8, sample, families=[RandomTrees.build])
    >>> encoder(sample).shape
    torch.Size([50, 8])
    """
    if sample is not None:
        default_dim = default_width(len(sample), default_dim)
        if len(sample) < _SMALL_SET:
            n_features = min(n_features, _FEATURES_OF_SMALL_SETS)
    width = default_dim if embedding_dim is None else embedding_dim
    trunk = FeatureTrunk(max(width, default_dim), width)
    bank = FeatureBank(draw_families(families, input_shape, n_features, sample))
    encoder = FeatureEncoder(bank, trunk)
    if sample is not None:
        encoder.draw_linear(few_of(sample))
    return encoder


def default_width(n_sampled: int, usual: int) -> int:
    """Return the width of an embedding if none is asked for.

    Parameters
    ----------
    n_sampled : int
        Number of samples from which the linear map is solved.
    usual : int
        Width for large sets.

    Returns
    -------
    int
        The largest power of two that is at most half of the number of samples, but at least 512,
        and at most the usual width.

    Examples
    --------
    >>> default_width(16384, 1024), default_width(3000, 4096), default_width(100, 1024)
    (1024, 1024, 512)
    """
    largest = 1 << max(1, n_sampled // _SAMPLES_PER_DIMENSION).bit_length() - 1
    return min(usual, max(_DIM_OF_SMALL_SETS, largest))


class FeatureEncoder(FrozenFront):
    """Random features and a linear map of them, which are not trained, and a trunk, which is.

    Parameters
    ----------
    front : FeatureBank
        Random features; their components are the linear map.
    trunk : FeatureTrunk
        What is trained.

    Examples
    --------
    >>> bank = FeatureBank([nn.Flatten()])
    >>> encoder = FeatureEncoder(bank, FeatureTrunk(4, 4))
    >>> sample = torch.randn(50, 6)
    >>> targets = sample[:, :3] - sample[:, :3].mean(0)
    >>> encoder.fit_linear(sample, targets @ targets.T).shape
    torch.Size([50, 4])
    """

    front: FeatureBank
    trunk: FeatureTrunk

    @torch.no_grad()
    def draw_linear(self, sample: Tensor) -> None:
        """Draw the linear map at random.

        Parameters
        ----------
        sample : Tensor of shape (n, ...)
            Samples of the training data, from which features are scaled.
        """
        features = self.front.to(sample.device).standardize(sample)
        weight = torch.randn(features.shape[1], self.trunk.n_inputs) / features.shape[1] ** 0.5
        self.front.project(weight.to(sample.device), features)
        self.trunk.scale_inputs(self.front.deviation)
        self.cpu()

    @torch.no_grad()
    def fit_linear(self, sample: Tensor, target_gram: Tensor) -> Tensor:
        """Set the linear map to the one from which targets are predicted best.

        The network of the trunk becomes zero, so that its training departs from this solution.

        Parameters
        ----------
        sample : Tensor of shape (n, ...)
            Samples of the training data.
        target_gram : Tensor of shape (n, n)
            Inner products of their centered targets.

        Returns
        -------
        Tensor of shape (n, embedding_dim)
            The embedding of the sample.
        """
        front = self.front.to(sample.device)
        features = front.standardize(sample)
        components = reduced_rank_regression(features, target_gram, self.trunk.n_inputs, _PENALTY)
        front.project(components, features)
        # Few samples have few components. The others are zero, so that sizes do not depend on them.
        missing = self.trunk.n_inputs - len(front.deviation)
        front.components = F.pad(front.components, (0, missing))
        front.deviation = F.pad(front.deviation, (0, missing))
        # A network that sees a component for every few samples learns them by heart.
        self.trunk.scale_inputs(front.deviation, len(sample) // _SAMPLES_PER_COMPONENT)
        self.trunk.start_at_zero()
        embedding = features @ front.components @ self.trunk.linear.to(sample.device)
        self.cpu()
        return embedding


class FeatureTrunk(nn.Module):
    """A fixed rotation of components plus a network that is trained.

    Parameters
    ----------
    n_inputs : int
        Number of components.
    n_outputs : int
        Width of the embedding.

    Examples
    --------
    >>> trunk = FeatureTrunk(4, 4)
    >>> trunk.scale_inputs(torch.ones(4))
    >>> trunk.start_at_zero()
    >>> x = torch.randn(3, 4)
    >>> bool(torch.allclose(torch.cdist(x, x), torch.cdist(trunk(x), trunk(x)), atol=1e-3))
    True
    """

    linear: Tensor
    scale: Tensor

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self._build(n_inputs, n_outputs)

    def _build(self, n_inputs: int, n_outputs: int) -> None:
        self.n_inputs = n_inputs
        kept = min(n_inputs, n_outputs)
        rotation = nn.init.orthogonal_(torch.empty(kept, n_outputs))
        self.register_buffer("linear", F.pad(rotation, (0, 0, 0, n_inputs - kept)))
        self.register_buffer("scale", torch.ones(n_inputs))
        self.network = nn.Sequential(
            nn.Linear(n_inputs, _HIDDEN), nn.GELU(), nn.Linear(_HIDDEN, n_outputs)
        )

    @torch.no_grad()
    def scale_inputs(self, deviation: Tensor, n_trusted: int | None = None) -> None:
        """Adapt rotation and network to the standard deviations of the components.

        Parameters
        ----------
        deviation : Tensor of shape (n_inputs,)
            The standard deviations.
        n_trusted : int, default=None
            Number of leading components that the network sees; None is all. The rotation uses all.
        """
        deviation = deviation.to(self.linear.device)
        # The mean variance of an output is one.
        kept, n_outputs = min(self.linear.shape), self.linear.shape[1]
        total = deviation[:kept].square().sum().clamp_min(_TINY)
        self.linear *= (n_outputs / total).sqrt() / self.linear[0].norm().clamp_min(_TINY)
        # Components enter the network with the roots of their deviations, half-way between their
        # own scale, on which only the first ones count, and one scale for all, noise included.
        seen = deviation > _LEAST_DEVIATION * deviation.max()
        if n_trusted is not None:
            seen[max(1, n_trusted) :] = False
        root = torch.where(seen, deviation, torch.inf).rsqrt()
        power = (deviation * root).square().sum() / seen.sum().clamp_min(1)
        self.scale = root / power.clamp_min(_TINY).sqrt()

    @torch.no_grad()
    def start_at_zero(self) -> None:
        """Set the last layer of the network to zero."""
        for weight in self.network[-1].parameters():
            nn.init.zeros_(weight)

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

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:
        # Sizes depend on the training data, which are not there when a model is loaded.
        saved = state_dict.get(prefix + "linear")
        if saved is not None and saved.shape != self.linear.shape:
            device = self.linear.device
            self._build(*saved.shape)
            self.to(device)
        super()._load_from_state_dict(state_dict, prefix, *arguments)
