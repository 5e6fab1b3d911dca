"""A study: a set of cells that belong to one table or figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from aleator.benchmark import recipes
from aleator.benchmark.cells import Cell
from aleator.benchmark.datasets import DATASETS, SMALL_SAMPLES, domains
from aleator.benchmark.method_names import CLASSIFIERS
from aleator.benchmark.protocols import PAPER, STANDARDIZED, TIMED, Transfer, with_labels
from aleator.benchmark.recipes import Recipe

# The study whose protocols are the other domains of a data set.
TRANSFER = "transfer"

Vary = Callable[[Recipe], list[Recipe]]
# Numbers of labels below all of them: (dataset, small) -> counts
LabelCounts = Callable[[str, bool], list[int]]

# Numbers of labels after five per class, where 200 and 1000 are too few or too many.
_MORE_LABELS = {"kvasir-v1": (400,), "cifar10": (1000, 10_000)}
_FEW_LABELS = {"kvasir-v1": 400, "cifar10": 1000, "theorem": 1000}


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
    labels : callable or None, default=None
        Numbers of labels below all of them, for a data set; the protocols are then these numbers
        and all labels.
    seeds : tuple of int, default=()
        Default seeds; empty for as many as the paper uses.
    held_out : bool, default=False
        Evaluate on a held-out part of the training set instead of the test set.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    protocols: tuple[str, ...] = (PAPER, STANDARDIZED)
    methods: tuple[str, ...] = ()
    vary: Vary | None = None
    axis: str | None = None
    excluded: tuple[str, ...] = ()
    labels: LabelCounts | None = None
    seeds: tuple[int, ...] = ()
    held_out: bool = False

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
            Seeds; None uses the study's.
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
        >>> study = Study("one", "LFR on one data set", ("theorem",), methods=("lfr",))
        >>> [cell.seed for cell in study.cells()]
        [0, 1, 2, 3, 4]
        """
        cells = []
        for dataset in self.datasets if datasets is None else datasets:
            for method in self.methods_on(dataset, methods):
                recipe = recipes.read(dataset, method)
                protocols = self._protocols_of(recipe, small)
                chosen = (self.seeds or default_seeds(dataset)) if seeds is None else seeds
                cells += [
                    Cell(variant, seed, protocols, epochs_scale, small, self.held_out)
                    for variant in (self.vary(recipe) if self.vary else [recipe])
                    for seed in chosen
                ]
        return cells

    def _protocols_of(self, recipe: Recipe, small: bool) -> tuple[str, ...]:
        if self.labels is not None:
            return tuple(with_labels(n) for n in (*self.labels(recipe.dataset, small), None))
        has_probe = recipe.method not in CLASSIFIERS
        if self.name == TRANSFER:
            others = [n for n in domains(recipe.dataset.rpartition("-")[0]) if n != recipe.dataset]
            variants = product((False, True), repeat=2) if has_probe else [(False, False)]
            return tuple(Transfer(n, *v).protocol for v in variants for n in others)
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


def few_labels(dataset: str, small: bool = False) -> list[int]:
    """List the one number of labels that stands for few in summaries and in studies of LFR.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    small : bool, default=False
        Whether it is replaced by a small synthetic one.

    Returns
    -------
    counts : list of int
        A single number.

    Examples
    --------
    >>> few_labels("har"), few_labels("theorem"), few_labels("har", small=True)
    ([200], [1000], [30])
    """
    return label_counts(dataset, small=True)[:1] if small else [_FEW_LABELS.get(dataset, 200)]
