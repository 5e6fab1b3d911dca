"""The figure of transfer: a matrix of source and target domains per method."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from aleator.benchmark import plots
from aleator.benchmark.method_names import CLASSIFIERS, title_of
from aleator.benchmark.protocols import Transfer
from aleator.benchmark.result_lines import Line, remarks, score
from aleator.benchmark.transfer_tables import TITLES, domain_names, pair_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = 4
# Digits are white on colors darker than this share of the range.
_DARK = 0.45
_LETTERS_PER_INCH = 12


def draw(group: str, lines: Sequence[Line]) -> Figure:
    """Draw the matrices of the methods, fitted and labeled on the source domain.

    Parameters
    ----------
    group : str
        Name of the data set with domains.
    lines : sequence of dict
        Its result lines of transfer, in the order of tables.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Mean accuracies over seeds under the standardized probe. In the title of each matrix is its
        mean.
    """
    names = domain_names(group)
    chosen = [line for line in lines if _is_shown(line)]
    methods = list(dict.fromkeys(line["method"] for line in chosen))
    matrices = {
        method: _matrix([x for x in chosen if x["method"] == method], names) for method in methods
    }
    low = min(np.nanmin(matrix) for matrix in matrices.values())
    n_rows = math.ceil(len(methods) / _COLUMNS)
    n_columns = min(_COLUMNS, len(methods))
    title = f"Transfer, {TITLES[group]}: accuracy on the target domain, %"
    width = 2.1 * n_columns + 0.4
    note = ". ".join(["Standardized probe, fitted on the source domain", *remarks(chosen)])
    note = textwrap.fill(note, int(_LETTERS_PER_INCH * width))
    figure = plots.empty_figure((width, 2.15 * n_rows + 0.9), title, note)
    grid = figure.subplots(n_rows, n_columns, squeeze=False).flatten()
    for axes in grid:
        axes.set_axis_off()
    for axes, (method, matrix) in zip(grid, matrices.items(), strict=False):
        axes.set_axis_on()
        axes.imshow(matrix, cmap="viridis_r", vmin=low, vmax=100)
        axes.set_title(f"{title_of(method)}\n{np.nanmean(matrix):.1f}", fontsize="small")
        axes.set_xticks(range(len(names)), names, fontsize="small")
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.set_xlabel("target", fontsize="small")
        axes.set_ylabel("source", fontsize="small")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        for row, column in np.argwhere(~np.isnan(matrix)):
            value = matrix[row, column]
            is_dark = value - low > _DARK * (100 - low)
            axes.text(
                column, row, f"{value:.0f}", ha="center", va="center", fontsize="x-small",
                color="white" if is_dark else "black",
            )  # fmt: skip
    return figure


def _is_shown(line: Line) -> bool:
    if line["method"] in CLASSIFIERS:
        return True
    transfer = Transfer.parse(line["protocol"])
    return transfer is not None and transfer.standardized and not transfer.target_labels


def _matrix(lines: Sequence[Line], names: Sequence[str]) -> np.ndarray:
    """Mean scores of source and target domains; what was not measured is NaN."""
    scores: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        scores.setdefault(pair_of(line), []).append(score(line))
    return np.array(
        [
            [
                fmean(scores[pair]) if (pair := (source, target)) in scores else np.nan
                for target in names
            ]
            for source in names
        ]
    )
