"""What tables and figures read from result lines: names, order, score and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aleator.benchmark import paper
from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.method_names import METHODS
from aleator.benchmark.protocols import TIMED

Line = dict[str, Any]

# Names of data sets in tables and figures.
SHORT_NAMES = {
    "har": "HAR", "epilepsy": "Epilepsy", "mimic3": "MIMIC-III", "physionet2012": "PhysioNet 2012",
    "income": "Income", "theorem": "Theorem", "hepmass": "HEPMASS", "kvasir": "Kvasir",
    "kvasir-v1": "Kvasir v1", "cifar10": "CIFAR-10", "gunpoint": "GunPoint",
    "japanese-vowels": "Japanese Vowels", "har-5881": "HAR, 5881 samples",
    "epilepsy-7360": "Epilepsy, 7360 samples",
}  # fmt: skip


def score(line: Line) -> float:
    """Return the main metric of a result line.

    Parameters
    ----------
    line : dict
        A result line.

    Returns
    -------
    score : float
        Accuracy, or kappa for data sets where the paper uses it, in percent.

    Examples
    --------
    >>> score({"dataset": "mimic3", "metrics": {"accuracy": 0.5, "kappa": 0.4}})
    40.0
    """
    return 100 * line["metrics"][paper.METRIC.get(line["dataset"], "accuracy")]


def in_table_order(lines: Sequence[Line]) -> list[Line]:
    """Sort result lines by method and data set, and keep the order of variants.

    Parameters
    ----------
    lines : sequence of dict
        Result lines.

    Returns
    -------
    lines : list of dict
        The sorted lines.
    """
    methods, names = list(METHODS), list(DATASETS)
    return sorted(
        lines, key=lambda line: (methods.index(line["method"]), names.index(line["dataset"]))
    )


def remarks(lines: Sequence[Line]) -> list[str]:
    """Describe what limits the comparison with other results.

    Parameters
    ----------
    lines : sequence of dict
        Result lines.

    Returns
    -------
    remarks : list of str
        Notes for a table or a figure.
    """
    found = []
    if any(line.get("held_out") for line in lines):
        found.append("Held-out parts of training sets; test sets were not used")
    if any(line["small"] for line in lines):
        found.append("Small synthetic data: a test of the program, not of the methods")
    for dataset in dict.fromkeys(x["dataset"] for x in lines if x["protocol"] != TIMED):
        if metric := paper.METRIC.get(dataset):
            found.append(f"The metric of {short_name(dataset)} is {metric} × 100, not accuracy")
    if timed_on := sorted({_machine(line) for line in lines if line["protocol"] == TIMED}):
        found.append(f"Timed on {' and '.join(timed_on)}")
    scales = sorted({line["epochs_scale"] for line in lines})
    if len(scales) == 1 and scales != [1]:
        found.append(f"Shortened runs: {100 * scales[0]:g} % of the recipes' epochs")
    elif len(scales) > 1:
        found.append("Columns marked with a percentage of epochs are shortened runs")
    return found


def column_name(dataset: str, scale: float) -> str:
    """Return the name of a data set, with the percentage of epochs unless it is 100.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    scale : float
        Fraction of the epochs.

    Returns
    -------
    name : str
        Name in tables.

    Examples
    --------
    >>> column_name("har", 1.0), column_name("har", 0.25)
    ('HAR', 'HAR (25 % of epochs)')
    """
    return short_name(dataset) + ("" if scale == 1 else f" ({100 * scale:g} % of epochs)")


def short_name(dataset: str) -> str:
    """Return the name of a data set in tables and figures.

    Parameters
    ----------
    dataset : str
        Name of the data set.

    Returns
    -------
    name : str
        The short name, or the title if there is none.
    """
    return SHORT_NAMES.get(dataset, DATASETS[dataset].title)


def _machine(line: Line) -> str:
    return (
        f"{line.get('threads', 'unknown number of')} CPU threads"
        if line["device"] == "cpu"
        else str(line["device"])
    )
