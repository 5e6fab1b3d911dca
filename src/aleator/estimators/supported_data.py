"""Whether a method can process a kind of data."""

from __future__ import annotations

from collections.abc import Sequence

from aleator.inputs import ArrayLayout


def check_supported(
    name: str,
    layout: ArrayLayout,
    *,
    kinds: Sequence[ArrayLayout] | None = None,
    gaps: bool = True,
    packed: bool = True,
) -> None:
    """Raise ValueError if a method cannot process data of a layout.

    Parameters
    ----------
    name : str
        Name of the method, for messages.
    layout : ArrayLayout
        Layout of the data.
    kinds : sequence of ArrayLayout or None, default=None
        Kinds of data that it can process; None is all.
    gaps : bool, default=True
        Whether samples may have gaps and different lengths.
    packed : bool, default=True
        Whether samples may be packed into rows, such as graphs.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> series, table = (get_modality(name).layout for name in ("series", "table"))
    >>> check_supported("TSTCC", table, kinds=[series])
    Traceback (most recent call last):
    ValueError: TSTCC works on series, but X is tables of shape (n, columns)
    """
    if layout.has_gaps and not gaps:
        raise ValueError(
            f"{name} needs samples of one length without gaps (NaN), but X is {layout.plural}: cut "
            "series to one length and fill their gaps first, or use LFR, RandomFeatures or another "
            "method that masks them"
        )
    if kinds is not None and layout.name not in [kind.name for kind in kinds]:
        names = " and ".join(kind.plural for kind in kinds)
        shape = "" if layout.given_as == "parts" else f" of shape {layout}"
        raise ValueError(f"{name} works on {names}, but X is {layout.plural}{shape}")
    if layout.packed and not packed:
        raise ValueError(
            f"{name} needs samples of one size, but X is {layout.plural}, which have none: embed "
            "them with LFR, RandomFeatures or RandomEncoder first"
        )
