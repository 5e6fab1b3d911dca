"""Nearest neighbors under pairs of random projectors: `aleator bench neighbors`.

Figure of the paper's appendix. Many projectors are drawn as in the data set's LFR recipe. Of these,
the most similar and the most different pair are kept, according to the similarity that LFR uses to
select projectors. The figure shows the training images nearest to four queries under each projector
of the two pairs. Nothing is trained.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from aleator.benchmark import plots, recipes
from aleator.benchmark.cells import Cell, identity_fields, key_of, loaded
from aleator.benchmark.provenance import stamp
from aleator.benchmark.recipes import Recipe
from aleator.benchmark.result_lines import SHORT_NAMES
from aleator.benchmark.runner import append, read_lines
from aleator.diversity import projector_kernel
from aleator.inputs import ArraySource
from aleator.modalities import get_modality
from aleator.modalities.choices import build_projector
from aleator.projectors import Candidates
from aleator.training.devices import resolve_device
from aleator.training.embedding import embed

NEIGHBORS = "neighbours"  # the protocol, spelled as result files store it
_N_CANDIDATES, _KERNEL_SAMPLES, _N_NEIGHBORS = 100, 256, 5
_N_QUERIES, _N_PANELS = 50, 4


@dataclass(frozen=True)
class ProjectorPair:
    """Two projectors and the nearest neighbors of every query under each of them.

    Parameters
    ----------
    similarity : float
        Similarity of the two projectors.
    nearest : ndarray of shape (2, n_queries, n_neighbors)
        Row indices of the neighbors.
    """

    similarity: float
    nearest: np.ndarray

    @property
    def shared(self) -> float:
        """Fraction of the neighbors that both projectors have in common."""
        first, second = self.nearest
        common = [len(np.intersect1d(a, b)) for a, b in zip(first, second, strict=True)]
        return float(np.mean(common)) / first.shape[1]


@dataclass(frozen=True)
class NeighborComparison:
    """The most diverse and the most similar pair of projectors, for the same queries.

    Parameters
    ----------
    queries : ndarray of shape (n_queries,)
        Row indices of the queries.
    diverse, similar : ProjectorPair
        The two pairs.
    """

    queries: np.ndarray
    diverse: ProjectorPair
    similar: ProjectorPair

    @property
    def metrics(self) -> dict[str, float]:
        """Similarity and fraction of shared neighbors of both pairs."""
        return {
            "similarity_diverse": round(self.diverse.similarity, 5),
            "shared_diverse": round(self.diverse.shared, 5),
            "similarity_similar": round(self.similar.similarity, 5),
            "shared_similar": round(self.similar.shared, 5),
        }


def compare_projectors(
    recipe: Recipe, images: np.ndarray, seed: int, device: str = "auto"
) -> NeighborComparison:
    """Draw projectors, find the two pairs and the nearest neighbors of random queries.

    Parameters
    ----------
    recipe : Recipe
        LFR recipe that determines how projectors are drawn.
    images : ndarray of shape (n_samples, channels, height, width)
        The images to search.
    seed : int
        Seed of the projectors and queries.
    device : str, default="auto"
        Device for the projectors.

    Returns
    -------
    comparison : NeighborComparison
        The two pairs.

    Examples
    --------
    >>> images = np.random.default_rng(0).random((60, 3, 16, 16), dtype=np.float32)
    >>> comparison = compare_projectors(recipes.read("cifar10"), images, seed=0, device="cpu")
    >>> comparison.diverse.similarity < comparison.similar.similarity
    True
    """
    settings = recipe.parameters
    shape, width = images.shape[1:], settings["embedding_dim"]
    modality = get_modality("image")
    candidates = Candidates.drawn(
        lambda position: build_projector(
            modality, settings["projector"], shape, width, encoder=settings["encoder"]
        ),
        seed,
        _N_CANDIDATES,
        init=settings.get("projector_init", "default"),
        weight_dropout=settings.get("weight_dropout", 0.0),
    )
    random = np.random.default_rng(seed)
    order = random.permutation(len(images))
    resolved = resolve_device(device)
    samples = ArraySource(images[order[:_KERNEL_SAMPLES]])
    outputs = [embed(candidates[k], samples, resolved, "32") for k in range(_N_CANDIDATES)]
    kernel = projector_kernel(torch.from_numpy(np.stack(outputs))).numpy()
    queries = order[-min(_N_QUERIES, len(order)) :]
    off_diagonal = ~np.eye(len(kernel), dtype=bool)

    def pair(similarity: float) -> ProjectorPair:
        indices = np.argwhere((kernel == similarity) & off_diagonal)[0]
        nearest = [
            _nearest(embed(candidates[index], ArraySource(images), resolved, "32"), queries)
            for index in indices
        ]  # fmt: skip
        return ProjectorPair(float(similarity), np.stack(nearest))

    similarities = kernel[off_diagonal]
    return NeighborComparison(queries, pair(similarities.min()), pair(similarities.max()))


def _nearest(embedding: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return the rows with the largest cosine similarity to each query, without the query."""
    rows = embedding / np.linalg.norm(embedding, axis=1, keepdims=True).clip(1e-12)
    cosine = rows[queries] @ rows.T
    cosine[np.arange(len(queries)), queries] = -np.inf
    return np.argsort(-cosine, axis=1, kind="stable")[:, :_N_NEIGHBORS]


