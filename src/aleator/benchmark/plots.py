"""Figures of results. Matplotlib is asked for when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np

from aleator.benchmark.protocols import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Dark enough on white, and told apart by the colour-blind (Okabe and Ito).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B",
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
    """Mean and deviation over seeds, a curve for each method and protocol.

    `values` maps method and protocol to variant to one value a seed. One method is drawn under all
    protocols in one panel, the paper's with filled marks; several get a panel a protocol. Lines
    join numbers only: between two names there is nothing.

    >>> one = curves({("LFR", "paper"): {"2": [70.0, 71.0], "4": [72.0]}}, title="K",
    ...              x_axis="K", y_axis="accuracy, %")
    >>> [text.get_text() for text in one.axes[0].get_xticklabels()]
    ['2', '4']
    """
    variants = list(dict.fromkeys(v for curve in values.values() for v in curve))
    methods = list(dict.fromkeys(method for method, _ in values))
    protocols = list(dict.fromkeys(protocol for _, protocol in values))
    panels = [[p] for p in protocols] if len(methods) > 1 else [protocols]
    figure, axes = _new(title, note, panels=len(panels))
    for (method, protocol), curve in values.items():
        at = methods.index(method)
        filled = protocol == PAPER or len(panels) > 1
        colour = _COLOURS[at % len(_COLOURS)]
        own = axes[next(k for k, panel in enumerate(panels) if protocol in panel)]
        joined = [v for v in variants if v in curve and _is_number(v)]
        own.plot(
            [variants.index(v) for v in joined],
            [fmean(curve[v]) for v in joined],
            color=colour,
            linestyle="-" if filled else "--",
        )
        named = [v for v in variants if v in curve]
        own.errorbar(
            [variants.index(v) for v in named],
            [fmean(curve[v]) for v in named],
            [_deviation(curve[v]) for v in named],
            color=colour,
            marker=_MARKERS[at % len(_MARKERS)],
            linestyle="none",
            markerfacecolor=None if filled else "white",
            capsize=3,
            label=method if len(panels) > 1 else f"{method}, {protocol}",
        )
    for panel, one in zip(panels, axes, strict=True):
        if len(panels) > 1:
            one.set_title(f"{panel[0]} protocol", fontsize="small")
        one.set_xticks(range(len(variants)), [v.replace(", ", ",\n") for v in variants])
        one.set_xlabel(x_axis)
        one.grid(axis="y", color="#dddddd")
    axes[0].set_ylabel(y_axis)
    axes[-1].legend(fontsize="x-small", frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def bars(values: Mapping[str, Sequence[float]], *, title: str, axis: str, note: str = "") -> Figure:
    """Lying bars, the shortest first, with the figure at each end.

    >>> one = bars({"LFR": [2.0], "SimCLR": [1.0]}, title="HAR", axis="seconds")
    >>> [text.get_text() for text in one.axes[0].get_yticklabels()]
    ['SimCLR', 'LFR']
    """
    figure, (axes,) = _new(title, note)
    names = sorted(values, key=lambda name: fmean(values[name]))
    means = [fmean(values[name]) for name in names]
    deviations = [_deviation(values[name]) for name in names]
    errors = deviations if any(deviations) else None
    drawn = axes.barh(range(len(names)), means, xerr=errors, color=_COLOURS[0], capsize=3)
    axes.bar_label(drawn, [f"{mean:.3g}" for mean in means], padding=6, fontsize="small")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * max(m + d for m, d in zip(means, deviations, strict=True)) or 1)
    axes.set_xlabel(axis)
    return figure


def pictures(rows: Mapping[str, Sequence[np.ndarray]], *, title: str, note: str = "") -> Figure:
    """Rows of small images (channels first, 0 to 1), each with its name in front.

    >>> one = pictures({"diverse 1": [np.zeros((3, 4, 4))] * 6}, title="neighbours")
    >>> len(one.axes)
    6
    """
    width = max(len(images) for images in rows.values())
    figure = _empty((1.1 * width + 1.2, 1.15 * len(rows) + 0.6), title, note)
    grid = figure.subplots(len(rows), width, squeeze=False)
    for axes, (name, images) in zip(grid, rows.items(), strict=True):
        for at, image in enumerate(images):
            axes[at].imshow(np.moveaxis(image, 0, -1).clip(0, 1))
            axes[at].set(xticks=[], yticks=[])
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same figure gives the same file."""
    import matplotlib

    # Dates and random names would make every file differ from the last.
    with matplotlib.rc_context({"svg.hashsalt": "aleator"}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def _new(title: str, note: str, panels: int = 1) -> tuple[Figure, list[Axes]]:
    figure = _empty((7.5 if panels == 1 else 4.5 * panels, 4), title, note)
    axes = list(figure.subplots(1, panels, sharey=True, squeeze=False)[0])
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _empty(size: tuple[float, float], title: str, note: str) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "figures are drawn with matplotlib: pip install 'aleator[bench]'"
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, fontsize="medium")
    if note:
        figure.supxlabel(note, fontsize="x-small", color="#666666")
    return figure


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def _is_number(variant: str) -> bool:
    try:
        float(variant)
    except ValueError:
        return False
    return True
