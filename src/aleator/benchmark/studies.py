"""The paper's tables, ablations and figures: what each runs, and what it shows.

A study is a set of cells: recipes (perhaps varied), seeds and protocols. Its presentation is made
from the lines of those cells, in `presentation.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aleator.benchmark import recipes
from aleator.benchmark.cells import Cell
from aleator.benchmark.datasets import SOURCES, domains
from aleator.benchmark.protocols import FINETUNED, PAPER, STANDARDISED, TIMED, transfer_to
from aleator.benchmark.recipes import CLASSIFIERS, Recipe

Vary = Callable[[Recipe], list[Recipe]]


@dataclass(frozen=True)
class Study:
    """One benchmark of `aleator bench`.

    `datasets` and `methods` are what runs unless the user asks for others; no methods: all that
    have a recipe. `vary` makes the variants of a recipe. `axis` names what is varied.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    protocols: tuple[str, ...] = (PAPER, STANDARDISED)
    methods: tuple[str, ...] = ()
    vary: Vary | None = None
    axis: str | None = None

    def methods_on(self, dataset: str, wanted: Sequence[str] | None) -> list[str]:
        """The methods to run on a data set, in the order of tables."""
        known = recipes.methods_for(dataset)
        if not known:
            recipes.read(dataset)  # says which data sets have recipes
        usual = self.methods or known
        chosen = usual if wanted is None else wanted
        # What a study varies, and epochs to be timed, only its own methods have.
        bound = self.vary is not None or TIMED in self.protocols
        return [m for m in known if m in chosen and (m in usual or not bound)]

    def cells(
        self,
        datasets: Iterable[str] | None = None,
        methods: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
        epochs_scale: float = 1.0,
        small: bool = False,
    ) -> list[Cell]:
        """All that has to be run.

        >>> STUDIES["stab-dropout"].cells(["theorem"], seeds=[0])[0].recipe.variant
        '0.1'
        """
        cells = []
        for dataset in self.datasets if datasets is None else datasets:
            for method in self.methods_on(dataset, methods):
                recipe = recipes.read(dataset, method)
                protocols = self._protocols_of(recipe)
                for variant in self.vary(recipe) if self.vary else [recipe]:
                    cells += [
                        Cell(variant, seed, protocols, epochs_scale, small)
                        for seed in (default_seeds(dataset) if seeds is None else seeds)
                    ]
        return cells

    def _protocols_of(self, recipe: Recipe) -> tuple[str, ...]:
        probed = recipe.method not in CLASSIFIERS
        if self.name == "transfer":
            others = [n for n in domains(recipe.dataset.rpartition("-")[0]) if n != recipe.dataset]
            variants = (False, True) if probed else (False,)
            return tuple(transfer_to(n, standardised=v) for v in variants for n in others)
        if not probed and TIMED not in self.protocols:
            return (PAPER,)
        return self.protocols


def default_seeds(dataset: str) -> list[int]:
    """As many runs as the paper makes: 5 on tables, 3 on others.

    >>> default_seeds("income"), default_seeds("har")
    ([0, 1, 2, 3, 4], [0, 1, 2])
    """
    return list(range(5 if len(SOURCES[dataset].shape) == 1 else 3))


def _each(axis: str, values: Iterable[Any]) -> Vary:
    """One parameter, set to each of some values."""
    return lambda recipe: [recipe.varied(str(value), **{axis: value}) for value in values]


def _projectors(recipe: Recipe) -> list[Recipe]:
    """K projectors of as many candidates for each as the recipe draws."""
    known = recipe.parameters
    ratio = (known.get("n_candidates") or 10 * known["n_projectors"]) // known["n_projectors"]
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
    """Ten candidates for each projector: without candidates to spare there is no selection."""
    candidates = 10 * recipe.parameters["n_projectors"]
    return [
        recipe.varied(str(rows), selection_size=rows, n_candidates=candidates)
        for rows in (64, 128, 256, 512)
    ]


def _diversity(recipe: Recipe) -> list[Recipe]:
    """Diverse or plain initialisation, with and without selection."""
    kept = recipe.parameters["n_projectors"]
    plain = {"projector_init": "default", "weight_dropout": 0.0}
    diverse = {"projector_init": "beta", "weight_dropout": 0.4}
    return [
        recipe.varied(f"{words}, {how}", **start, n_candidates=candidates)
        for words, start in (("plain", plain), ("beta + dropout", diverse))
        for how, candidates in (("no selection", kept), ("selection", 10 * kept))
    ]


_FAULT = ("fault-a", "fault-b", "fault-c", "fault-d")
_TABLE1 = ("har", "epilepsy", "mimic3", "physionet2012", "income", "theorem", "hepmass", "kvasir",
           "kvasir-v1")  # fmt: skip
_TRAINED = ("autoencoder", "diet", "simsiam", "simclr", "scarf", "stab", "tstcc", "dacl", "lfr")
_KVASIR = ("kvasir-v1",)

STUDIES = {
    study.name: study
    for study in (
        Study("table1", "Every method on every data set", _TABLE1),
        Study(
            "finetune", "The whole encoder trained further, with labels", (*_TABLE1, "cifar10"),
            (FINETUNED,), ("supervised", "random", *_TRAINED),
        ),
        Study(
            "transfer", "Trained on one domain, judged on another", _FAULT, (),
            ("supervised", "random", "tstcc", "lfr"),
        ),
        Study("cifar10", "Natural images", ("cifar10",)),
        Study(
            "projectors", "How many random projectors", _KVASIR, methods=("lfr",),
            vary=_projectors, axis="random projectors K",
        ),
        Study(
            "batch-size", "Rows in a batch", _KVASIR, methods=("lfr",),
            vary=_each("batch_size", (64, 128, 256, 512)), axis="batch size",
        ),
        Study(
            "predictor-epochs", "Predictor passes between encoder passes, or joint training",
            _KVASIR, methods=("lfr",), vary=_predictor_epochs, axis="predictor epochs",
        ),
        Study(
            "embedding-dim", "Width of the embedding", (*_KVASIR, "theorem"), methods=_TRAINED,
            vary=_embedding_dim, axis="embedding dimension",
        ),
        Study(
            "selection-size", "Rows that the selection of projectors looks at", _KVASIR,
            methods=("lfr",), vary=_selection_size, axis="rows looked at",
        ),
        Study(
            "loss", "Divergence between prediction and projection", _KVASIR, methods=("lfr",),
            vary=_each("loss", ("bbt", "infonce", "cosine", "mse")), axis="loss",
        ),
        Study(
            "diversity", "Diverse projectors: initialisation and selection", _KVASIR,
            methods=("lfr",), vary=_diversity, axis="projectors",
        ),
        Study(
            "stab-dropout", "STab's drop rate", ("income", "theorem"), methods=("stab",),
            vary=_each("drop_rate", (0.1, 0.2, 0.4, 0.6, 0.8)), axis="drop rate",
        ),
        Study(
            "efficiency", "Seconds of training", ("har", "epilepsy", "income", "theorem", *_KVASIR),
            (TIMED,), ("supervised", *_TRAINED),
        ),
    )
}  # fmt: skip
