"""What do random projectors look at?  The appendix's picture: `aleator bench neighbours`.

Many projectors are drawn as the data set's LFR recipe draws them; the pair that is most alike and
the pair that is most different under LFR's own similarity are kept, and each shows the training
images nearest to a query. Nothing is trained.
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
from aleator.benchmark.cells import Cell, key_of, loaded, named
from aleator.benchmark.presentation import SHORT
from aleator.benchmark.provenance import stamp
from aleator.benchmark.recipes import Recipe
from aleator.benchmark.runner import append, read_lines
from aleator.diversity import projector_kernel
from aleator.networks.registry import build_projector
from aleator.projectors import draw
from aleator.training.devices import resolve_device, seeded
from aleator.training.embedding import embed

NEIGHBOURS = "neighbours"
_CANDIDATES, _LOOKED_AT, _NEAREST = 100, 256, 5
_QUERIES, _SHOWN = 50, 2


@dataclass(frozen=True)
class Pair:
    """Two projectors: how similar, and which rows each finds nearest to every query."""

    similarity: float
    nearest: np.ndarray  # 2 × queries × neighbours

    @property
    def shared(self) -> float:
        """Share of the neighbours that both find."""
        first, second = self.nearest
        common = [len(np.intersect1d(a, b)) for a, b in zip(first, second, strict=True)]
        return float(np.mean(common)) / first.shape[1]


@dataclass(frozen=True)
class Look:
    """The most diverse and the most similar pair, for the same queries."""

    queries: np.ndarray
    diverse: Pair
    similar: Pair

    @property
    def metrics(self) -> dict[str, float]:
        """How similar each pair is, and the share of neighbours that both of it find."""
        return {
            "similarity_diverse": round(self.diverse.similarity, 5),
            "shared_diverse": round(self.diverse.shared, 5),
            "similarity_similar": round(self.similar.similarity, 5),
            "shared_similar": round(self.similar.shared, 5),
        }


def look(recipe: Recipe, images: np.ndarray, seed: int, device: str = "auto") -> Look:
    """Draw projectors, find the two pairs and the nearest neighbours of random queries.

    >>> images = np.random.default_rng(0).random((60, 3, 16, 16), dtype=np.float32)
    >>> found = look(recipes.read("cifar10"), images, seed=0, device="cpu")
    >>> found.diverse.similarity < found.similar.similarity
    True
    """
    settings = recipe.parameters
    shape, width = images.shape[1:], settings["embedding_dim"]
    with seeded(seed, torch.device("cpu")):
        candidates = draw(
            lambda: build_projector(
                settings["projector"], "image", shape, width, settings["encoder"]
            ),
            _CANDIDATES,
            settings.get("projector_init", "default"),
            settings.get("weight_dropout", 0.0),
        )
    random = np.random.default_rng(seed)
    order = random.permutation(len(images))
    place = resolve_device(device)
    outputs = [embed(one, images[order[:_LOOKED_AT]], place, "32") for one in candidates]
    kernel = projector_kernel(torch.from_numpy(np.stack(outputs))).numpy()
    queries = order[-min(_QUERIES, len(order)) :]
    apart = ~np.eye(len(kernel), dtype=bool)

    def pair(best: float) -> Pair:
        at = np.argwhere((kernel == best) & apart)[0]
        found = [_nearest(embed(candidates[k], images, place, "32"), queries) for k in at]
        return Pair(float(best), np.stack(found))

    return Look(queries, pair(kernel[apart].min()), pair(kernel[apart].max()))


def _nearest(embedding: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The rows of the largest cosine with each query, itself left out."""
    rows = embedding / np.linalg.norm(embedding, axis=1, keepdims=True).clip(1e-12)
    cosine = rows[queries] @ rows.T
    cosine[np.arange(len(queries)), queries] = -np.inf
    return np.argsort(-cosine, axis=1, kind="stable")[:, :_NEAREST]


def run(
    datasets: Sequence[str], out: Path, lines_file: Path, *,
    data: str | None, small: bool, seeds: Sequence[int], device: str,
) -> str:  # fmt: skip
    """Look at each data set once a seed, write lines and pictures; returns the table."""
    lines = read_lines(lines_file)
    figures = out / "figures"
    for dataset, seed in product(datasets, seeds):
        recipe = recipes.read(dataset)
        if recipe.parameters["modality"] != "image":
            raise ValueError(f"neighbours are shown as images; {dataset} has none")
        cell = Cell(recipe, seed, (NEIGHBOURS,), small=small)
        if any(key_of(line) in cell.keys for line in lines):
            continue
        split, checksum = loaded(dataset, data, small)
        began = time.perf_counter()
        found = look(recipe, split.X_train, seed, device)
        seconds = round(time.perf_counter() - began, 3)
        line = {
            **named(cell, NEIGHBOURS), **stamp(device), "dataset_sha256": checksum,
            "metrics": found.metrics, "seconds": seconds,
        }  # fmt: skip
        append(lines_file, [line])
        lines.append(line)
        figures.mkdir(parents=True, exist_ok=True)
        _draw(found, split.X_train, dataset, small, figures / f"neighbours-{dataset}-{seed}")
    return table(lines, out)


def table(lines: Sequence[dict[str, Any]], out: Path) -> str:
    """Write and return the table of all looks among the lines."""
    rows = ["| | diverse pair: similarity | both find | similar pair: similarity | both find |",
            "| --- | --- | --- | --- | --- |"]  # fmt: skip
    for line in lines:
        if line.get("protocol") == NEIGHBOURS:
            name = f"{line['dataset']}, seed {line['seed']}"
            note = ", small generated data" if line["small"] else ""
            values = " | ".join(f"{value:.3f}" for value in line["metrics"].values())
            rows.append(f"| {name}{note} | {values} |")
    text = "\n".join(rows)
    (out / "tables").mkdir(parents=True, exist_ok=True)
    (out / "tables" / "neighbours.md").write_text(
        f"# Nearest neighbours under pairs of random projectors\n\n{text}\n", encoding="utf-8"
    )
    return text


def _draw(found: Look, images: np.ndarray, dataset: str, small: bool, stem: Path) -> None:
    note = "small generated data" if small else ""
    for at, query in enumerate(found.queries[:_SHOWN]):
        rows = {
            f"{name} {one + 1}": [images[query], *images[pair.nearest[one, at]]]
            for name, pair in (("diverse", found.diverse), ("similar", found.similar))
            for one in (0, 1)
        }
        title = f"A query (left) and its nearest images, {SHORT.get(dataset, dataset)}"
        figure = plots.pictures(rows, title=title, note=note)
        for kind in ("svg", "png"):
            plots.save(figure, stem.with_name(f"{stem.name}-{at + 1}.{kind}"))
