"""The paper's tables, ablations and figures, and label curves: what each of them runs.

A study is a set of cells: recipes (or variants of them), seeds and protocols. Module `presentation`
makes its tables and figures from the result lines of those cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aleator.benchmark import recipes
from aleator.benchmark.cells import Cell
from aleator.benchmark.datasets import DATASETS, SMALL_SAMPLES, domains
from aleator.benchmark.protocols import (
    FINETUNED,
    PAPER,
    STANDARDIZED,
    TIMED,
    transfer_to,
    with_labels,
)
from aleator.benchmark.recipes import CLASSIFIERS, Recipe

Vary = Callable[[Recipe], list[Recipe]]


@dataclass(frozen=True)
class Study:
    """One benchmark of `aleator bench`.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Heading of its tables and figures.
    datasets : tuple of str
        Default data sets.
    protocols : tuple of str, default=(PAPER, STANDARDIZED)
        Evaluation protocols.
    methods : tuple of str, default=()
        Default methods; empty for all that have a recipe.
    vary : callable or None, default=None
        Makes the variants of a recipe.
    axis : str or None, default=None
        Name of what is varied.
    excluded : tuple of str, default=()
        Methods that are not run by default, although they have a recipe.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    protocols: tuple[str, ...] = (PAPER, STANDARDIZED)
    methods: tuple[str, ...] = ()
    vary: Vary | None = None
    axis: str | None = None
    excluded: tuple[str, ...] = ()

    def methods_on(self, dataset: str, wanted: Sequence[str] | None) -> list[str]:
        """List the methods to run on a data set.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        wanted : sequence of str or None
            Methods of the user; None uses the default.

        Returns
        -------
        methods : list of str
            Those that have a recipe and fit the study, in the order of tables.
        """
        known = recipes.methods_for(dataset)
        if not known:
            recipes.read(dataset)  # raises an error that lists the data sets with recipes
        default = self.methods or [m for m in known if m not in self.excluded]
        chosen = default if wanted is None else wanted
        # Only the study's own methods have the parameter that it varies, or epochs to be timed.
        restricted = self.vary is not None or TIMED in self.protocols
        return [m for m in known if m in chosen and (m in default or not restricted)]

    def cells(
        self,
        datasets: Iterable[str] | None = None,
        methods: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
        epochs_scale: float = 1.0,
        small: bool = False,
    ) -> list[Cell]:
        """List everything that has to be run.

        Parameters
        ----------
        datasets : iterable of str or None, default=None
            Data sets; None uses the study's.
        methods : sequence of str or None, default=None
            Methods; None uses the study's.
        seeds : sequence of int or None, default=None
            Seeds; None uses as many as the paper.
        epochs_scale : float, default=1.0
            Fraction of the epochs of each recipe.
        small : bool, default=False
            Use small synthetic data sets.

        Returns
        -------
        cells : list of Cell
            The cells.

        Examples
        --------
        >>> STUDIES["stab-dropout"].cells(["theorem"], seeds=[0])[0].recipe.variant
        '0.1'
        """
        cells = []
        for dataset in self.datasets if datasets is None else datasets:
            for method in self.methods_on(dataset, methods):
                recipe = recipes.read(dataset, method)
                protocols = self._protocols_of(recipe, small)
                for variant in self.vary(recipe) if self.vary else [recipe]:
                    cells += [
                        Cell(variant, seed, protocols, epochs_scale, small)
                        for seed in (default_seeds(dataset) if seeds is None else seeds)
                    ]
        return cells

    def _protocols_of(self, recipe: Recipe, small: bool) -> tuple[str, ...]:
        if self.name == LABELS:
            return tuple(with_labels(n) for n in (*label_counts(recipe.dataset, small), None))
        has_probe = recipe.method not in CLASSIFIERS
        if self.name == "transfer":
            others = [n for n in domains(recipe.dataset.rpartition("-")[0]) if n != recipe.dataset]
            variants = (False, True) if has_probe else (False,)
            return tuple(transfer_to(n, standardized=v) for v in variants for n in others)
        if not has_probe and TIMED not in self.protocols:
            return (PAPER,)
        return self.protocols


def default_seeds(dataset: str) -> list[int]:
    """List as many seeds as the paper uses: 5 for tabular data, 3 otherwise.

    Parameters
    ----------
    dataset : str
        Name of the data set.

    Returns
    -------
    seeds : list of int
        The seeds.

    Examples
    --------
    >>> default_seeds("income"), default_seeds("har")
    ([0, 1, 2, 3, 4], [0, 1, 2])
    """
    return list(range(5 if len(DATASETS[dataset].shape) == 1 else 3))


def label_counts(dataset: str, small: bool = False) -> list[int]:
    """List the numbers of labels below all of a label curve.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    small : bool, default=False
        Whether it is replaced by a small synthetic one.

    Returns
    -------
    counts : list of int
        Five per class, and more.

    Examples
    --------
    >>> label_counts("har"), label_counts("har", small=True)
    ([30, 200, 1000], [30])
    """
    info = DATASETS[dataset]
    counts = (5 * info.classes, *_MORE_LABELS.get(dataset, (200, 1000)))
    return [n for n in counts if n < (SMALL_SAMPLES if small else info.train)]


def _each(axis: str, values: Iterable[Any]) -> Vary:
    """Set one parameter to each of some values."""
    return lambda recipe: [recipe.varied(str(value), **{axis: value}) for value in values]


