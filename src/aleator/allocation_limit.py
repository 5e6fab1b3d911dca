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
# A tensor, and the module that holds it, take some kilobytes however few values there are.
_LEAST_VALUES = 1 << 10


class AllocationLimit(TorchFunctionMode):
    """Context in which torch's functions make tensors of at most so many values in all.

    A tensor counts as at least 1024 values.

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
    >>> with AllocationLimit(5000, lambda: ValueError("too large")):
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
            self._left -= max(_LEAST_VALUES, _values(args, kwargs))
        elif func in _COUNTS:
            numbers = [abs(a) for a in (*args, kwargs.get("end", 0)) if isinstance(a, (int, float))]
            self._left -= int(max(numbers, default=0))
        if self._left < 0:
            raise self._error()
        return func(*args, **kwargs)


def counted_values(tensors: Iterable[torch.Tensor]) -> int:
    """Return how many values tensors count as in an `AllocationLimit`.

    Examples
    --------
    >>> counted_values([torch.zeros(3), torch.zeros(2000)])
    3024
    """
    return sum(max(_LEAST_VALUES, tensor.numel()) for tensor in tensors)


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    sizes = [a for a in args if not isinstance(a, torch.Tensor)]
    if "size" in kwargs:
        sizes = [kwargs["size"]]
    if sizes and isinstance(sizes[0], (tuple, list, torch.Size)):
        return prod(int(n) for n in sizes[0])
    return prod(int(n) for n in sizes if isinstance(n, int))
