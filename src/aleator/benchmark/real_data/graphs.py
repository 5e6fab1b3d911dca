"""MUTAG and PROTEINS, as published with graph isomorphism networks.

The file begins with the number of graphs. A graph is a line with its number of nodes and its label,
and a line per node: its tag, its degree, and its neighbors. No split is published. As usual for
these data (Xu et al. 2019), ten folds are the test part in turn.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from aleator.benchmark.real_data.parts import RealParts, fold_parts
from aleator.exceptions import DamagedFileError
from aleator.inputs.graphs.graph import Graph
from aleator.inputs.graphs.source import Graphs


def load_mutag(folder: Path, seed: int) -> list[RealParts]:
    """Load MUTAG: 188 molecules, of which 125 are mutagenic.

    Parameters
    ----------
    folder : Path
        Folder of the data, with ``graphs/MUTAG.txt.gz``.
    seed : int
        Seed of the folds.

    Returns
    -------
    list of RealParts
    """
    return _load(Path(folder) / "graphs" / "MUTAG.txt.gz", seed)


def load_proteins(folder: Path, seed: int) -> list[RealParts]:
    """Load PROTEINS: 1113 proteins, of which 450 are not enzymes.

    Parameters
    ----------
    folder : Path
        Folder of the data, with ``graphs/PROTEINS.txt.gz``.
    seed : int
        Seed of the folds.

    Returns
    -------
    list of RealParts
    """
    return _load(Path(folder) / "graphs" / "PROTEINS.txt.gz", seed)


def read_graphs(path: Path) -> Graphs:
    """Read a file of graphs.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Graphs
        With labels; the tag of a node is its attribute "tag".
    """
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            lines = iter(file.read().splitlines())
        graphs, labels = [], []
        for _ in range(int(next(lines))):
            n_nodes, label = map(int, next(lines).split())
            tags, source, target = [], [], []
            for node in range(n_nodes):
                tag, degree, *neighbors = map(int, next(lines).split())
                tags.append(tag)
                source += [node] * degree
                target += neighbors
            ends = np.array([source, target], np.int64).reshape(2, -1)
            if ends.size and not 0 <= ends.min() <= ends.max() < n_nodes:
                raise ValueError("it has neighbors that are no nodes")
            tag_of_nodes = {"tag": np.array(tags, np.int64)}
            graphs.append(Graph(n_nodes, ends[0], ends[1], tag_of_nodes))
            labels.append(label)
    except (OSError, EOFError, ValueError, StopIteration) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DamagedFileError(f"{path} cannot be read: {error}") from error
    return Graphs(graphs, np.array(labels))


def _load(path: Path, seed: int) -> list[RealParts]:
    graphs = read_graphs(path)
    return fold_parts(graphs, np.asarray(graphs.labels), seed)
