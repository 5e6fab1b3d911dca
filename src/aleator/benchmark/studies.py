"""All studies: the paper's tables, ablations and figures, label curves, and research on LFR.

A study is a set of cells: recipes (or variants of them), seeds and protocols. Module `presentation`
makes its tables and figures from the result lines of those cells.
"""

from __future__ import annotations

from aleator.benchmark.datasets.catalog import DOMAINS
from aleator.benchmark.fidelity_studies import FIDELITY_STUDIES, each
from aleator.benchmark.finetuning_protocols import FINETUNED
from aleator.benchmark.protocols import TIMED
from aleator.benchmark.recipes import Recipe
from aleator.benchmark.research_studies import RESEARCH_STUDIES
from aleator.benchmark.study import TRANSFER, Study, label_counts


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
    follows = ["projector_dim"] if "projector_dim" in recipe.parameters else []
    return [
        recipe.varied(str(width), **dict.fromkeys(["embedding_dim", *follows], width))
        for width in widths
    ]


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
# Learns from the labels of tables; only label curves compare it with the others.
_LABELS_ONLY = ("boosting",)

_DOMAINS = tuple(domain for domains in DOMAINS.values() for domain in domains)
_TABLE1 = ("har", "epilepsy", "mimic3", "physionet2012", "income", "theorem", "hepmass", "kvasir",
           "kvasir-v1")  # fmt: skip
_TRAINED = ("autoencoder", "diet", "simsiam", "simclr", "scarf", "stab", "tstcc", "dacl", "lfr")
_KVASIR = ("kvasir-v1",)
_SMALL_SETS = ("gunpoint", "japanese-vowels")

STUDIES = {
    study.name: study
    for study in (
        Study(
            LABELS, "Accuracy against the number of labels",
            ("har", "epilepsy", *_KVASIR, "cifar10", "theorem", "income", *_SMALL_SETS), (),
            labels=label_counts,
        ),
        Study("table1", "All methods on all data sets", _TABLE1, excluded=_LABELS_ONLY),
        Study(
            "finetune", "Fine-tuning of the whole encoder with labels", (*_TABLE1, "cifar10"),
            (FINETUNED,), ("supervised", "random", "byol", *_TRAINED),
        ),
        Study(TRANSFER, "Transfer from one domain to another", _DOMAINS, ()),
        Study(
            "cifar10", "All methods on CIFAR-10", ("cifar10",), excluded=("logreg", *_LABELS_ONLY)
        ),
        Study(
            "projectors", "Number of random projectors", _KVASIR, methods=("lfr",),
            vary=_projectors, axis="random projectors K",
        ),
        Study(
            "batch-size", "Batch size", _KVASIR, methods=("lfr",),
            vary=each("batch_size", (64, 128, 256, 512)), axis="batch size",
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
            vary=each("loss", ("bbt", "infonce", "cosine", "mse")), axis="loss",
        ),
        Study(
            "diversity", "Diversity of projectors: initialization and selection", _KVASIR,
            methods=("lfr",), vary=_diversity, axis="projectors",
        ),
        Study(
            "stab-dropout", "Drop rate of STab", ("income", "theorem"), methods=("stab",),
            vary=each("drop_rate", (0.1, 0.2, 0.4, 0.6, 0.8)), axis="drop rate",
        ),
        Study(
            "efficiency", "Training time in seconds",
            ("har", "epilepsy", "income", "theorem", *_KVASIR), (TIMED,), ("supervised", *_TRAINED),
        ),
        *FIDELITY_STUDIES,
        *RESEARCH_STUDIES,
    )
}  # fmt: skip
