"""Figures with one panel per data set and a common legend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from aleator.benchmark import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
_Number = TypeVar("_Number", int, float)


def panel_figure(
    names: Sequence[str], *, title: str, x_axis: str, y_axis: str
) -> tuple[Figure, list[Axes]]:
    """Make a figure with named panels, without data.

    Parameters
    ----------
    names : sequence of str
        Titles of the panels.
    title : str
        Title of the figure.
    x_axis, y_axis : str
        Labels of the axes.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    panels : list of matplotlib.axes.Axes
        One per name.

    Examples
    --------
    >>> figure, panels = panel_figure(["HAR"], title="A title", x_axis="x", y_axis="y")
    >>> panels[0].get_title("left")
    'HAR'
    """
    n_columns = min(_COLUMNS, len(names))
    n_rows = math.ceil(len(names) / n_columns)
    figure = plots.empty_figure((3.6 * n_columns + 0.2, 2.9 * n_rows + 1.1), title)
    figure.set_layout_engine("constrained", wspace=0.05, hspace=0.05)
    grid = list(figure.subplots(n_rows, n_columns, squeeze=False).flatten())
    panels = grid[: len(names)]
    for axes, name in zip(panels, names, strict=True):
        axes.set_title(name, loc="left", fontsize="medium", fontweight="bold")
        axes.tick_params(labelsize="small", color="#999999")
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#999999")
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    for axes in grid[::n_columns]:
        axes.set_ylabel(y_axis)
    for axes in panels[max(0, len(names) - n_columns) :]:
        axes.set_xlabel(x_axis)
    return figure, panels


def set_log_ticks(axes: Axes, ticks: Mapping[int, str]) -> None:
    """Make the horizontal axis logarithmic, with a tick at every measured value.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        A panel.
    ticks : mapping of int to str
        Texts by position.
    """
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()


def add_legend(figure: Figure, panels: Sequence[Axes], order: Sequence[str], note: str) -> None:
    """Add one legend for all panels, with a note above it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    panels : sequence of matplotlib.axes.Axes
        Its panels.
    order : sequence of str
        All possible entries, in the order of the legend.
    note : str
        Small text.
    """
    entries = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    labels = sorted(entries, key=list(order).index)
    figure.legend(
        [entries[label] for label in labels], labels,
        loc="outside lower center", ncols=min(4, len(labels)), frameon=False, fontsize="small",
        handlelength=2.6, title=note, title_fontsize="x-small",
    ).get_title().set_color("#666666")  # fmt: skip


def statistics(
    curve: Mapping[_Number, Sequence[float]],
) -> tuple[list[_Number], np.ndarray, np.ndarray]:
    """Sort a curve and average it over seeds.

    Parameters
    ----------
    curve : mapping of number to sequence of float
        One value per seed, by position.

    Returns
    -------
    positions : list of number
        Ascending.
    means, deviations : ndarray of shape (n_positions,)
        Means and standard deviations over seeds.

    Examples
    --------
    >>> statistics({2: [1.0, 3.0], 1: [5.0]})[:2]
    ([1, 2], array([5., 2.]))
    """
    positions = sorted(curve)
    means = np.array([fmean(curve[position]) for position in positions])
    return positions, means, np.array([plots.deviation(curve[p]) for p in positions])
