"""One cell of a benchmark: a recipe and a seed, trained once and judged under some protocols."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from aleator.benchmark import datasets, protocols
from aleator.benchmark.protocols import Case
from aleator.benchmark.provenance import stamp
from aleator.benchmark.recipes import CLASSIFIERS, Recipe
from aleator.interruption import InterruptedTrainingWarning

Key = tuple[Any, ...]
_KEY = ("dataset", "method", "config_hash", "seed", "protocol", "epochs_scale", "small")


@dataclass(frozen=True)
class Cell:
    """What to run and how to judge it.

    `epochs_scale` below one is for a quick look, `small` for generated data of a few rows: every
    line says so.
    """

    recipe: Recipe
    seed: int
    protocols: tuple[str, ...]
    epochs_scale: float = 1.0
    small: bool = False

    def key(self, protocol: str) -> Key:
        """What tells this cell's finished line from all others."""
        recipe = self.recipe
        hashed = protocols.config_hash(recipe, protocol)
        return (
            recipe.dataset, recipe.method, hashed, self.seed, protocol, self.epochs_scale,
            self.small,
        )  # fmt: skip

    @property
    def keys(self) -> set[Key]:
        """Those of all its lines."""
        return {self.key(protocol) for protocol in self.protocols}

    @property
    def cost(self) -> int:
        """Samples seen in training, roughly: cells that take long are run first."""
        known = self.recipe.parameters
        if known.get("steps"):
            return int(known["steps"] * known["batch_size"])
        return int(known.get("epochs", 0)) * datasets.SOURCES[self.recipe.dataset].train


def key_of(line: dict[str, Any]) -> Key:
    """A result line's place among the cells' keys."""
    return tuple(line.get(name) for name in _KEY)


def merged(cells: Iterable[Cell], done: set[Key]) -> list[Cell]:
    """The cells with what is not done yet; those that share a training become one."""
    found: dict[Key, Cell] = {}
    for cell in cells:
        missing = [p for p in cell.protocols if cell.key(p) not in done]
        if not missing:
            continue
        training = cell.key(protocols.PAPER)  # however it is judged
        known = found[training].protocols if training in found else ()
        both = tuple(dict.fromkeys([*known, *missing]))
        found[training] = replace(cell, protocols=both)
    return list(found.values())


def run(cell: Cell, data: str | None, device: str) -> list[dict[str, Any]]:
    """Train once and judge under every protocol: one line each. What goes wrong becomes a line
    that says so, and what does not depend on it goes on.
    """
    try:
        with _whole_trainings():
            case, facts = _trained(cell, data, device)
    except Exception as error:
        return [_failed(cell, protocol, error) for protocol in cell.protocols]
    return [_judged(cell, protocol, case, facts) for protocol in cell.protocols]


@contextmanager
def _whole_trainings() -> Iterator[None]:
    """Half a training must not pass for a whole one: Ctrl-C in a fit ends the benchmark."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedTrainingWarning)
        try:
            yield
        except InterruptedTrainingWarning:
            raise KeyboardInterrupt from None


def _judged(cell: Cell, protocol: str, case: Case, facts: dict[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        with _whole_trainings():
            metrics = protocols.judge(protocol, case)
    except Exception as error:
        return _failed(cell, protocol, error)
    return {
        **named(cell, protocol),
        **facts,
        "metrics": {name: round(value, 5) for name, value in metrics.items()},
        "probe_seconds": round(time.perf_counter() - began, 3),
    }


def _trained(cell: Cell, data: str | None, device: str) -> tuple[Case, dict[str, Any]]:
    """A trained estimator, and what all its lines say."""
    recipe = cell.recipe.shortened(cell.epochs_scale)
    split, checksum = loaded(recipe.dataset, data, cell.small)
    # Where labels are missing, only those who need none see all samples.
    seen = split.labelled if recipe.method in CLASSIFIERS else split
    if protocols.TIMED in cell.protocols:
        # A process's first fit also pays for libraries that set themselves up.
        recipe.shortened(0).estimator(device, cell.seed).fit(seen.X_train, seen.y_train)
    began = time.perf_counter()
    estimator = recipe.estimator(device, cell.seed).fit(seen.X_train, seen.y_train)
    seconds = time.perf_counter() - began
    watched = [r for r in getattr(estimator, "history_", []) if "effective_rank" in r]
    last: dict[str, Any] = watched[-1] if watched else {}
    facts = {
        "dataset_sha256": checksum,
        **stamp(device),
        "epochs": recipe.parameters.get("epochs"),
        "embedding_std": last.get("embedding_std"),
        "effective_rank": last.get("effective_rank"),
        "seconds": round(seconds, 3),
    }
    case = Case(
        recipe, estimator, split.labelled, cell.seed, device, cell.epochs_scale,
        read=lambda name: loaded(name, data, cell.small)[0].labelled,
    )  # fmt: skip
    return case, facts


def _failed(cell: Cell, protocol: str, error: Exception) -> dict[str, Any]:
    return {**named(cell, protocol), "error": f"{type(error).__name__}: {error}"}


def named(cell: Cell, protocol: str) -> dict[str, Any]:
    """What a line says of its cell."""
    key = dict(zip(_KEY, cell.key(protocol), strict=True))
    return {**key, "variant": cell.recipe.variant}


@cache
def loaded(name: str, data: str | None, small: bool) -> tuple[datasets.Split, str]:
    """A data set and its checksum; a process reads it once."""
    split = datasets.small(name) if small else datasets.load(name, data)
    return split, split.sha256
