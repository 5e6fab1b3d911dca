"""Recipes: the settings of a method for a data set, read from configs/DATASET/METHOD.yaml.

Some data sets use the recipes of another, for example the domains of a data set.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from aleator.atomic_io import json_digest
from aleator.benchmark.datasets.catalog import DATASETS
from aleator.benchmark.method_names import METHODS
from aleator.exceptions import DataFileError

_INSTALLED = Path(__file__).parent / "configs"
_IN_THE_REPOSITORY = Path(__file__).parents[3] / "benchmarks" / "configs"

# Parameters that determine the length of a training.
_LENGTHS = ("epochs", "steps", "warmup_epochs")


@dataclass(frozen=True)
class Recipe:
    """The settings of a method for a data set, and the probe that evaluates it.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    method : str
        A key of `METHODS`.
    origin : str
        Where the settings come from.
    parameters : dict
        Arguments of the estimator.
    probe : dict
        The kind of classifier on the embedding and its settings; the kind is ``"own"`` if the
        estimator is a classifier itself.
    finetuning : dict
        For supervised recipes: the settings with which trained encoders are fine-tuned.
    variant : str or None, default=None
        Name of what a study changed.
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
        """Hash of everything that can change a result."""
        return hash_of(
            {
                "dataset": self.dataset,
                "method": self.method,
                "parameters": self.parameters,
                "probe": self.probe,
            }
        )

    def varied(self, variant: str, **changes: Any) -> Recipe:
        """Return a copy with some parameters changed.

        Parameters
        ----------
        variant : str
            Name of the variant.
        **changes : object
            The changed parameters.

        Returns
        -------
        recipe : Recipe
            The copy.

        Raises
        ------
        ValueError
            If the estimator has no such parameter.

        Examples
        --------
        >>> read("income").varied("K = 2", n_projectors=2).variant
        'K = 2'
        """
        if unknown := changes.keys() - self._constructor()().get_params():
            raise ValueError(
                f"variant {variant!r} of {self.method} on {self.dataset} changes "
                f"{', '.join(sorted(unknown))}, which {METHODS[self.method]} does not have"
            )
        return replace(self, variant=variant, parameters={**self.parameters, **changes})

    def shortened(self, scale: float, n_samples: int) -> Recipe:
        """Return a copy with a fraction of the epochs (or steps), at least one.

        Probes on frozen embeddings take little time and are not shortened.

        Parameters
        ----------
        scale : float
            The fraction.
        n_samples : int
            Number of training samples, on which the default length of LFR depends.

        Returns
        -------
        recipe : Recipe
            The copy.

        Examples
        --------
        >>> read("income").shortened(0.1, n_samples=1000).parameters["epochs"]
        10
        """
        if scale == 1:
            return self

        def shorter(settings: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
            given = {**settings, **defaults}
            counts = [name for name in _LENGTHS if isinstance(given.get(name), int)]
            return {**settings, **{n: max(1, round(scale * given[n])) for n in counts if given[n]}}

        # A recipe without a length is trained for as long as the estimator's default.
        has_length = any(self.parameters.get(name) for name in _LENGTHS)
        defaults = {} if has_length else self._default_length(n_samples)
        return replace(
            self,
            parameters=shorter(self.parameters, defaults),
            finetuning=shorter(self.finetuning, {}),
        )

    def estimator(self, device: str, seed: int) -> Any:
        """Create the estimator of this recipe.

        Parameters
        ----------
        device : str
            Device for training.
        seed : int
            The estimator's `random_state`.

        Returns
        -------
        estimator : estimator object
            Not fitted, without a progress bar.
        """
        estimator = self._constructor()(**settings_on(device, self.parameters))
        common = {"device": device, "random_state": seed, "progress": False}
        known = estimator.get_params(deep=False)
        return estimator.set_params(**{n: value for n, value in common.items() if n in known})

    def _default_length(self, n_samples: int) -> dict[str, Any]:
        from aleator.methods.lfr import default_duration

        settings = {**self._constructor()().get_params(), **self.parameters}
        if "epochs" in settings and settings["epochs"] is None:
            duration = default_duration(n_samples, settings["batch_size"])
            settings["steps" if duration.by_steps else "epochs"] = duration.count
        return {name: settings[name] for name in _LENGTHS if name in settings}

    def _constructor(self) -> Any:
        import sklearn.ensemble

        import aleator

        name, _, constructor = METHODS[self.method].partition(".")
        found = getattr(aleator if name in aleator.__all__ else sklearn.ensemble, name)
        return getattr(found, constructor) if constructor else found


def settings_on(device: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Adapt parameters to a device: the half precision of recipes is for GPUs only.

    Parameters
    ----------
    device : str
        Device for training.
    parameters : dict
        Parameters of a recipe.

    Returns
    -------
    parameters : dict
        The parameters to use.

    Examples
    --------
    >>> settings_on("cpu", {"epochs": 3, "precision": "bf16"})
    {'epochs': 3, 'precision': '32'}
    """
    from aleator.training.devices import resolve_device

    if resolve_device(device).type == "cpu" and "precision" in parameters:
        return {**parameters, "precision": "32"}
    return parameters


def hash_of(content: dict[str, Any]) -> str:
    """Hash settings, independently of the order of keys.

    Parameters
    ----------
    content : dict
        A JSON value.

    Returns
    -------
    digest : str
        16 hexadecimal digits.

    Examples
    --------
    >>> hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})
    True
    """
    return json_digest(content)[:16]


def config_folder() -> Path:
    """Return the folder of the recipes: in the installed package, else in the repository."""
    return _INSTALLED if _INSTALLED.is_dir() else _IN_THE_REPOSITORY


def names() -> list[tuple[str, str]]:
    """List all recipes.

    Returns
    -------
    names : list of tuple
        Pairs of data set and method.

    Examples
    --------
    >>> ("income", "lfr") in names()
    True
    """
    paths = list(config_folder().glob("*/*.yaml"))
    return sorted(
        (name, path.stem)
        for name, info in DATASETS.items()
        for path in paths
        if path.parent.name == (info.recipes or name)
    )


def methods_for(dataset: str) -> list[str]:
    """List the methods that have a recipe for a data set.

    Parameters
    ----------
    dataset : str
        Name of the data set.

    Returns
    -------
    methods : list of str
        In the order of tables.

    Examples
    --------
    >>> methods_for("theorem")[-1]
    'lfr-default'
    """
    known = [method for name, method in names() if name == dataset]
    return [method for method in METHODS if method in known]


def read(dataset: str, method: str = "lfr") -> Recipe:
    """Read a recipe.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    method : str, default="lfr"
        A key of `METHODS`.

    Returns
    -------
    recipe : Recipe
        The recipe.

    Raises
    ------
    ValueError
        If there is no such recipe.

    Examples
    --------
    >>> read("income").parameters["n_projectors"]
    6
    """
    folder = DATASETS[dataset].recipes or dataset if dataset in DATASETS else ""
    path = config_folder() / folder / f"{method}.yaml"
    if not path.exists():
        known = sorted({name for name, _ in names()})
        if dataset not in known:
            raise ValueError(f"no recipe for data set {dataset!r}; known: {', '.join(known)}")
        raise ValueError(
            f"no recipe for method {method!r} on data set {dataset!r}; known methods: "
            f"{', '.join(methods_for(dataset))}"
        )
    return read_file(path, dataset)


def read_file(path: Path, dataset: str) -> Recipe:
    """Read the recipe of a file.

    Parameters
    ----------
    path : Path
        A YAML file.
    dataset : str
        Name of the data set that it is for.

    Returns
    -------
    recipe : Recipe
        The recipe.

    Raises
    ------
    DataFileError
        If the file is not a recipe.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            "recipes are YAML files; install PyYAML with pip install 'aleator[bench]'"
        ) from error
    # The loader that is written in C reads hundreds of recipes in a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise DataFileError(f"{path} is not a YAML file: {error}") from error
    if not isinstance(content, dict):
        raise DataFileError(f"{path} is not a recipe: it has no entries")
    names = {entry.name for entry in fields(Recipe)} - {"variant"}
    required = {"dataset", "method", "origin", "parameters", "probe"}
    for wrong in (*(content.keys() - names), *(required - content.keys())):
        problem = "an unknown" if wrong in content else "no"
        raise DataFileError(f"{path} is not a recipe: it has {problem} entry {wrong!r}")
    for name in ("parameters", "probe", "finetuning"):
        settings = content.get(name, {})
        if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
            raise DataFileError(f"{path} is not a recipe: {name} must be settings by name")
    if content["method"] not in METHODS:
        raise DataFileError(f"{path} is not a recipe: there is no method {content['method']!r}")
    return Recipe(**{**content, "dataset": dataset})
