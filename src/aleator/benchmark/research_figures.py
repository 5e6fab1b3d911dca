"""Figures of the studies of LFR: one panel per data set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from statistics import fmean
from typing import TYPE_CHECKING

from aleator.benchmark.label_tables import by_data_set
from aleator.benchmark.panels import add_legend, panel_figure, set_log_ticks, statistics
from aleator.benchmark.research_studies import LFR_ROW, default_width
from aleator.benchmark.research_tables import MEASUREMENTS, labels_of
from aleator.benchmark.result_lines import Line, remarks, score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colors of Okabe and Ito; families keep their color and marker in all panels.
_FEATURES_COLOR, _LFR_COLOR = "#0072B2", "#D55E00"
_DASHES = {"all": "-", "few": "--"}
# Of families that are drawn from the data. No two families look the same, because the numbers of
# colors and markers have no common divisor.
_COLORS = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#8A6D3B")
_MARKERS = "osD^v*hp"
_NETWORKS = "networks"
_NETWORK_COLOR, _NETWORK_MARKERS = "#000000", "XPs"


def feature_counts(lines: Sequence[Line], *, title: str) -> Figure:
    """Draw the accuracy of random features against their number, and that of LFR.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study of numbers of features.
    title : str
        Title of the figure.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    """
    parts = by_data_set(lines)
    figure, panels = panel_figure(
        list(parts), title=title, x_axis="number of features", y_axis="accuracy, %"
    )
    for axes, part in zip(panels, parts.values(), strict=True):
        for labels in _DASHES:
            chosen = [x for x in part if (labels_of(x) == "all") == (labels == "all")]
            _draw_feature_counts(axes, chosen, labels)
        counts = sorted({int(x["variant"]) for x in part if x["variant"].isdigit()})
        set_log_ticks(axes, {count: str(count) for count in counts})
    names = [f"{name}, {labels} labels" for name in ("RandomFeatures", "LFR") for labels in _DASHES]
    add_legend(figure, panels, names, _note(lines))
    return figure


def _draw_feature_counts(axes: Axes, lines: Sequence[Line], labels: str) -> None:
    curve: dict[int, list[float]] = {}
    for line in lines:
        if line["variant"].isdigit():
            curve.setdefault(int(line["variant"]), []).append(score(line))
    positions, means, deviations = statistics(curve)
    axes.fill_between(
        positions, means - deviations, means + deviations,
        color=_FEATURES_COLOR, alpha=0.13, linewidth=0,
    )  # fmt: skip
    axes.plot(
        positions, means, color=_FEATURES_COLOR, linestyle=_DASHES[labels], marker="s",
        markersize=4, label=f"RandomFeatures, {labels} labels",
    )  # fmt: skip
    if trained := [score(line) for line in lines if line["variant"] == LFR_ROW]:
        axes.plot(
            [default_width(lines[0]["dataset"])], [fmean(trained)], color=_LFR_COLOR, marker="o",
            linestyle="none", markersize=8, label=f"LFR, {labels} labels",
            markerfacecolor=_LFR_COLOR if labels == "all" else "white",
        )  # fmt: skip


def projectors(lines: Sequence[Line], *, title: str) -> Figure:
    """Draw the accuracy of the outputs of projectors against how linear they are.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study of projectors.
    title : str
        Title of the figure.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    """
    parts = by_data_set(lines)
    figure, panels = panel_figure(
        list(parts), title=title, x_axis="variance that raw values predict linearly, %",
        y_axis="accuracy of the outputs, %",
    )  # fmt: skip
    styles = _styles(list(dict.fromkeys(line["variant"] for line in lines)))
    for axes, part in zip(panels, parts.values(), strict=True):
        for family, (color, marker) in styles.items():
            points = [_point(line) for line in part if line["variant"] == family]
            if points:
                axes.plot(
                    *map(fmean, zip(*points, strict=True)), linestyle="none", markersize=7,
                    color=color, marker=marker, label=family,
                )  # fmt: skip
    add_legend(figure, panels, list(styles), _note(lines))
    return figure


def _styles(families: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colors and markers of families; networks are black and come last."""
    drawn = [family for family in families if not family.startswith(_NETWORKS)]
    networks = [family for family in families if family.startswith(_NETWORKS)]
    styles = {
        family: (_COLORS[number % len(_COLORS)], _MARKERS[number % len(_MARKERS)])
        for number, family in enumerate(drawn)
    }
    return styles | {
        family: (_NETWORK_COLOR, marker)
        for family, marker in zip(networks, cycle(_NETWORK_MARKERS), strict=False)
    }


def _point(line: Line) -> tuple[float, float]:
    (x, x_factor), (y, y_factor) = MEASUREMENTS["linear, %"], MEASUREMENTS["accuracy"]
    return x_factor * line["metrics"][x], y_factor * line["metrics"][y]


def _note(lines: Sequence[Line]) -> str:
    return ". ".join([*remarks(lines), "Means over seeds"])
