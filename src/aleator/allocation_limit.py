"""A limit on the memory of tensors that are made, checked before any of it is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_FACTORIES = {
    torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn,
    torch.Tensor.new_empty, torch.Tensor.new_zeros, torch.Tensor.new_ones, torch.Tensor.new_full,
}  # fmt: skip
_COUNTS = {torch.arange, torch.eye, torch.randperm}


class AllocationLimit(TorchFunctionMode):
    """Context in which torch's functions make tensors of at most so many values in all.

    It guards the building of networks whose sizes come from a file: without it, a wrong number in
    the file would take all memory before anything is compared with the weights.

    Parameters
    ----------
    values : int
        Largest number of values in all.
    error : callable
        Function that returns the exception to raise.

    Examples
    --------
    >>> with AllocationLimit(1000, lambda: ValueError("too large")):
    ...     _ = torch.nn.Linear(10, 10)
    ...     _ = torch.nn.Linear(10, 10**12)
    Traceback (most recent call last):
    ...
    ValueError: too large
    """

    def __init__(self, values: int, error: Callable[[], Exception]) -> None:
        super().__init__()
        self._left = values
        self._error = error

    def __torch_function__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Count what a function is about to make."""
        kwargs = kwargs or {}
        if func in _FACTORIES:
            self._left -= _values(args, kwargs)
        elif func in _COUNTS:
            numbers = [abs(a) for a in (*args, kwargs.get("end", 0)) if isinstance(a, (int, float))]
            self._left -= int(max(numbers, default=0))
        if self._left < 0:
            raise self._error()
        return func(*args, **kwargs)


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    sizes = [a for a in args if not isinstance(a, torch.Tensor)]
    if "size" in kwargs:
        sizes = [kwargs["size"]]
    if sizes and isinstance(sizes[0], (tuple, list, torch.Size)):
        return prod(int(n) for n in sizes[0])
    return prod(int(n) for n in sizes if isinstance(n, int))
