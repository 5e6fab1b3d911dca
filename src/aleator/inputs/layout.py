"""The axes of an array of samples, and how to name them in messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ArrayLayout:
    """Axes of the arrays of one kind of data.

    Parameters
    ----------
    name : str
        Name of the kind of data.
    plural : str
        Its plural, for messages.
    axes : tuple of str
        Names of the axes after the first, which counts samples.
    unit : str
        One position along the first of them; values are standardized separately for each.
    optional_channels : bool, default=False
        Whether an array without the channel axis is accepted if the modality is given by name.
    sizes : dict of str to str, default={}
        How to count positions along an axis in messages, where that is not the axis name.
    mixed_columns : bool, default=False
        Whether a data frame may have columns of any kind, and gaps, from which features are made.
    given_as : str, default="array"
        Form in which the data are given, if it is not an array: the `form` of their adapter.
    finds_channels : bool, default=False
        Whether an array may have its channels as the last axis, where no other axis can be theirs.
    packed : bool, default=False
        Whether the numbers of a sample mean something only together, so that those of two samples
        cannot be mixed, exchanged or compared one by one.
    has_gaps : bool, default=False
        Whether samples hold NaN, which the networks mask.
    with_gaps : ArrayLayout or None, default=None
        Layout of samples of the same kind that have gaps, or different lengths; None if there may
        be none.
    parts : dict of str to ArrayLayout, default={}
        Axes of every part, if there are several kinds of data at once.

    Examples
    --------
    >>> series = ArrayLayout("series", "series", ("channels", "time"), "channel")
    >>> series.rank, str(series)
    (3, '(n, channels, time)')
    """

    name: str
    plural: str
    axes: tuple[str, ...]
    unit: str
    optional_channels: bool = False
    sizes: dict[str, str] = field(default_factory=dict)
    mixed_columns: bool = False
    given_as: str = "array"
    finds_channels: bool = False
    packed: bool = False
    has_gaps: bool = False
    with_gaps: ArrayLayout | None = None
    parts: dict[str, ArrayLayout] = field(default_factory=dict)

    @classmethod
    def of_parts(cls, parts: Mapping[str, ArrayLayout]) -> ArrayLayout:
        """Return the layout of rows that have all parts, flattened.

        Examples
        --------
        >>> table = ArrayLayout("table", "tables", ("columns",), "column")
        >>> ArrayLayout.of_parts({"a": table}).name
        'parts'
        """
        return cls(
            "parts",
            "several parts",
            ("values",),
            "value",
            given_as="parts",
            packed=any(part.packed for part in parts.values()),
            has_gaps=any(part.has_gaps for part in parts.values()),
            parts=dict(parts),
        )

    @property
    def rank(self) -> int:
        """Number of axes, including the samples."""
        return 1 + len(self.axes)

    def __str__(self) -> str:
        return f"(n, {', '.join(self.axes)})"

    def sample_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of a sample with all axes, from the shape of an array that may lack channels.

        Examples
        --------
        >>> layout = ArrayLayout("series", "series", ("channels", "time"), "channel", True)
        >>> layout.sample_shape((100, 50))
        (1, 50)
        """
        if len(shape) == self.rank:
            return shape[1:]
        if self.optional_channels and len(shape) == self.rank - 1:
            return (1, *shape[1:])
        raise ValueError(
            f"data of modality {self.name!r} must have the shape {self}, but X has the shape "
            f"{shape}"
        )

    def describe_size(self, axis: str) -> str:
        """Return what the positions along an axis are called in messages."""
        return self.sizes.get(axis, axis)
