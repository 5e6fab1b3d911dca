"""The adapters by the form of the data; a new form is entered here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aleator.exceptions import MissingValuesError
from aleator.inputs.adapter import InputAdapter
from aleator.inputs.adapter_base import Adapter
from aleator.inputs.audio.adapter import AudioAdapter
from aleator.inputs.audio.source import Clips
from aleator.inputs.graphs.adapter import GraphAdapter
from aleator.inputs.graphs.source import Graphs
from aleator.inputs.images.adapter import ImageAdapter
from aleator.inputs.images.source import Images
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.parts.adapter import PartsAdapter
from aleator.inputs.reading import RawData
from aleator.inputs.series.adapter import SeriesAdapter
from aleator.inputs.series.source import SeriesSource
from aleator.inputs.table_files import TableFiles
from aleator.inputs.table_source import TableSource
from aleator.inputs.tables import TableAdapter
from aleator.inputs.texts.adapter import TextAdapter
from aleator.inputs.texts.source import TextSource

# Under the names that saved models have. Those of older versions have none, and are of arrays.
ADAPTERS: dict[str, type[Adapter]] = {
    adapter.form: adapter
    for adapter in (
        InputAdapter,
        TableAdapter,
        TextAdapter,
        ImageAdapter,
        SeriesAdapter,
        GraphAdapter,
        AudioAdapter,
        PartsAdapter,
    )
}


def fit_adapter(
    layout: ArrayLayout, data: RawData, estimator_name: str, preprocessing: str | None
) -> Adapter:
    """Learn from training data how to convert data like them.

    Numbers without gaps are standardized as they are. Of any other table, features are made. Series
    with gaps or of different lengths get the layout that their own has for them.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the data.
    data : RawData
        Training data.
    estimator_name : str
        Name of the estimator for messages.
    preprocessing : {"auto", None}
        Whether to standardize.

    Returns
    -------
    Adapter

    Examples
    --------
    >>> from aleator.inputs.reading import read
    >>> layout = ArrayLayout("table", "tables", ("columns",), "column", mixed_columns=True)
    >>> [type(fit_adapter(layout, read(X), "LFR", "auto")).__name__
    ...  for X in ([[1.0], [2.0]], [[1.0], [float("nan")]])]
    ['InputAdapter', 'TableAdapter']
    """
    source = data.source
    if layout.given_as == PartsAdapter.form:
        return PartsAdapter(layout, estimator_name).fit(data, preprocessing)
    if layout.given_as == TextAdapter.form:
        return TextAdapter(layout, estimator_name).fit(data, preprocessing)
    if layout.given_as == AudioAdapter.form:
        return AudioAdapter(layout, estimator_name).fit(data, preprocessing)
    if isinstance(source, Clips):
        raise ValueError(f"X is audio, but the modality is {layout.name!r}: leave it at 'auto'")
    if layout.given_as == GraphAdapter.form:
        return GraphAdapter(layout, estimator_name).fit(data, preprocessing)
    if isinstance(source, Graphs):
        raise ValueError(f"X is graphs, but the modality is {layout.name!r}: leave it at 'auto'")
    if source.modality == SeriesSource.modality or layout.given_as == SeriesAdapter.form:
        irregular = layout if layout.given_as == SeriesAdapter.form else layout.with_gaps
        if irregular is None:
            raise ValueError(
                f"X is series of different lengths, but the modality is {layout.name!r}: leave it "
                "at 'auto'"
            )
        return SeriesAdapter(irregular, estimator_name).fit(data, preprocessing)
    if isinstance(source, Images):
        if layout.name != Images.modality:
            raise ValueError(
                f"X is images, but the modality is {layout.name!r}: leave it at 'auto'"
            )
        return ImageAdapter(layout, estimator_name).fit(data, preprocessing)
    if isinstance(source, TextSource):
        raise ValueError(
            f"could not convert string to float: X is text, but data of modality {layout.name!r} "
            "must be numbers; leave modality at 'auto', or set it to 'text'"
        )
    if isinstance(source, TableSource) or (
        isinstance(source, TableFiles) and not source.holds_only_numbers
    ):
        if not layout.mixed_columns:
            raise ValueError(
                f"X is a table with text, dates or gaps, but data of modality {layout.name!r} must "
                "be numbers without gaps"
            )
    else:
        try:
            return InputAdapter(layout, estimator_name).fit(data, preprocessing)
        except MissingValuesError:
            if layout.with_gaps is not None:
                return SeriesAdapter(layout.with_gaps, estimator_name).fit(data, preprocessing)
            if not layout.mixed_columns:
                raise
    return TableAdapter(layout, estimator_name).fit(data, preprocessing)


def restore_adapter(
    layout: ArrayLayout,
    estimator_name: str,
    stored: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> Adapter:
    """Make the adapter of a saved model.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the data.
    estimator_name : str
        Name of the estimator for messages.
    stored : mapping of str to object
        What the adapter's `to_dict` returned.
    arrays : mapping of str to ndarray
        What its `arrays` returned.

    Returns
    -------
    Adapter
    """
    form = stored.get("form", InputAdapter.form)
    return ADAPTERS[form].from_saved(layout, estimator_name, stored, arrays)
