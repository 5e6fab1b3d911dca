"""What a method gets to prepare its training, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from aleator.estimators.network_specs import NetworkContext
from aleator.inputs import Adapter, AdapterSource
from aleator.modalities import Modality
from aleator.training.checkpoint import CheckpointFolder
from aleator.training.distribution import OneProcess
from aleator.training.method import Method
from aleator.training.plan import Plan
from aleator.training.sampler import Sampler

# Samples from which projectors are drawn: as many as have about this many values together.
_SAMPLE_VALUES = 1 << 26
_FEWEST_SAMPLES = 512
_ROWS_PER_PIECE = 256


def sample_size(n_samples: int, n_values: int, most: int) -> int:
    """Return from how many samples, of so many values each, projectors are drawn.

    Examples
    --------
    >>> sample_size(60_000, 784, most=4096), sample_size(100, 784, most=4096)
    (4096, 100)
    """
    return min(n_samples, most, max(_FEWEST_SAMPLES, _SAMPLE_VALUES // n_values))


@dataclass(frozen=True)
class Seeds:
    """Independent seeds, so that changing one part of a run leaves the others' draws alone."""

    encoder: int
    projectors: int
    heads: int
    order: int
    noise: int

    @classmethod
    def from_root(cls, root: int) -> Seeds:
        """Draw all seeds from one."""
        return cls(*(int(seed) for seed in np.random.SeedSequence(root).generate_state(5)))


def root_seed(random_state: Any) -> int:
    """Draw the seed of a fit from what scikit-learn accepts as `random_state`."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def repeatable_random_state(random_state: Any) -> Any:
    """Return a `random_state` with which a fit can be repeated: None becomes a drawn seed.

    Examples
    --------
    >>> repeatable_random_state(3), type(repeatable_random_state(None)).__name__
    (3, 'int')
    """
    return root_seed(None) if random_state is None else random_state


@dataclass(frozen=True)
class FitContext:
    """What a method gets to prepare its training.

    Attributes
    ----------
    modality : Modality
        Kind of data.
    adapter : Adapter
        Shape of a sample, and how data are converted.
    source : AdapterSource
        Training data, converted to float32 when they are read.
    y : array-like or None
        Labels as they were passed.
    sampler : Sampler
        Order of the samples.
    seeds : Seeds
        Seeds of the networks and the training.
    device : torch.device
        Device of the training.
    checkpoints : CheckpointFolder or None
        Where the training is saved, and continued from; in the first process only.
    processes : OneProcess
        The processes that train together.
    """

    modality: Modality
    adapter: Adapter
    source: AdapterSource
    y: Any
    sampler: Sampler
    seeds: Seeds
    device: torch.device
    checkpoints: CheckpointFolder | None = None
    processes: OneProcess = field(default_factory=OneProcess)

    @cached_property
    def _sample(self) -> Tensor:
        count = sample_size(len(self.source), self.source.schema.size, self.modality.sampled_rows)
        # A stream of its own, so that drawing a sample changes no other draw.
        drawn = np.random.default_rng([self.seeds.projectors, 1])
        rows = np.sort(drawn.choice(len(self.source), count, replace=False))
        sample = np.empty((count, *self.source.schema.shape), np.float32)
        # In pieces: data of another type are converted by way of copies.
        for start in range(0, count, _ROWS_PER_PIECE):
            piece = slice(start, start + _ROWS_PER_PIECE)
            sample[piece] = self.source.gather(rows[piece])
        return torch.from_numpy(sample)

    @cached_property
    def _sample_on_device(self) -> Tensor:
        return self._sample.to(self.device)

    def sample(self, *, on_device: bool = False) -> Tensor:
        """Read a random sample of the training data, from which projectors are drawn.

        Parameters
        ----------
        on_device : bool, default=False
            Whether to move it to the device of the training.

        Returns
        -------
        Tensor of shape (n_drawn, ...)
            At most as many as `Modality.sampled_rows`, the same at every call.
        """
        return self._sample_on_device if on_device else self._sample

    def network_context(
        self, attributes: Mapping[str, Any], counts: Mapping[str, int | None] | None = None
    ) -> NetworkContext:
        """Describe what networks of this fit depend on.

        Parameters
        ----------
        attributes : mapping of str to object
            Fitted attributes that are known already.
        counts : mapping of str to int or None, default=None
            Number of modules of networks that are lists.

        Returns
        -------
        NetworkContext
        """
        return NetworkContext(
            self.modality, self.adapter.shape, attributes, counts or {}, self.sample
        )


@dataclass(frozen=True)
class TrainingSpec:
    """A method ready to be trained.

    Attributes
    ----------
    method : Method
        What to train.
    fitted_attributes : callable
        Function that returns the attributes of the fitted estimator, called after training.
    columns : dict of str to Tensor
        Columns besides the input, for example labels.
    materialize : callable
        Function that allocates what is too large to exist before the plan has reserved memory.
    """

    method: Method
    fitted_attributes: Callable[[], dict[str, Any]]
    columns: dict[str, Tensor] = field(default_factory=dict)
    materialize: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class TrainingResult:
    """How a fit went; `attributes` are fitted attributes that only training can tell."""

    history: list[dict[str, Any]] = field(default_factory=list)
    plan: Plan | None = None
    collapse: str | None = None
    interrupted: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)


def check_sample_order(sample_order: Any, n_samples: int) -> Tensor | None:
    """Return `sample_order` as a tensor, after a check of its shape, type and values.

    Examples
    --------
    >>> check_sample_order([[1, 0]], n_samples=2)
    tensor([[1, 0]])
    """
    if sample_order is None:
        return None
    order = np.asarray(sample_order)
    if order.ndim != 2 or order.size == 0 or order.dtype.kind not in "iu":
        raise ValueError(
            "sample_order must be a two-dimensional array of integers, one row of sample indices "
            f"per pass over the data, got an array of shape {order.shape} and type {order.dtype}"
        )
    if order.min() < 0 or order.max() >= n_samples:
        raise ValueError(
            f"sample_order has indices from {order.min()} to {order.max()}, "
            f"but X has rows 0 to {n_samples - 1}"
        )
    return torch.from_numpy(np.array(order, dtype=np.int64))
