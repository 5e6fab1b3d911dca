"""What all projectors that are drawn from data share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

# Values of responses that are computed at once on a GPU: half a gigabyte.
GPU_VALUES = 1 << 27
# Features that vary less than this share of the typical feature are constant in practice.
_LEAST_SPREAD = 1e-2
# A spread below this share of the mean is that of a constant, and due to rounding.
_ROUNDING = 1e-6


class DrawnModule(nn.Module):
    """A module without trainable weights, whose buffers are drawn from data.

    A subclass can be created without arguments. Its buffers are then empty, and take the sizes of
    the saved ones when a state dict is loaded: how many filters, trees or rows were drawn is known
    to the saved model only.

    Examples
    --------
    >>> class Shift(DrawnModule):
    ...     def __init__(self, offset=None):
    ...         super().__init__()
    ...         self.store(offset=offset)
    >>> shift = Shift()
    >>> _ = shift.load_state_dict(Shift(torch.ones(3)).state_dict())
    >>> shift.offset.tolist()
    [1.0, 1.0, 1.0]
    """

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw a module.

        Parameters
        ----------
        sample : Tensor of shape (n, ...)
            Samples of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness, on the CPU whatever the device of the sample, so that the draws do
            not depend on it.

        Returns
        -------
        DrawnModule
            On the device of the sample.
        """
        raise NotImplementedError

    @classmethod
    def build(
        cls,
        input_shape: Sequence[int],
        output_dim: int,
        sample: Tensor | None = None,
        **options: Any,
    ) -> Self:
        """Draw a module from torch's global generator, or create an empty one to be loaded.

        Parameters
        ----------
        input_shape : sequence of int
            Shape of a sample.
        output_dim : int
            Number of features.
        sample : Tensor of shape (n, ...), default=None
            Samples of the training data; None creates an empty module.
        **options : object
            What `draw` of a subclass takes besides.

        Returns
        -------
        DrawnModule
            A module on the CPU, whatever the device of the sample.
        """
        if sample is None:
            return cls()
        return cls.draw(sample, output_dim, derived_generator(), **options).cpu()

    def store(self, **buffers: Tensor | int | bool | None) -> None:
        """Register buffers; None stands for an empty one.

        Parameters
        ----------
        **buffers : Tensor, int, bool or None
            The buffers by name.
        """
        for name, value in buffers.items():
            self.register_buffer(name, torch.empty(0) if value is None else torch.as_tensor(value))

    def prepare(self) -> None:
        """Derive constants from the buffers, after they were drawn or loaded."""

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:
        for name in list(self._buffers):
            saved = state_dict.get(prefix + name)
            if saved is not None:
                setattr(self, name, torch.empty_like(saved, device=getattr(self, name).device))
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        self.prepare()


def derived_generator() -> torch.Generator:
    """Create a generator that is seeded by torch's global generator.

    Returns
    -------
    torch.Generator

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> derived_generator().initial_seed() == derived_generator().initial_seed()
    False
    """
    return torch.Generator().manual_seed(int(torch.randint(1 << 62, ())))


def log_uniform(low: float, high: float, count: int, generator: torch.Generator) -> Tensor:
    """Draw numbers whose logarithms are uniform.

    Parameters
    ----------
    low, high : float
        Ends of the range.
    count : int
        How many.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    Tensor of shape (count,)

    Examples
    --------
    >>> drawn = log_uniform(1, 100, 1000, torch.Generator().manual_seed(0))
    >>> bool((drawn >= 1).all() and (drawn <= 100).all())
    True
    """
    unit = torch.rand(count, generator=generator)
    return low * (high / low) ** unit


def random_rows(sample: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw rows of a sample, each once as long as there are enough.

    Parameters
    ----------
    sample : Tensor of shape (n, ...)
        Rows to draw from.
    count : int
        How many.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    Tensor of shape (count, ...)

    Examples
    --------
    >>> random_rows(torch.arange(3), 3, torch.Generator().manual_seed(0)).sort().values.tolist()
    [0, 1, 2]
    """
    repeats = -(-count // len(sample))
    order = [torch.randperm(len(sample), generator=generator) for _ in range(repeats)]
    return sample[torch.cat(order)[:count].to(sample.device)]


def scale_of(spread: Tensor, mean: Tensor) -> Tensor:
    """Divisors that standardize features.

    Features that are constant in practice get the divisor of the typical feature, the median of
    those that vary: other samples may well have another value, which must not become an outlier.

    Parameters
    ----------
    spread : Tensor of shape (n_features,)
        Standard deviations of the features on a sample.
    mean : Tensor of shape (n_features,)
        Their means.

    Returns
    -------
    Tensor of shape (n_features,)
        Positive numbers.

    Examples
    --------
    >>> scale_of(torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.zeros(4)).tolist()
    [2.0, 1.0, 2.0, 3.0]
    """
    varying = spread[spread > _ROUNDING * mean.abs()]
    typical = varying.median() if len(varying) else spread.new_ones(())
    return spread.where(spread > _LEAST_SPREAD * typical, typical)
