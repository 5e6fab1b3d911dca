"""Recipes: a method's settings for a data set, as YAML under benchmarks/configs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_INSTALLED = Path(__file__).parent / "configs"
_IN_THE_REPOSITORY = Path(__file__).parents[3] / "benchmarks" / "configs"


@dataclass(frozen=True)
class Recipe:
    """What to train on what, and how to judge it.

    `parameters` are arguments of the estimator, `probe` names the classifier and its settings,
    `origin` says where the figures come from.
    """

    dataset: str
    method: str
    origin: str
    parameters: dict[str, Any] = field(default_factory=dict)
    probe: dict[str, Any] = field(default_factory=dict)

    @property
    def config_hash(self) -> str:
        """Changes whenever anything that can change a result does."""
        content = {
            "dataset": self.dataset,
            "method": self.method,
            "parameters": self.parameters,
            "probe": self.probe,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def estimator(self, device: str, seed: int) -> Any:
        """The estimator this recipe describes. A recipe's precision is meant for GPUs."""
        from aleator import LFR
        from aleator.training.devices import resolve_device

        estimator = LFR(**self.parameters, device=device, random_state=seed, progress=False)
        if resolve_device(device).type == "cpu":
            estimator.set_params(precision="32")
        return estimator


def config_folder() -> Path:
    """Where the recipes are: beside this file when installed, else in the repository."""
    return _INSTALLED if _INSTALLED.is_dir() else _IN_THE_REPOSITORY


def names() -> list[str]:
    """All recipes, by name.

    >>> "income" in names()
    True
    """
    return sorted(path.stem for path in config_folder().glob("*.yaml"))


def read(name: str) -> Recipe:
    """Read a recipe by name.

    >>> read("income").parameters["n_projectors"]
    6
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError("recipes are YAML files: pip install 'aleator[bench]'") from error
    path = config_folder() / f"{name}.yaml"
    if not path.exists():
        raise ValueError(f"there is no recipe {name!r}; known: {', '.join(names())}")
    return Recipe(**yaml.safe_load(path.read_text(encoding="utf-8")))
