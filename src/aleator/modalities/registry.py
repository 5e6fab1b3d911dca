"""The registered modalities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aleator.inputs import Adapter, ArrayLayout, PartsAdapter, PartsSource, RawData
from aleator.modalities.audio import AUDIO
from aleator.modalities.graph import GRAPH
from aleator.modalities.image import IMAGE
from aleator.modalities.irregular_series import IRREGULAR_SERIES
from aleator.modalities.parts import parts_modality
from aleator.modalities.series import SERIES
from aleator.modalities.spec import Modality
from aleator.modalities.table import TABLE, with_column_blocks
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


def infer_layout(choice: str | Mapping[str, str], data: RawData) -> ArrayLayout:
    """Resolve the parameter `modality` for data that were read.

    Parameters
    ----------
    choice : str or mapping of str to str
        A name or "auto"; for several parts "auto", or the names for some of them.
    data : RawData
        The data.

    Returns
    -------
    ArrayLayout

    Examples
    --------
    >>> from aleator.inputs import read
    >>> layout = infer_layout("auto", read({"a": [[1.0]], "b": [[[1.0]]]}))
    >>> [part.name for part in layout.parts.values()]
    ['table', 'series']
    """
    source = data.source
    if isinstance(source, PartsSource):
        chosen = {} if isinstance(choice, str) else choice
        return ArrayLayout.of_parts(
            {
                name: infer_layout(chosen.get(name, "auto"), part)
                for name, part in source.parts.items()
            }
        )
    assert isinstance(choice, str)
    return infer_modality(choice, data.shape, source.modality).layout


def stored_layout(stored: Mapping[str, Any]) -> ArrayLayout:
    """Return the layout of the data of a saved model.

    Parameters
    ----------
    stored : mapping of str to object
        What the adapter's `to_dict` returned.

    Returns
    -------
    ArrayLayout

    Examples
    --------
    >>> str(stored_layout({"modality": "table"}))
    '(n, columns)'
    """
    if stored.get("form") != PartsAdapter.form:
        return get_modality(stored["modality"]).layout
    kinds = {part["name"]: part["adapter"]["modality"] for part in stored["parts"]}
    return ArrayLayout.of_parts({name: get_modality(kind).layout for name, kind in kinds.items()})


def modality_of(adapter: Adapter) -> Modality:
    """Return the modality of what an adapter converts data to.

    Parameters
    ----------
    adapter : Adapter
        A fitted adapter.

    Returns
    -------
    Modality
        A registered one, or one that was made for these data: for the columns of a table, or of
        those of several parts.

    Examples
    --------
    >>> from aleator.inputs import fit_adapter, read
    >>> data = read({"a": [[1.0], [2.0]], "b": [[[1.0]], [[2.0]]]})
    >>> made = modality_of(fit_adapter(infer_layout("auto", data), data, "LFR", "auto"))
    >>> made.name, "b/spectrum" in made.projectors
    ('parts', True)
    """
    if blocks := adapter.column_blocks:
        return with_column_blocks(blocks)
    if not isinstance(adapter, PartsAdapter):
        return get_modality(adapter.modality)
    kinds = {name: modality_of(part) for name, part in adapter.parts.items()}
    return parts_modality(kinds, {name: part.shape for name, part in adapter.parts.items()})


for _modality in (TABLE, SERIES, IMAGE, TEXT, IRREGULAR_SERIES, GRAPH, AUDIO):
    register_modality(_modality)
