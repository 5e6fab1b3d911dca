"""Attributes of nodes or of arcs: what was learned about them, and their features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

# Integers of no more different values are categories, for example atoms. Others are numbers.
_MOST_CODES = 32
# Categories that have a feature of their own, the most frequent ones.
_MOST_CATEGORIES = 64
# Categories that are counted at most.
_MOST_COUNTED = 1 << 16
# Rare categories must not become outliers.
_LEAST_DEVIATION = 0.1
_TINY = 1e-12


@dataclass(frozen=True)
class Attribute:
    """How an attribute becomes features.

    Parameters
    ----------
    name : str
        Its name.
    categories : tuple of str or None
        Values that have a feature each; None if the attribute is numbers.
    mean, deviation : ndarray of shape (n_features,)
        What is subtracted from the features, and by what they are divided.
    always : bool
        Whether all graphs of the training data had it.

    Examples
    --------
    >>> atom = Attribute("atom", ("C", "N"), np.zeros(2), np.ones(2), True)
    >>> atom.features(np.array(["N", "O"], object), 2, "row 0").tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    name: str
    categories: tuple[str, ...] | None
    mean: np.ndarray
    deviation: np.ndarray
    always: bool

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.mean)

    def features(self, values: np.ndarray | None, count: int, place: str) -> np.ndarray:
        """Return the features of all nodes or arcs of a graph.

        Parameters
        ----------
        values : ndarray or None
            The attribute; None if the graph does not have it.
        count : int
            Number of nodes or arcs.
        place : str
            How messages name the graph.

        Returns
        -------
        ndarray of shape (count, width)
        """
        if values is None and self.always and count:
            raise ValueError(
                f"{place} of X lacks the attribute {self.name!r}, which all graphs of the "
                "training data have"
            )
        if values is None or count == 0:
            return np.zeros((count, self.width))
        if self.categories is not None:
            found = np.array([_key(value) for value in values.ravel()], object)
            known = np.array(self.categories, object)
            return ((found[:, None] == known).astype(float) - self.mean) / self.deviation
        numbers = _numbers(values, self.name, place)
        if numbers.shape[1] != self.width:
            raise ValueError(
                f"the attribute {self.name!r} of {place} of X has {numbers.shape[1]} features, but "
                f"{self.width} are expected"
            )
        # What is missing has the mean of the training data.
        return np.where(np.isnan(numbers), 0, (numbers - self.mean) / self.deviation)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        kinds = None if self.categories is None else list(self.categories)
        return {
            "name": self.name,
            "categories": kinds,
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "always": self.always,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Make an attribute of what `to_dict` returned; ValueError if it cannot be."""
        categories = stored["categories"]
        mean, deviation = (np.array(stored[name], float) for name in ("mean", "deviation"))
        if (
            not isinstance(stored["name"], str)
            or not isinstance(stored["always"], bool)
            or mean.ndim != 1
            or mean.shape != deviation.shape
            or not np.isfinite([mean, deviation]).all()
            or not (deviation > 0).all()
        ):
            raise ValueError("an attribute of the graphs is wrong")
        if categories is not None:
            if not isinstance(categories, list) or not all(isinstance(c, str) for c in categories):
                raise ValueError("the categories of an attribute of the graphs are wrong")
            if len(categories) != len(mean):
                raise ValueError("an attribute of the graphs has another number of categories")
            categories = tuple(categories)
        return cls(stored["name"], categories, mean, deviation, stored["always"])


@dataclass
class AttributeLearner:
    """Collects what is learned about one attribute, graph by graph.

    Parameters
    ----------
    name : str
        Its name.

    Examples
    --------
    >>> learner = AttributeLearner("charge")
    >>> learner.update(np.array([[1.0], [3.0]]), "row 0")
    >>> learner.result(1, standardize=True).mean.tolist()
    [2.0]
    """

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    n_graphs: int = 0
    has_text: bool = False
    has_floats: bool = False
    total: np.ndarray = field(default_factory=lambda: np.zeros(0))
    squares: np.ndarray = field(default_factory=lambda: np.zeros(0))
    known: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def update(self, values: np.ndarray, place: str) -> None:
        """Learn from one graph, whose place messages name.

        Parameters
        ----------
        values : ndarray
            The attribute of all its nodes or arcs.
        place : str
            How messages name the graph.
        """
        self.n_graphs += 1
        self.has_text |= values.dtype == object
        self.has_floats |= values.dtype.kind == "f"
        if (values.ndim == 1 or values.shape[1] == 1) and len(self.counts) <= _MOST_COUNTED:
            self.counts.update(key for value in values.ravel() if (key := _key(value)) is not None)
        if values.dtype == object:
            return
        numbers = _numbers(values, self.name, place)
        if len(self.known) == 0:
            self.total, self.squares, self.known = np.zeros((3, numbers.shape[1]))
        if numbers.shape[1] != len(self.known):
            raise ValueError(
                f"the attribute {self.name!r} of {place} of X has {numbers.shape[1]} features, but "
                f"that of graphs before it has {len(self.known)}"
            )
        self.total += np.nansum(numbers, axis=0)
        self.squares += np.nansum(np.square(numbers), axis=0)
        self.known += (~np.isnan(numbers)).sum(axis=0)

    def result(self, n_graphs: int, *, standardize: bool) -> Attribute:
        """Return how the attribute becomes features.

        Parameters
        ----------
        n_graphs : int
            Number of graphs that have nodes, or arcs.
        standardize : bool
            Whether features are standardized.

        Returns
        -------
        Attribute
        """
        always = self.n_graphs >= n_graphs
        codes = not self.has_floats and len(self.counts) <= _MOST_CODES
        if self.has_text or codes:
            ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
            chosen = ranked[:_MOST_CATEGORIES]
            mean = np.array([n for _, n in chosen], float) / max(1, sum(self.counts.values()))
            deviation = np.maximum(np.sqrt(mean * (1 - mean)), _LEAST_DEVIATION)
            return _attribute(
                self.name, tuple(key for key, _ in chosen), mean, deviation, always, standardize
            )
        known = np.maximum(self.known, 1)
        mean = self.total / known
        deviation = np.sqrt(np.maximum(self.squares / known - np.square(mean), 0))
        deviation[deviation <= 1e-6 * np.abs(mean) + _TINY] = 1
        return _attribute(self.name, None, mean, deviation, always, standardize)


def learn_attributes(
    tables: Sequence[Mapping[str, np.ndarray]], places: Sequence[str]
) -> dict[str, AttributeLearner]:
    """Learn from the attributes of several graphs.

    Parameters
    ----------
    tables : sequence of mapping of str to ndarray
        Attributes of the graphs.
    places : sequence of str
        How messages name the graphs.

    Returns
    -------
    dict of str to AttributeLearner

    Examples
    --------
    >>> found = learn_attributes([{"a": np.array([3, 4])}, {}], ["row 0", "row 1"])
    >>> found["a"].n_graphs
    1
    """
    learners: dict[str, AttributeLearner] = {}
    for table, place in zip(tables, places, strict=True):
        for name, values in table.items():
            if len(values):
                learners.setdefault(name, AttributeLearner(name)).update(values, place)
    return learners


def _attribute(
    name: str,
    categories: tuple[str, ...] | None,
    mean: np.ndarray,
    deviation: np.ndarray,
    always: bool,
    standardize: bool,
) -> Attribute:
    if not standardize:  # values stay as they are, and what is missing becomes zero
        mean, deviation = np.zeros_like(mean), np.ones_like(deviation)
    return Attribute(name, categories, mean, deviation, always)


def _key(value: Any) -> str | None:
    if value is None or value != value:
        return None
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _numbers(values: np.ndarray, name: str, place: str) -> np.ndarray:
    if values.dtype == object:
        text = next((value for value in values if value is not None), None)
        raise ValueError(
            f"the attribute {name!r} of {place} of X is {text!r:.60}, but it must be a number, as "
            "in the training data"
        )
    numbers = values.astype(np.float64)
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    if np.isinf(numbers).any():
        raise ValueError(
            f"the attribute {name!r} of {place} of X has an infinity (inf): replace it"
        )
    return numbers
