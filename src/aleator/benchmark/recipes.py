"""Recipes: a method's settings for a data set, one YAML each: configs/DATASET/METHOD.yaml."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

_INSTALLED = Path(__file__).parent / "configs"
_IN_THE_REPOSITORY = Path(__file__).parents[3] / "benchmarks" / "configs"


# The names that recipes and results use, and the estimators they stand for; in the order of tables.
METHODS = {
    "logreg": "LogReg",
    "supervised": "Supervised",
    "random": "RandomEncoder",
    "autoencoder": "Autoencoder",
    "diet": "DIET",
    "simsiam": "SimSiam",
    "simclr": "SimCLR",
    "scarf": "SCARF",
    "stab": "STab",
    "tstcc": "TSTCC",
    "dacl": "DACL",
    "lfr": "LFR",
}

# What says how long something is trained.
_LENGTHS = ("epochs", "steps", "warmup_epochs")

# These learn from labels, and are judged by their own predictions.
CLASSIFIERS = ("logreg", "supervised")


@dataclass(frozen=True)
class Recipe:
    """What to train on what, and how to judge it.

    `parameters` are arguments of the estimator, `probe` names the classifier and its settings (or
    "own", where the estimator is a classifier), `origin` says where the figures come from. A
    supervised recipe also says in `finetuning` how a trained encoder is tuned with labels: its own
    parameters apply, but for those named there. `variant` names what a study changed.
    """

    dataset: str
    method: str
    origin: str
    parameters: dict[str, Any] = field(default_factory=dict)
    probe: dict[str, Any] = field(default_factory=dict)
    finetuning: dict[str, Any] = field(default_factory=dict)
    variant: str | None = None

    @property
    def config_hash(self) -> str:
        """Changes whenever anything that can change a result does."""
        return hash_of(
            {
                "dataset": self.dataset,
                "method": self.method,
                "parameters": self.parameters,
                "probe": self.probe,
            }
        )

    def varied(self, variant: str, **changes: Any) -> Recipe:
        """The same recipe with some parameters changed, under a name that says so.

        >>> read("income").varied("K = 2", n_projectors=2).variant
        'K = 2'
        """
        return replace(self, variant=variant, parameters={**self.parameters, **changes})

    def shortened(self, scale: float) -> Recipe:
        """The same recipe with a share of its epochs (or steps), at least one, for a quick look.

        Probes on frozen embeddings cost little and are trained in full.

        >>> read("income").shortened(0.1).parameters["epochs"]
        10
        """

        def shorter(settings: dict[str, Any]) -> dict[str, Any]:
            counts = [name for name in _LENGTHS if scale != 1 and settings.get(name)]
            return {**settings, **{n: max(1, round(scale * settings[n])) for n in counts}}

        return replace(
            self,
            parameters=shorter(self.parameters),
            finetuning=shorter(self.finetuning),
        )

    def estimator(self, device: str, seed: int) -> Any:
        """The estimator this recipe describes."""
        from aleator import estimators

        settings = settings_on(device, self.parameters)
        made = getattr(estimators, METHODS[self.method])(
            **settings, device=device, random_state=seed
        )
        if "progress" in made.get_params():
            made.set_params(progress=False)
        return made


def settings_on(device: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as a device wants them: a recipe's half precision is meant for GPUs.

    >>> settings_on("cpu", {"epochs": 3, "precision": "bf16"})
    {'epochs': 3, 'precision': '32'}
    """
    from aleator.training.devices import resolve_device

    if resolve_device(device).type == "cpu" and "precision" in parameters:
        return {**parameters, "precision": "32"}
    return parameters


def hash_of(content: dict[str, Any]) -> str:
    """A short name for settings.

    >>> hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def config_folder() -> Path:
    """Where the recipes are: beside this file when installed, else in the repository."""
    return _INSTALLED if _INSTALLED.is_dir() else _IN_THE_REPOSITORY


def names() -> list[tuple[str, str]]:
    """All recipes: data set and method.

    >>> ("income", "lfr") in names()
    True
    """
    return sorted((path.parent.name, path.stem) for path in config_folder().glob("*/*.yaml"))


def methods_for(dataset: str) -> list[str]:
    """The methods that have a recipe for a data set, in the order of tables.

    >>> methods_for("theorem")[-1]
    'lfr'
    """
    known = [method for at, method in names() if at == dataset]
    return [method for method in METHODS if method in known]


def read(dataset: str, method: str = "lfr") -> Recipe:
    """Read a recipe.

    >>> read("income").parameters["n_projectors"]
    6
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError("recipes are YAML files: pip install 'aleator[bench]'") from error
    path = config_folder() / dataset / f"{method}.yaml"
    if not path.exists():
        known = sorted({at for at, _ in names()})
        if dataset not in known:
            raise ValueError(f"there is no recipe {dataset!r}; known: {', '.join(known)}")
        raise ValueError(
            f"there is no recipe of {method!r} for {dataset}; known: "
            f"{', '.join(methods_for(dataset))}"
        )
    return Recipe(**yaml.safe_load(path.read_text(encoding="utf-8")))
