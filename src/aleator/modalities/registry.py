"""The registered modalities."""

from __future__ import annotations

from aleator.modalities.audio import AUDIO
from aleator.modalities.graph import GRAPH
from aleator.modalities.image import IMAGE
from aleator.modalities.irregular_series import IRREGULAR_SERIES
from aleator.modalities.series import SERIES
from aleator.modalities.spec import Modality
from aleator.modalities.table import TABLE
from aleator.modalities.text import TEXT

_REGISTRY: dict[str, Modality] = {}


def register_modality(modality: Modality) -> Modality:
    """Make a modality known to all estimators.

    Parameters
    ----------
    modality : Modality
        The kind of data. Its name must be new, or belong to the same object.

    Returns
    -------
    Modality

    Examples
    --------
    >>> register_modality(get_modality("table")).name
    'table'
    """
    known = _REGISTRY.get(modality.name)
    if known is not None and known is not modality:
        raise ValueError(f"there is a modality {modality.name!r} already")
    _REGISTRY[modality.name] = modality
    return modality


def modality_names() -> tuple[str, ...]:
    """Names of all registered modalities.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> modality_names()[:3]
    ('table', 'series', 'image')
    """
    return tuple(_REGISTRY)


def get_modality(name: str) -> Modality:
    """Look up a modality.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Modality

    Examples
    --------
    >>> str(get_modality("series").layout)
    '(n, channels, time)'
    """
    if name not in _REGISTRY:
        known = ", ".join(map(repr, _REGISTRY))
        raise ValueError(f"modality={name!r} is not known: give 'auto' or one of {known}")
    return _REGISTRY[name]


def infer_modality(choice: str, shape: tuple[int, ...], kind: str | None = None) -> Modality:
    """Resolve the parameter `modality` for an array of samples.

    Parameters
    ----------
    choice : str
        A name, or "auto" to infer the modality from the number of axes.
    shape : tuple of int
        Shape of the whole array.
    kind : str, default=None
        Modality of samples that cannot be anything else, such as texts.

    Returns
    -------
    Modality

    Examples
    --------
    >>> infer_modality("auto", (100, 3, 50)).name
    'series'
    """
    if choice == "auto" and kind is not None:
        choice = kind
    if choice != "auto":
        return get_modality(choice)
    candidates = [modality for modality in _REGISTRY.values() if modality.inferred]
    for modality in candidates:
        if modality.layout.rank == len(shape):
            return modality
    known = "; ".join(f"{m.name}: {m.layout}" for m in candidates)
    raise ValueError(f"the modality of data of shape {shape} cannot be inferred ({known})")


for _modality in (TABLE, SERIES, IMAGE, TEXT, IRREGULAR_SERIES, GRAPH, AUDIO):
    register_modality(_modality)