def _default_candidates(recipe: Recipe) -> int:
    from aleator.diversity import default_n_candidates  # here, because it imports torch

    return default_n_candidates(recipe.parameters["n_projectors"])


def _projectors(recipe: Recipe) -> list[Recipe]:
    """Vary K, with the same number of candidates per projector as the recipe."""
    kept, drawn = recipe.parameters["n_projectors"], recipe.parameters.get("n_candidates")
    ratio = (drawn or _default_candidates(recipe)) // kept
    return [recipe.varied(str(k), n_projectors=k, n_candidates=ratio * k) for k in (2, 4, 6, 8)]


def _predictor_epochs(recipe: Recipe) -> list[Recipe]:
    alternating = [
        recipe.varied(str(n), training="alternating", predictor_epochs=n) for n in range(1, 11)
    ]
    return [recipe.varied("joint", training="joint"), *alternating]


def _embedding_dim(recipe: Recipe) -> list[Recipe]:
    widths = (16, 32, 64, 128, 256, 512) if "mlp" in recipe.parameters["encoder"] else (
        256, 512, 1024, 2048, 4096)  # fmt: skip
    return [recipe.varied(str(width), embedding_dim=width) for width in widths]


def _selection_size(recipe: Recipe) -> list[Recipe]:
    """Vary the rows used by the selection, with enough candidates to select from."""
    candidates = _default_candidates(recipe)
    return [
        recipe.varied(str(rows), selection_size=rows, n_candidates=candidates)
        for rows in (64, 128, 256, 512)
    ]


def _diversity(recipe: Recipe) -> list[Recipe]:
    """Vary the initialization of projectors, with and without selection."""
    kept, drawn = recipe.parameters["n_projectors"], _default_candidates(recipe)
    plain = {"projector_init": "default", "weight_dropout": 0.0}
    diverse = {"projector_init": "beta", "weight_dropout": 0.4}
    return [
        recipe.varied(f"{name}, {selection}", **parameters, n_candidates=candidates)
        for name, parameters in (("plain", plain), ("beta + dropout", diverse))
        for selection, candidates in (("no selection", kept), ("selection", drawn))
    ]


LABELS = "labels"
# Numbers of labels after five per class, where 200 and 1000 are too few or too many.
_MORE_LABELS = {"kvasir-v1": (400,), "cifar10": (1000, 10_000)}
# Methods that the tables of the paper leave out.
_LABELS_ONLY = ("boosting", "random-default", "random-features", "lfr-default")

_FAULT = ("fault-a", "fault-b", "fault-c", "fault-d")
_TABLE1 = ("har", "epilepsy", "mimic3", "physionet2012", "income", "theorem", "hepmass", "kvasir",
           "kvasir-v1")  # fmt: skip
_TRAINED = ("autoencoder", "diet", "simsiam", "simclr", "scarf", "stab", "tstcc", "dacl", "lfr")
_KVASIR = ("kvasir-v1",)

STUDIES = {
    study.name: study
    for study in (
        Study(
            LABELS, "Accuracy against the number of labels",
            ("har", "epilepsy", *_KVASIR, "cifar10", "theorem", "income"), (),
        ),
        Study("table1", "All methods on all data sets", _TABLE1, excluded=_LABELS_ONLY),
        Study(
            "finetune", "Fine-tuning of the whole encoder with labels", (*_TABLE1, "cifar10"),
            (FINETUNED,), ("supervised", "random", "byol", *_TRAINED),
        ),
        Study(
            "transfer", "Transfer from one domain to another", _FAULT, (),
            ("supervised", "random", "tstcc", "lfr"),
        ),
        Study(
            "cifar10", "All methods on CIFAR-10", ("cifar10",), excluded=("logreg", *_LABELS_ONLY)
        ),
        Study(
            "projectors", "Number of random projectors", _KVASIR, methods=("lfr",),
            vary=_projectors, axis="random projectors K",
        ),
        Study(
            "batch-size", "Batch size", _KVASIR, methods=("lfr",),
            vary=_each("batch_size", (64, 128, 256, 512)), axis="batch size",
        ),
        Study(
            "predictor-epochs", "Predictor epochs per encoder epoch, or joint training",
            _KVASIR, methods=("lfr",), vary=_predictor_epochs, axis="predictor epochs",
        ),
        Study(
            "embedding-dim", "Embedding dimension", (*_KVASIR, "theorem"), methods=_TRAINED,
            vary=_embedding_dim, axis="embedding dimension",
        ),
        Study(
            "selection-size", "Number of samples used to select projectors", _KVASIR,
            methods=("lfr",), vary=_selection_size, axis="samples",
        ),
        Study(
            "loss", "Loss between prediction and projection", _KVASIR, methods=("lfr",),
            vary=_each("loss", ("bbt", "infonce", "cosine", "mse")), axis="loss",
        ),
        Study(
            "diversity", "Diversity of projectors: initialization and selection", _KVASIR,
            methods=("lfr",), vary=_diversity, axis="projectors",
        ),
        Study(
            "stab-dropout", "Drop rate of STab", ("income", "theorem"), methods=("stab",),
            vary=_each("drop_rate", (0.1, 0.2, 0.4, 0.6, 0.8)), axis="drop rate",
        ),
        Study(
            "efficiency", "Training time in seconds",
            ("har", "epilepsy", "income", "theorem", *_KVASIR), (TIMED,), ("supervised", *_TRAINED),
        ),
    )
}  # fmt: skip
