"""Means and deviations of features, as adapters save them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

_ARRAYS = ("mean", "deviation")


def read_scale(
    arrays: Mapping[str, np.ndarray], shape: tuple[int, ...], dtype: DTypeLike = np.float64
) -> dict[str, np.ndarray]:
    """Return the scale of a saved adapter, if all of it is there and can be computed with.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        ``"mean"`` and ``"deviation"``; empty if values are not standardized.
    shape : tuple of int
        Shape that both must have.
    dtype : data-type, default=float64
        Type that both must have.

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    ValueError
        If one of the two is missing, or has another shape or type, or if there are values that
        are not finite, or deviations that are not positive.

    Examples
    --------
    >>> scale = {"mean": np.zeros(2), "deviation": np.ones(2)}
    >>> read_scale(scale, (2,))["deviation"]
    array([1., 1.])
    >>> read_scale({"mean": np.zeros(2)}, (2,))
    Traceback (most recent call last):
    ...
    ValueError: the scale has no mean or no deviation
    """
    if not arrays:
        return {}
    if sorted(arrays) != sorted(_ARRAYS):
        raise ValueError("the scale has no mean or no deviation")
    for array in arrays.values():
        if array.shape != shape:
            raise ValueError(f"the scale has the shape {array.shape} instead of {shape}")
        if array.dtype != dtype:
            raise ValueError(f"the scale has the type {array.dtype} instead of {np.dtype(dtype)}")
        if not np.isfinite(array).all():
            raise ValueError("the scale is not finite")
    if not (arrays["deviation"] > 0).all():
        raise ValueError("the scale is not positive")
    return {name: arrays[name] for name in _ARRAYS}
