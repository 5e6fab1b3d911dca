"""The figure of label curves: one panel per data set, accuracy against the number of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aleator.benchmark.label_tables import (
    HIGHLIGHTED,
    SHOWN,
    by_data_set,
    is_rival,
    shortened_methods,
)
from aleator.benchmark.panels import add_legend, panel_figure, set_log_ticks, statistics
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
# representation at all is dashed, and LFR without its training is dotted.
_STYLES = {
    "lfr-default": _Style("#D55E00", "o", 2.6),
    "random-features": _Style("#0072B2", "s", 2.6),
    "lfr": _Style("#E69F00", "D"),
    "random-default": _Style("#D55E00", "p", dashes=":", marker_size=6),
    "random": _Style("#CC79A7", "^", marker_size=6),
    "supervised": _Style("#009E73", "v", dashes="--", marker_size=6),
    "boosting": _Style("#56B4E9", "P", dashes="--", marker_size=7),
    "logreg": _Style("#333333", "X", dashes="--", marker_size=6.5),
}
_RIVAL_COLOR = "#c4c4c4"
_RIVALS = "other self-supervised methods"

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
    shown = [line for line in lines if line["dataset"] in SHOWN]
    parts = by_data_set(shown or lines)
    figure, panels = panel_figure(
        list(parts), title=title, x_axis="number of labels", y_axis="accuracy, %"
    )
    for axes, part in zip(panels, parts.values(), strict=True):
        _draw_curves(axes, _curves(part))
        set_log_ticks(axes, _ticks(part))
    order = [HIGHLIGHTED[method] for method in _STYLES] + [_RIVALS]
    add_legend(figure, panels, order, _note(parts))
    return figure


def _note(parts: Mapping[str, Sequence[Line]]) -> str:
    lines = [line for part in parts.values() for line in part]
    # Panels say themselves which share of the epochs all their methods have.
    texts = [text for text in remarks(lines) if not text.startswith("Columns")]
    for name, part in parts.items():
        if scales := set(shortened_methods(part).values()):
            share = " or ".join(f"{100 * scale:g} %" for scale in sorted(scales))
            texts.append(f"{name}: methods other than LFR were trained for {share} of their epochs")
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
        counts, means, _ = statistics(curves[method])
        label = _RIVALS if number == 0 else None
        axes.plot(counts, means, color=_RIVAL_COLOR, linewidth=1, label=label, zorder=2)
    # The most important ones are drawn last, on top of the others.
    for method, style in reversed(_STYLES.items()):
        if method not in curves:
            continue
        counts, means, deviations = statistics(curves[method])
        axes.fill_between(
            counts, means - deviations, means + deviations,
            color=style.color, alpha=0.13, linewidth=0, zorder=3,
        )  # fmt: skip
        axes.plot(
            counts, means, color=style.color, linewidth=style.width, linestyle=style.dashes,
            marker=style.marker, markersize=style.marker_size, markeredgecolor="white",
            markeredgewidth=0.6, label=HIGHLIGHTED[method], zorder=4,
        )  # fmt: skip


def _ticks(lines: Sequence[Line]) -> dict[int, str]:
    ticks = {}
    for line in lines:
        count = int(line["metrics"]["labels"])
        ticks[count] = f"all\n{count}" if line["protocol"] == with_labels(None) else f"{count}"
    return ticks
