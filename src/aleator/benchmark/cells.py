"""One cell of a benchmark: a recipe and a seed, trained once and judged under every protocol."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import aleator
from aleator.benchmark import datasets
from aleator.benchmark.provenance import commit, device_name
from aleator.benchmark.recipes import Recipe

PAPER, STANDARDISED = "paper", "standardised"


@dataclass(frozen=True)
class Cell:
    """What to run. `epochs_scale` below one is for a quick look, and every line says so."""

    recipe: Recipe
    seed: int
    epochs_scale: float = 1.0

    @property
    def protocols(self) -> tuple[str, ...]:
        """A classifier is judged by itself; an embedding by the paper's probe and a fairer one."""
        return (PAPER,) if self.recipe.probe["kind"] == "own" else (PAPER, STANDARDISED)

    @property
    def keys(self) -> set[tuple[Any, ...]]:
        """What tells this cell's finished lines from all others."""
        recipe = self.recipe
        return {
            (recipe.dataset, recipe.method, recipe.config_hash, self.seed, p, self.epochs_scale)
            for p in self.protocols
        }


def key_of(line: dict[str, Any]) -> tuple[Any, ...]:
    """A result line's place among the cells' keys."""
    names = ("dataset", "method", "config_hash", "seed", "protocol", "epochs_scale")
    return tuple(line.get(name) for name in names)


def run(cell: Cell, data: str | None, device: str) -> list[dict[str, Any]]:
    """Train once and probe under every protocol: one line each."""
    recipe = _scaled(cell.recipe, cell.epochs_scale)
    split, checksum = _loaded(recipe.dataset, data)
    began = time.perf_counter()
    estimator = recipe.estimator(device, cell.seed).fit(split.X_train, split.y_train)
    fitted = time.perf_counter() - began
    lines = []
    for protocol in cell.protocols:
        began = time.perf_counter()
        metrics = judged(
            recipe, estimator, split, device, cell.seed, standardised=protocol == STANDARDISED
        )
        lines.append(
            {
                "dataset": recipe.dataset,
                "dataset_sha256": checksum,
                "method": recipe.method,
                "config_hash": cell.recipe.config_hash,
                "seed": cell.seed,
                "protocol": protocol,
                "epochs_scale": cell.epochs_scale,
                "version": aleator.__version__,
                "commit": commit(),
                "device": device_name(device),
                "metrics": {name: round(value, 5) for name, value in metrics.items()},
                "seconds": round(fitted, 3),
                "probe_seconds": round(time.perf_counter() - began, 3),
            }
        )
    return lines


def run_safely(cell: Cell, data: str | None, device: str) -> list[dict[str, Any]]:
    """As `run`, but what goes wrong becomes a line that says so."""
    try:
        return run(cell, data, device)
    except Exception as error:
        return [
            {
                "dataset": cell.recipe.dataset,
                "method": cell.recipe.method,
                "config_hash": cell.recipe.config_hash,
                "seed": cell.seed,
                "epochs_scale": cell.epochs_scale,
                "error": f"{type(error).__name__}: {error}",
            }
        ]


def judged(
    recipe: Recipe,
    estimator: Any,
    split: datasets.Split,
    device: str,
    seed: int,
    *,
    standardised: bool,
) -> dict[str, float]:
    """Metrics of a fitted estimator on the test part, by the recipe's probe or by itself."""
    from aleator.evaluation import ProbeTraining, linear_classifier, logistic_regression
    from aleator.evaluation.metrics import of_classes

    kind = recipe.probe["kind"]
    if kind == "own":
        scores = estimator.predict_proba(split.X_test)
        return of_classes(split.y_test, scores, estimator.classes_)
    parts = split.X_train, split.y_train, split.X_test, split.y_test
    common: dict[str, Any] = {"model": estimator, "standardised": standardised, "seeds": [seed]}
    if kind == "logistic":
        result = logistic_regression(*parts, **common)
    else:
        training = ProbeTraining(**{k: v for k, v in recipe.probe.items() if k != "kind"})
        result = linear_classifier(*parts, **common, training=training, device=device)
    return {name: values[0] for name, values in result.metrics.items()}


def _scaled(recipe: Recipe, scale: float) -> Recipe:
    def shorter(settings: dict[str, Any]) -> dict[str, Any]:
        if scale == 1 or "epochs" not in settings:
            return settings
        return {**settings, "epochs": max(1, round(scale * settings["epochs"]))}

    return replace(recipe, parameters=shorter(recipe.parameters), probe=shorter(recipe.probe))


@cache
def _loaded(name: str, data: str | None) -> tuple[datasets.Split, str]:
    """A data set and its checksum; a process reads it once."""
    split = datasets.load(name, data)
    return split, split.sha256
