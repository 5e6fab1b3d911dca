"""Random numbers from a generator of one's own, also in functions that draw from the global one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.nn import init
from torch.overrides import TorchFunctionMode

_NAMES = (
    "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_",
    "uniform_",
)  # fmt: skip
_DRAWING = {
    *(getattr(torch.Tensor, name) for name in _NAMES),
    *(getattr(init, name) for name in ("uniform_", "normal_", "kaiming_uniform_")),
    torch.bernoulli, torch.multinomial, torch.normal,
    torch.rand, torch.randint, torch.randn, torch.randperm,
}  # fmt: skip


class LocalRandomness(TorchFunctionMode):
    """Context in which functions of torch draw random numbers of this thread only.

    The global generator belongs to all threads: to seed it and to restore it would change what a
    training in another thread draws. Networks that are filled with saved weights do not need it.

    Parameters
    ----------
    seed : int
        Seed of the numbers.

    Examples
    --------
    >>> before = torch.get_rng_state()
    >>> with LocalRandomness(0):
    ...     first = torch.nn.Linear(2, 3)
    >>> with LocalRandomness(0):
    ...     again = torch.nn.Linear(2, 3)
    >>> torch.equal(first.weight, again.weight), torch.equal(torch.get_rng_state(), before)
    (True, True)
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_function__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Pass the generator to functions that draw."""
        kwargs = dict(kwargs or {})
        if func in _DRAWING and kwargs.get("generator") is None:
            kwargs["generator"] = self._generator
        return func(*args, **kwargs)
