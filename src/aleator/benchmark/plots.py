"""Figures of results. Matplotlib is imported when a figure is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np

from aleator.benchmark.protocols import PAPER
from aleator.benchmark.result_table import standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Readable on white and distinguishable by color-blind readers (Okabe and Ito).
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B",
           "#7F7F7F")  # fmt: skip
_MARKERS = "osD^vP*Xh"


def curves(
    values: Mapping[tuple[str, str], Mapping[str, Sequence[float]]],
    *,
    title: str,
    x_axis: str,
    y_axis: str,
    note: str = "",
) -> Figure:
    """Plot the mean over seeds and its standard error, one curve per method and protocol.

    One method is drawn under all protocols in one panel, the paper's protocol with filled markers.
    Several methods get one panel per protocol. Lines connect numeric variants only.

    Parameters
    ----------
    values : mapping of (str, str) to mapping of str to sequence of float
        Maps method and protocol to variant to one value per seed.
    title : str
        Title of the figure.
    x_axis, y_axis : str
        Labels of the axes.
    note : str, default=""
        Small text below the figure.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> figure = curves({("LFR", "paper"): {"2": [70.0, 71.0], "4": [72.0]}}, title="K",
    ...                 x_axis="K", y_axis="accuracy, %")
    >>> [text.get_text() for text in figure.axes[0].get_xticklabels()]
    ['2', '4']
    """
    variants = list(dict.fromkeys(v for curve in values.values() for v in curve))
    methods = list(dict.fromkeys(method for method, _ in values))
    protocols = list(dict.fromkeys(protocol for _, protocol in values))
    panels = [[p] for p in protocols] if len(methods) > 1 else [protocols]
    figure, axes = _new_figure(title, note, panels=len(panels))
    for (method, protocol), curve in values.items():
        number = methods.index(method)
        filled = protocol == PAPER or len(panels) > 1
        color = _COLORS[number % len(_COLORS)]
        panel_axes = axes[next(k for k, panel in enumerate(panels) if protocol in panel)]
        numeric = [v for v in variants if v in curve and _is_number(v)]
        panel_axes.plot(
            [variants.index(v) for v in numeric],
            [fmean(curve[v]) for v in numeric],
            color=color,
            linestyle="-" if filled else "--",
        )
        present = [v for v in variants if v in curve]
        panel_axes.errorbar(
            [variants.index(v) for v in present],
            [fmean(curve[v]) for v in present],
            [standard_error(curve[v]) for v in present],
            color=color,
            marker=_MARKERS[number % len(_MARKERS)],
            linestyle="none",
            markerfacecolor=None if filled else "white",
            capsize=3,
            label=method if len(panels) > 1 else f"{method}, {protocol}",
        )
    for panel, panel_axes in zip(panels, axes, strict=True):
        if len(panels) > 1:
            panel_axes.set_title(f"{panel[0]} protocol", fontsize="small")
        panel_axes.set_xticks(range(len(variants)), [v.replace(", ", ",\n") for v in variants])
        panel_axes.set_xlabel(x_axis)
        panel_axes.grid(axis="y", color="#dddddd")
    axes[0].set_ylabel(y_axis)
    axes[-1].legend(fontsize="x-small", frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def bars(values: Mapping[str, Sequence[float]], *, title: str, axis: str, note: str = "") -> Figure:
    """Plot horizontal bars in ascending order, each with its value.

    Parameters
    ----------
    values : mapping of str to sequence of float
        One value per seed for each bar; the bar shows the mean.
    title : str
        Title of the figure.
    axis : str
        Label of the horizontal axis.
    note : str, default=""
        Small text below the figure.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> figure = bars({"LFR": [2.0], "SimCLR": [1.0]}, title="HAR", axis="seconds")
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['SimCLR', 'LFR']
    """
    figure, (axes,) = _new_figure(title, note)
    names = sorted(values, key=lambda name: fmean(values[name]))
    means = [fmean(values[name]) for name in names]
    deviations = [deviation(values[name]) for name in names]
    errors = deviations if any(deviations) else None
    container = axes.barh(range(len(names)), means, xerr=errors, color=_COLORS[0], capsize=3)
    axes.bar_label(container, [f"{mean:.3g}" for mean in means], padding=6, fontsize="small")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * max(m + d for m, d in zip(means, deviations, strict=True)) or 1)
    axes.set_xlabel(axis)
    return figure


def image_panels(
    panels: Sequence[Mapping[str, Sequence[np.ndarray]]], *, title: str, note: str = ""
) -> Figure:
    """Draw panels, two side by side, of rows of small images with a label in front of each row.

    Parameters
    ----------
    panels : sequence of mapping of str to sequence of ndarray of shape (3, height, width)
        Images with values from 0 to 1, by label. All panels have the same number of images.
    title : str
        Title of the figure.
    note : str, default=""
        Small text below the figure.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> panel = {"diverse 1": [np.zeros((3, 4, 4))] * 6}
    >>> figure = image_panels([panel, panel, panel], title="neighbors")
    >>> len(figure.axes)
    18
    """
    n_columns = min(2, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    width = max(len(images) for panel in panels for images in panel.values())
    height = max(len(panel) for panel in panels)
    size = n_columns * (0.8 * width + 1.0), n_rows * (0.85 * height + 0.2) + 0.6
    figure = empty_figure(size, title, note)
    spacing = {"hspace": 0.04, "wspace": 0.02}
    parts = figure.subfigures(n_rows, n_columns, squeeze=False, **spacing).flatten()
    for part, panel in zip(parts, panels, strict=False):
        grid = part.subplots(len(panel), width, squeeze=False)
        for axes, (name, images) in zip(grid, panel.items(), strict=True):
            for column, image in enumerate(images):
                axes[column].imshow(np.moveaxis(image, 0, -1).clip(0, 1))
                axes[column].set(xticks=[], yticks=[])
            axes[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure reproducibly: the same figure gives the same file.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : Path
        Path of the file; its suffix determines the format.
    """
    import matplotlib

    # By default an SVG file contains the date and random identifiers.
    with matplotlib.rc_context({"svg.hashsalt": "aleator"}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def empty_figure(size: tuple[float, float], title: str, note: str = "") -> Figure:
    """Make a figure without axes.

    Parameters
    ----------
    size : tuple of (float, float)
        Width and height in inches.
    title : str
        Title of the figure.
    note : str, default=""
        Small text below the figure.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib; install it with pip install 'aleator[bench]'"
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, fontsize="medium")
    if note:
        figure.supxlabel(note, fontsize="x-small", color="#666666")
    return figure


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation, or 0 for a single value.

    Parameters
    ----------
    values : sequence of float
        The values.

    Returns
    -------
    deviation : float
        The standard deviation.

    Examples
    --------
    >>> deviation([1.0, 2.0, 3.0]), deviation([1.0])
    (1.0, 0.0)
    """
    return stdev(values) if len(values) > 1 else 0.0


def _new_figure(title: str, note: str, panels: int = 1) -> tuple[Figure, list[Axes]]:
    figure = empty_figure((7.5 if panels == 1 else 4.5 * panels, 4), title, note)
    axes = list(figure.subplots(1, panels, sharey=True, squeeze=False)[0])
    for panel_axes in axes:
        panel_axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _is_number(variant: str) -> bool:
    try:
        float(variant)
    except ValueError:
        return False
    return True
