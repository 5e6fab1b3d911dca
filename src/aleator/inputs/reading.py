"""From what a user holds to an array of finite numbers, or to one sentence saying why not."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from aleator.inputs.modalities import TABLE, Modality, modality_of


def read(
    X: Any, modality: str, *, min_samples: int, asker: str
) -> tuple[np.ndarray, Modality, bool]:
    """Read `X` as an array with all the axes of its modality, and say if one had to be added.

    >>> array, kind, lacks_channels = read([[1, 2], [3, 4]], "series", min_samples=1, asker="LFR")
    >>> array.shape, kind.name, lacks_channels
    ((2, 1, 2), 'series', True)
    """
    names = _column_names(X)
    if names is not None:
        _refuse_text_columns(X, names)
    array = _to_numbers(X, min_samples, asker)
    kind = modality_of(modality, array.shape)
    lacks_channels = array.ndim < kind.rank
    if lacks_channels:
        array = array[:, None]
    for axis, size in zip(kind.axes, array.shape[1:], strict=True):
        if size == 0:
            raise ValueError(f"Found array with 0 feature(s): there are no {axis} in {array.shape}")
    _refuse_gaps(array, kind, names)
    return array, kind, lacks_channels


def _to_numbers(X: Any, min_samples: int, asker: str) -> np.ndarray:
    if hasattr(X, "detach") and hasattr(X, "cpu"):  # a torch tensor, without importing torch
        X = X.detach().cpu()
        if not X.dtype.is_complex and X.dtype.is_floating_point and X.element_size() == 2:
            X = X.float()  # NumPy has no bfloat16
        X = X.numpy()
    return check_array(
        X,
        dtype="numeric",
        allow_nd=True,
        ensure_all_finite=False,
        ensure_min_samples=min_samples,
        ensure_min_features=1,
        estimator=asker,
        input_name="X",
    )


def _column_names(X: Any) -> list[str] | None:
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    return [str(name) for name in X.columns]


def _refuse_text_columns(frame: Any, names: list[str]) -> None:
    for position, name in enumerate(names):
        column = (
            frame.iloc[:, position] if hasattr(frame, "iloc") else frame.get_columns()[position]
        )
        kind = str(column.dtype).lower()
        if not any(known in kind for known in ("int", "float", "bool", "decimal", "object")):
            raise ValueError(
                f"column {name!r} holds {column.dtype} values; only numeric columns can be read: "
                "encode it first (scikit-learn's OneHotEncoder, say) or drop it"
            )
        if kind == "object":
            _refuse_text(column, name)


def _refuse_text(column: Any, name: str) -> None:
    for row, value in enumerate(column):
        if isinstance(value, (str, bytes)):
            raise ValueError(
                f"column {name!r} holds text (row {row}: {value!r}); only numeric columns can be "
                "read: encode it first (scikit-learn's OneHotEncoder, say) or drop it"
            )


def _refuse_gaps(array: np.ndarray, kind: Modality, names: list[str] | None) -> None:
    """Say where the first NaN or infinity stands."""
    if array.dtype.kind != "f":
        return
    # A sum is finite only if all terms are (or it overflows, which the exact look then clears up).
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum(dtype=np.float64)):
            return
    gaps = ~np.isfinite(array)
    if not gaps.any():
        return
    row, unit, *where = (int(i) for i in np.argwhere(gaps)[0])
    value = array[(row, unit, *where)]
    label = repr(names[unit]) if kind is TABLE and names is not None else str(unit)
    rest = "".join(f", {axis} {at}" for axis, at in zip(kind.axes[1:], where, strict=True))
    what = "NaN (a missing value)" if np.isnan(value) else "an infinity (inf)"
    rows = int(gaps.reshape(len(array), -1).any(1).sum())
    raise ValueError(
        f"X contains {what} in row {row}, {kind.unit} {label}{rest}; NaN or inf stand in {rows} of "
        f"{len(array)} rows. Fill the gaps first (scikit-learn's SimpleImputer, say) or drop them."
    )
