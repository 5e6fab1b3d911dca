"""The result of `label_curve`: accuracies by model, number of labels and draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

# Readable on white and distinguishable by color-blind readers (Okabe and Ito).
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B")
_MARKERS = "osD^vP*X"


@dataclass(frozen=True)
class LabelCurve:
    """Accuracy of models against the number of labels that they learned from.

    Printing it shows a table.

    Parameters
    ----------
    n_labels : tuple of int
        Numbers of labels, in ascending order.
    accuracy : dict of str to ndarray of shape (n_counts, n_draws)
        Accuracy on the test set by name of the model. All samples are drawn once, so that the
        values of a row are the same there.
    seconds : float
        Wall-clock time of the whole evaluation.

    Examples
    --------
    >>> curve = LabelCurve((10, 200), {"LFR": np.array([[0.6, 0.7], [0.9, 0.9]])}, seconds=1.0)
    >>> curve.mean("LFR"), curve.std("LFR").round(3)
    (array([0.65, 0.9 ]), array([0.071, 0.   ]))
    >>> print(curve)
    accuracy by number of labels, 2 draws, 1.0 s
                      10            200
      LFR  0.650 ± 0.071  0.900 ± 0.000
    """

    n_labels: tuple[int, ...]
    accuracy: dict[str, np.ndarray]
    seconds: float

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return next(iter(self.accuracy.values())).shape[1]

    def mean(self, model: str) -> np.ndarray:
        """Mean accuracy over draws.

        Parameters
        ----------
        model : str
            Name of the model.

        Returns
        -------
        ndarray of shape (n_counts,)
            One value per number of labels.
        """
        return self.accuracy[model].mean(1)

    def std(self, model: str) -> np.ndarray:
        """Sample standard deviation of the accuracy over draws.

        Parameters
        ----------
        model : str
            Name of the model.

        Returns
        -------
        ndarray of shape (n_counts,)
            One value per number of labels, with n - 1 in the denominator; 0 for a single draw.
        """
        values = self.accuracy[model]
        return values.std(1, ddof=1) if self.n_draws > 1 else np.zeros(len(values))

    def to_markdown(self) -> str:
        """Return a table in Markdown: one row per model, one column per number of labels.

        Returns
        -------
        str
            Mean ± standard deviation over draws. The best mean of a column is in bold.

        Examples
        --------
        >>> print(LabelCurve((10,), {"LFR": np.array([[0.6, 0.7]])}, 1.0).to_markdown())
        | model | 10 labels |
        | --- | --- |
        | LFR | **0.650 ± 0.071** |
        """
        best = np.max([self.mean(name) for name in self.accuracy], axis=0)
        lines = [
            ["model", *(f"{count} labels" for count in self.n_labels)],
            ["---"] * (1 + len(self.n_labels)),
        ]
        for name, cells in self._cells().items():
            bold = self.mean(name) == best
            lines.append(
                [name, *(f"**{c}**" if b else c for c, b in zip(cells, bold, strict=True))]
            )
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def to_frame(self) -> DataFrame:
        """Return all accuracies as a data frame in long format.

        Returns
        -------
        pandas.DataFrame
            Columns ``model``, ``n_labels``, ``draw`` and ``accuracy``.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> LabelCurve((10,), {"LFR": np.array([[0.6, 0.7]])}, 1.0).to_frame()
          model  n_labels  draw  accuracy
        0   LFR        10     0       0.6
        1   LFR        10     1       0.7
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas; install it with pip install 'aleator[bench]'"
            ) from error
        rows = [
            (name, count, draw, value)
            for name, table in self.accuracy.items()
            for count, values in zip(self.n_labels, table.tolist(), strict=True)
            for draw, value in enumerate(values)
        ]
        return pd.DataFrame(rows, columns=["model", "n_labels", "draw", "accuracy"])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the mean accuracy against the number of labels, with one standard deviation.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``ax.figure.savefig(path)`` saves the figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> curve = LabelCurve((10, 200), {"LFR": np.array([[0.6, 0.7], [0.9, 0.9]])}, 1.0)
        >>> curve.plot().get_xlabel()
        'number of labels'
        """
        axes = _new_axes() if ax is None else ax
        for number, name in enumerate(self.accuracy):
            color = _COLORS[number % len(_COLORS)]
            mean, std = self.mean(name), self.std(name)
            marker = _MARKERS[number % len(_MARKERS)]
            axes.plot(self.n_labels, mean, color=color, marker=marker, markersize=5, label=name)
            axes.fill_between(
                self.n_labels, mean - std, mean + std, color=color, alpha=0.15, linewidth=0
            )
        axes.set_xscale("log")
        axes.set_xticks(self.n_labels, [f"{count}" for count in self.n_labels])
        axes.minorticks_off()
        axes.set(xlabel="number of labels", ylabel="accuracy")
        axes.grid(axis="y", color="#dddddd")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        return axes

    def _cells(self) -> dict[str, list[str]]:
        """Mean and standard deviation as text, by model."""

        def formatted(mean: float, std: float) -> str:
            return f"{mean:.3f} ± {std:.3f}" if self.n_draws > 1 else f"{mean:.3f}"

        return {
            name: [formatted(*pair) for pair in zip(self.mean(name), self.std(name), strict=True)]
            for name in self.accuracy
        }

    def __str__(self) -> str:
        cells = self._cells()
        width = max(map(len, cells))
        columns = [
            max(len(str(count)), *(len(row[k]) for row in cells.values()))
            for k, count in enumerate(self.n_labels)
        ]
        draws = f"{self.n_draws} draw{'s' if self.n_draws > 1 else ''}"
        lines = [f"accuracy by number of labels, {draws}, {self.seconds:.1f} s"]
        table = {"": [f"{count}" for count in self.n_labels], **cells}
        for name, row in table.items():
            aligned = [cell.rjust(n) for cell, n in zip(row, columns, strict=True)]
            lines.append("  ".join(["", name.ljust(width), *aligned]))
        return "\n".join(lines)


def _new_axes() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plot needs matplotlib; install it with pip install 'aleator[bench]'"
        ) from error
    return pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