def run(
    datasets: Sequence[str], out: Path, lines_file: Path, *,
    data: str | None, small: bool, seeds: Sequence[int], device: str,
) -> str:  # fmt: skip
    """Compare projectors on each data set and seed; write result lines, figures and the table.

    Parameters
    ----------
    datasets : sequence of str
        Image data sets.
    out : Path
        Folder for tables and figures.
    lines_file : Path
        The results file. What is already in it is not run again.
    data : str or None
        Folder of the data sets; None uses the environment variable ``ALEATOR_DATA``.
    small : bool
        Use small synthetic data sets.
    seeds : sequence of int
        Seeds.
    device : str
        Device for the projectors.

    Returns
    -------
    table : str
        The table in Markdown.
    """
    lines = read_lines(lines_file)
    figures = out / "figures"
    for dataset, seed in product(datasets, seeds):
        recipe = recipes.read(dataset)
        if (modality := recipe.parameters["modality"]) != "image":
            raise ValueError(
                f"the benchmark 'neighbors' needs images; the modality of {dataset} is {modality!r}"
            )
        cell = Cell(recipe, seed, (NEIGHBORS,), small=small)
        if any(key_of(line) in cell.keys for line in lines):
            continue
        split, checksum = loaded(dataset, data, small)
        start = time.perf_counter()
        comparison = compare_projectors(recipe, split.X_train, seed, device)
        seconds = round(time.perf_counter() - start, 3)
        line = {
            **identity_fields(cell, NEIGHBORS), **stamp(device), "dataset_sha256": checksum,
            "metrics": comparison.metrics, "seconds": seconds,
        }  # fmt: skip
        append(lines_file, [line])
        lines.append(line)
        figures.mkdir(parents=True, exist_ok=True)
        stem = figures / f"neighbors-{dataset}-{seed}"
        _draw_figure(comparison, split.X_train, dataset, small, stem)
    return write_table(lines, out)


def write_table(lines: Sequence[dict[str, Any]], out: Path) -> str:
    """Write the table of all comparisons.

    Parameters
    ----------
    lines : sequence of dict
        Result lines; those of other protocols are ignored.
    out : Path
        Output folder; the table becomes ``tables/neighbors.md``.

    Returns
    -------
    table : str
        The table in Markdown.
    """
    rows = [
        "| | similarity, diverse pair | shared neighbors | similarity, similar pair "
        "| shared neighbors |",
        "| --- | --- | --- | --- | --- |",
    ]
    for line in lines:
        if line.get("protocol") == NEIGHBORS:
            name = f"{line['dataset']}, seed {line['seed']}"
            note = ", small synthetic data" if line["small"] else ""
            values = " | ".join(f"{value:.3f}" for value in line["metrics"].values())
            rows.append(f"| {name}{note} | {values} |")
    text = "\n".join(rows)
    (out / "tables").mkdir(parents=True, exist_ok=True)
    (out / "tables" / "neighbors.md").write_text(
        f"# Nearest neighbors under pairs of random projectors\n\n{text}\n", encoding="utf-8"
    )
    return text


def _draw_figure(
    comparison: NeighborComparison, images: np.ndarray, dataset: str, small: bool, stem: Path
) -> None:
    """Draw a panel per query: the most diverse pair of projectors above the most similar one."""
    panels = [
        {
            f"{name} {member + 1}": [images[query], *images[pair.nearest[member, number]]]
            for name, pair in (("diverse", comparison.diverse), ("similar", comparison.similar))
            for member in (0, 1)
        }
        for number, query in enumerate(comparison.queries[:_N_PANELS])
    ]
    title = f"Queries (left) and their nearest images, {SHORT_NAMES.get(dataset, dataset)}"
    figure = plots.image_panels(panels, title=title, note="small synthetic data" if small else "")
    for suffix in ("svg", "png"):
        plots.save(figure, stem.with_suffix(f".{suffix}"))
