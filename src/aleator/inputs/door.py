"""The door: what was learnt of the first data, so that later data is treated alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aleator.inputs.modalities import MODALITIES, Modality
from aleator.inputs.reading import read

_CHUNK = 1 << 22


@dataclass
class Door:
    """Turns data of one modality and shape into float32 columns for the networks.

    >>> door, columns = Door.opened_by(np.array([[0, 10], [2, 10]]))
    >>> columns.tolist()  # centred and scaled; a constant column becomes zero
    [[-1.0, 0.0], [1.0, 0.0]]
    >>> door.admit([[1, 10]]).tolist()
    [[0.0, 0.0]]
    """

    modality: Modality
    shape: tuple[int, ...]
    asker: str = "the estimator"
    scale: dict[str, np.ndarray] = field(default_factory=dict)
    lacks_channels: bool = False

    @classmethod
    def opened_by(
        cls,
        X: Any,
        modality: str = "auto",
        preprocessing: str | None = "auto",
        asker: str = "the estimator",
    ) -> tuple[Door, np.ndarray]:
        """Learn shape and scales from the first data, and return it as float32 as well."""
        if preprocessing not in ("auto", None):
            raise ValueError(f"preprocessing must be 'auto' or None, not {preprocessing!r}")
        array, kind, lacks_channels = read(X, modality, min_samples=2, asker=asker)
        door = cls(kind, array.shape[1:], asker, lacks_channels=lacks_channels)
        if preprocessing == "auto":
            door.scale = _standard_scale(array)
        return door, door._scaled(array)

    def admit(self, X: Any) -> np.ndarray:
        """New data as float32, treated as the first data was."""
        array, _, lacks_channels = read(X, self.modality.name, min_samples=1, asker=self.asker)
        if array.shape[1:] != self.shape:
            axes = self.modality.axes
            for axis, have, want in zip(axes, array.shape[1:], self.shape, strict=True):
                if have != want:
                    places = "features" if array.ndim == 3 and lacks_channels else _spoken(axis)
                    raise ValueError(
                        f"X has {have} {places}, but {self.asker} is expecting {want} "
                        f"{places} as input"
                    )
        return self._scaled(array)

    @property
    def n_features(self) -> int:
        """Places along the first axis of a sample, as it was given: columns, mostly channels."""
        return self.shape[1 if self.lacks_channels else 0]

    def describe(self) -> dict[str, Any]:
        """All but the arrays of `scale`, as JSON can hold it."""
        return {
            "modality": self.modality.name,
            "shape": list(self.shape),
            "lacks_channels": self.lacks_channels,
        }

    @classmethod
    def described(
        cls, description: dict[str, Any], scale: dict[str, np.ndarray], asker: str
    ) -> Door:
        """The opposite of `describe`."""
        modality = MODALITIES[description["modality"]]
        shape, lacks_channels = tuple(description["shape"]), description["lacks_channels"]
        return cls(modality, shape, asker, scale, lacks_channels)

    def _scaled(self, array: np.ndarray) -> np.ndarray:
        columns = np.empty(array.shape, dtype=np.float32)
        rows = max(1, _CHUNK // max(1, math.prod(self.shape)))
        for start in range(0, len(array), rows):  # in pieces: scaling works in double precision
            piece = array[start : start + rows]
            if self.scale:
                piece = (piece - self.scale["mean"]) / self.scale["deviation"]
            with np.errstate(over="ignore"):
                columns[start : start + rows] = piece
            finite = np.isfinite(columns[start : start + rows])
            if not finite.all():
                row, unit = (int(i) for i in np.argwhere(~finite)[0][:2])
                row += start
                raise ValueError(
                    f"row {row}, {self.modality.unit} {unit} of X holds a value too large for "
                    "float32 (infinity): rescale it"
                )
        return columns


def _standard_scale(array: np.ndarray) -> dict[str, np.ndarray]:
    """Mean and deviation of every column or channel, shaped to broadcast over samples."""
    axes = (0, *range(2, array.ndim))
    mean = array.mean(axis=axes, keepdims=True, dtype=np.float64)
    deviation = array.std(axis=axes, keepdims=True, dtype=np.float64)
    # Rounding leaves a constant column a tiny deviation; dividing by it would blow up noise.
    constant = deviation <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    deviation = np.where(constant | (deviation == 0), 1.0, deviation)
    return {"mean": mean[0].astype(np.float64), "deviation": deviation[0].astype(np.float64)}


def _spoken(axis: str) -> str:
    spoken = {"columns": "features", "time": "time steps"}
    return spoken.get(axis, axis if axis == "channels" else f"pixels in {axis}")
