"""What differs between kinds of data at the door: ranks, names of axes, how values are scaled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Modality:
    """One kind of data.

    `axes` name the axes after the first; `unit` is one place along the first of them, the axis
    whose places are scaled apart. Both are for messages.
    """

    name: str
    axes: tuple[str, ...]
    unit: str

    @property
    def rank(self) -> int:
        """Number of axes, the samples' included."""
        return 1 + len(self.axes)

    @property
    def layout(self) -> str:
        """The shape a user should give, in words.

        >>> SERIES.layout
        '(n, channels, time)'
        """
        return f"(n, {', '.join(self.axes)})"


TABLE = Modality("table", ("columns",), "column")
SERIES = Modality("series", ("channels", "time"), "channel")
IMAGE = Modality("image", ("channels", "height", "width"), "channel")
MODALITIES = {modality.name: modality for modality in (TABLE, SERIES, IMAGE)}


def modality_of(choice: str, shape: tuple[int, ...]) -> Modality:
    """The modality of an array of `shape`, read off its rank or as named.

    A named modality accepts an array that lacks the channel axis: one signal a row as a series,
    one grey image a sample as an image.

    >>> modality_of("auto", (100, 3, 50)).name
    'series'
    >>> modality_of("series", (100, 50)).name
    'series'
    """
    if choice == "auto":
        for modality in MODALITIES.values():
            if modality.rank == len(shape):
                return modality
        known = "; ".join(f"{m.name}: {m.layout}" for m in MODALITIES.values())
        raise ValueError(f"data of shape {shape} is none of the known kinds ({known})")
    if choice not in MODALITIES:
        raise ValueError(
            f"modality={choice!r} is not known: give 'auto', {', '.join(map(repr, MODALITIES))}"
        )
    modality = MODALITIES[choice]
    lacks_channels = modality is not TABLE and len(shape) == modality.rank - 1
    if len(shape) != modality.rank and not lacks_channels:
        raise ValueError(
            f"a {modality.name} must have the shape {modality.layout}, but this has {shape}"
        )
    return modality
