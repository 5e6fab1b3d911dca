"""The figure of label curves: one panel per data set, accuracy against the number of labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from aleator.benchmark import plots
from aleator.benchmark.label_tables import HIGHLIGHTED, by_data_set, is_rival
from aleator.benchmark.protocols import with_labels
from aleator.benchmark.result_lines import Line, remarks, score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class _Style:
    color: str
    marker: str
    width: float = 1.6
    dashes: str = "-"
    marker_size: float = 5


# Colors of Okabe and Ito. What is to be compared with LFR at a glance is solid; what needs no
# representation at all is dashed.
_STYLES = {
    "lfr-default": _Style("#D55E00", "o", 2.6),
    "random-features": _Style("#0072B2", "s", 2.6),
    "lfr": _Style("#E69F00", "D"),
    "random": _Style("#CC79A7", "^", marker_size=6),
    "supervised": _Style("#009E73", "v", dashes="--", marker_size=6),
    "boosting": _Style("#56B4E9", "P", dashes="--", marker_size=7),
    "logreg": _Style("#333333", "X", dashes="--", marker_size=6.5),
}
_RIVAL_COLOR = "#c4c4c4"
_RIVALS = "other self-supervised methods"
_COLUMNS = 3

# Scores of every seed by number of labels.
Curve = Mapping[int, Sequence[float]]


def draw(lines: Sequence[Line], *, title: str) -> Figure:
    """Draw one panel per data set.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study.
    title : str
        Title of the figure.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    """
    panels = by_data_set(lines)
    n_columns = min(_COLUMNS, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    figure = plots.empty_figure((3.6 * n_columns + 0.2, 2.9 * n_rows + 1.1), title)
    figure.set_layout_engine("constrained", wspace=0.05, hspace=0.05)
    grid = figure.subplots(n_rows, n_columns, squeeze=False).flatten()
    for axes, (name, part) in zip(grid, panels.items(), strict=False):
        _draw_curves(axes, _curves(part))
        _set_ticks(axes, part)
        axes.set_title(name, loc="left", fontsize="medium", fontweight="bold")
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes in grid[::n_columns]:
        axes.set_ylabel("accuracy, %")
    for axes in grid[max(0, len(panels) - n_columns) : len(panels)]:
        axes.set_xlabel("number of labels")
    entries = {
        label: handle
        for axes in grid[: len(panels)]
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    order = [HIGHLIGHTED[method] for method in _STYLES] + [_RIVALS]
    labels = sorted(entries, key=order.index)
    figure.legend(
        [entries[label] for label in labels], labels,
        loc="outside lower center", ncols=min(4, len(labels)), frameon=False, fontsize="small",
        handlelength=2.6, title=_note(lines), title_fontsize="x-small",
    ).get_title().set_color("#666666")  # fmt: skip
    return figure


def _note(lines: Sequence[Line]) -> str:
    # Panels say themselves which share of the epochs they have.
    texts = [text for text in remarks(lines) if not text.startswith("Columns")]
    if len({line["seed"] for line in lines}) > 1:
        texts.insert(0, "Means over seeds and draws; bands are one standard deviation over seeds")
    return ". ".join(texts)


def _curves(lines: Sequence[Line]) -> dict[str, dict[int, list[float]]]:
    curves: dict[str, dict[int, list[float]]] = {}
    for line in lines:
        curve = curves.setdefault(line["method"], {})
        curve.setdefault(int(line["metrics"]["labels"]), []).append(score(line))
    return curves


def _draw_curves(axes: Axes, curves: Mapping[str, Curve]) -> None:
    rivals = [method for method in curves if is_rival(method)]
    for number, method in enumerate(rivals):
        counts, means, _ = _statistics(curves[method])
        label = _RIVALS if number == 0 else None
        axes.plot(counts, means, color=_RIVAL_COLOR, linewidth=1, label=label, zorder=2)
    # The most important ones are drawn last, on top of the others.
    for method, style in reversed(_STYLES.items()):
        if method not in curves:
            continue
        counts, means, deviations = _statistics(curves[method])
        axes.fill_between(
            counts, means - deviations, means + deviations,
            color=style.color, alpha=0.13, linewidth=0, zorder=3,
        )  # fmt: skip
        axes.plot(
            counts, means, color=style.color, linewidth=style.width, linestyle=style.dashes,
            marker=style.marker, markersize=style.marker_size, markeredgecolor="white",
            markeredgewidth=0.6, label=HIGHLIGHTED[method], zorder=4,
        )  # fmt: skip


def _set_ticks(axes: Axes, lines: Sequence[Line]) -> None:
    ticks = {
        int(line["metrics"]["labels"]): "all\n" if line["protocol"] == with_labels(None) else ""
        for line in lines
    }
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), [f"{prefix}{count}" for count, prefix in ticks.items()])
    axes.minorticks_off()
    axes.tick_params(labelsize="small", color="#999999")
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#999999")


def _statistics(curve: Curve) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Numbers of labels in ascending order, with means and standard deviations over seeds."""
    counts = sorted(curve)
    means = np.array([fmean(curve[count]) for count in counts])
    return counts, means, np.array([plots.deviation(curve[count]) for count in counts])
