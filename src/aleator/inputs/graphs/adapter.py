"""The input adapter of graphs: features of nodes and arcs, packed into rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from aleator.inputs.adapter_base import Adapter, ColumnRecord, check_preprocessing
from aleator.inputs.graphs.attributes import Attribute, AttributeLearner, learn_attributes
from aleator.inputs.graphs.graph import Graph
from aleator.inputs.graphs.source import Graphs, as_graphs
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.reading import RawData
from aleator.inputs.tables.adapted import AdaptedTable
from aleator.inputs.tables.values import Place
from aleator.networks.packed_graphs import pack, packed_width

# A model that was saved has no wider rows, nor more features.
_WIDEST, _MOST_FEATURES = 1 << 31, 1 << 20
# Nodes are numbered in single precision.
_MOST_NODES = 1 << 24


class GraphAdapter(Adapter):
    """Converts graphs of any size to rows of numbers, from which networks make graphs again.

    A node has the logarithm of its degree as a feature, and those of its attributes. An arc has
    those of its attributes and, if any graph of the training data is directed, its direction.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the converted samples.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.

    Attributes
    ----------
    shape : tuple of int
        Length of the row that the largest graph of the training data takes; larger graphs take
        longer ones.
    degree : Attribute
        How the degree becomes a feature.
    nodes, arcs : list of Attribute
        How attributes become features.
    directed : bool
        Whether arcs have their direction as a feature.

    Examples
    --------
    >>> import networkx
    >>> layout = ArrayLayout("graph", "graphs", ("numbers",), "number", given_as="graph")
    >>> graphs = Graphs([networkx.path_graph(3), networkx.star_graph(4)])
    >>> adapter = GraphAdapter(layout).fit(RawData(graphs))
    >>> adapter
    graphs: 1 feature per node (the degree)
    >>> adapter.transform([networkx.path_graph(2)]).shape
    (1, 10)
    """

    form: ClassVar[str] = "graph"

    def __init__(self, layout: ArrayLayout, estimator_name: str = "the estimator") -> None:
        self.layout = layout
        self.estimator_name = estimator_name
        self.shape = (1,)
        self.degree = Attribute("degree", None, np.zeros(1), np.ones(1), True)
        self.nodes: list[Attribute] = []
        self.arcs: list[Attribute] = []
        self.directed = False
        self._sizes: dict[str, str] = {}

    @property
    def n_features(self) -> int:
        """Number of features of a node."""
        return self.degree.width + sum(attribute.width for attribute in self.nodes)

    @property
    def n_arc_features(self) -> int:
        """Number of features of an arc."""
        return self.directed + sum(attribute.width for attribute in self.arcs)

    @property
    def columns_(self) -> list[ColumnRecord]:
        """Graphs have no columns."""
        return []

    def __repr__(self) -> str:
        text = f"graphs: {_count(self.n_features, 'feature')} per node (the degree"
        text += "".join(f"; {_describe(attribute)}" for attribute in self.nodes) + ")"
        if self.n_arc_features:
            of_arcs = ["the direction"] * self.directed + [_describe(a) for a in self.arcs]
            text += f", {self.n_arc_features} per edge ({'; '.join(of_arcs)})"
        return text

    def facts(self) -> dict[str, str]:
        """Sizes of the training graphs, and what the features are."""
        return {**self._sizes, "features": repr(self).removeprefix("graphs: ")}

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn attributes and sizes of the training data.

        Parameters
        ----------
        data : RawData
            Training data.
        preprocessing : {"auto", None}, default="auto"
            "auto" standardizes every feature; None leaves values as they are.

        Returns
        -------
        GraphAdapter
        """
        check_preprocessing(preprocessing)
        source = _checked_source(data)
        index = np.arange(len(source))
        graphs = source.gather(index)
        places = [source.describe_row(row) for row in index.tolist()]
        standardize = preprocessing == "auto"
        self.nodes = _results(
            learn_attributes([graph.nodes for graph in graphs], places),
            sum(graph.n_nodes > 0 for graph in graphs), standardize,
        )  # fmt: skip
        self.arcs = _results(
            learn_attributes([graph.arcs for graph in graphs], places),
            sum(graph.n_arcs > 0 for graph in graphs), standardize,
        )  # fmt: skip
        self.directed = any(graph.directed for graph in graphs)
        degree = AttributeLearner("degree")
        for graph in graphs:
            if graph.n_nodes:
                degree.update(_log_degree(graph), "")
        if degree.n_graphs:
            self.degree = degree.result(0, standardize=standardize)
        self.shape = (self._width(graphs),)
        self._sizes = {
            "nodes": _spread([graph.n_nodes for graph in graphs]),
            "edges": _spread([_n_edges(graph) for graph in graphs]),
        }
        if self.directed:
            directed = sum(graph.directed for graph in graphs)
            self._sizes["directed"] = f"{directed} of {len(graphs)} graphs"
        return self

    def adapt(self, data: RawData) -> AdaptedGraphs:
        """Return a source of converted graphs; nothing is converted yet.

        Parameters
        ----------
        data : RawData
            Graphs, of which some may be larger than all of the training data.

        Returns
        -------
        AdaptedGraphs
            Rows are as long as the largest graph needs.
        """
        source = _checked_source(data)
        width = max((self._width(chunk) for chunk in source.chunks()), default=1)
        return AdaptedGraphs(data, _Packing(self, (width,)))

    def read(self, X: Any) -> AdaptedGraphs:
        """Read new graphs and return a source of converted ones.

        Parameters
        ----------
        X : list or dataset of graphs, or a folder in the TU format
            Graphs of any size.

        Returns
        -------
        AdaptedGraphs
        """
        source = as_graphs(open_source(X))
        if source is None:
            raise ValueError(
                f"{self.estimator_name} is expecting graphs as input (a list of networkx or "
                "PyTorch Geometric graphs, or a folder in the TU format), but X is "
                f"{type(X).__name__}"
            )
        return self.adapt(RawData(source))

    def pack(self, graph: Graph, row: np.ndarray, place: str) -> None:
        """Write a graph into a row of zeros.

        Parameters
        ----------
        graph : Graph
            The graph.
        row : ndarray of shape (width,), float32
            Where to write it.
        place : str
            How messages name the graph.
        """
        nodes = [self.degree.features(_log_degree(graph), graph.n_nodes, place)]
        nodes += [a.features(graph.nodes.get(a.name), graph.n_nodes, place) for a in self.nodes]
        n_given = len(graph.source)
        arcs = [np.ones((n_given, 1)) * graph.directed] * self.directed
        arcs += [a.features(graph.arcs.get(a.name), n_given, place) for a in self.arcs]
        features = np.concatenate(arcs, axis=1) if arcs else np.empty((n_given, 0))
        source, target = graph.source, graph.target
        if graph.directed:  # all arcs can be followed in both directions
            back = features.copy()
            back[:, : self.directed] *= -1
            source, target = np.r_[source, target], np.r_[target, source]
            features = np.concatenate([features, back])
        pack(row, source, target, np.concatenate(nodes, axis=1), features)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        return {
            "form": self.form,
            "modality": self.modality,
            "width": self.shape[0],
            "directed": self.directed,
            "degree": self.degree.to_dict(),
            "nodes": [attribute.to_dict() for attribute in self.nodes],
            "arcs": [attribute.to_dict() for attribute in self.arcs],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """There are none."""
        return {}

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` returned; ValueError if it cannot be."""
        made = cls(layout, estimator_name)
        width, directed = stored["width"], stored["directed"]
        if layout.given_as != cls.form or type(width) is not int or not 0 < width < _WIDEST:
            raise ValueError("the description of the graphs is wrong")
        if not isinstance(directed, bool):
            raise ValueError("the description of the graphs is wrong")
        made.shape, made.directed = (width,), directed
        made.degree = Attribute.from_dict(stored["degree"])
        made.nodes = [Attribute.from_dict(attribute) for attribute in stored["nodes"]]
        made.arcs = [Attribute.from_dict(attribute) for attribute in stored["arcs"]]
        if made.degree.width != 1 or made.degree.categories is not None:
            raise ValueError("the degree of the graphs is wrong")
        if made.n_features + made.n_arc_features > _MOST_FEATURES:
            raise ValueError("the graphs have too many features")
        return made

    def _width(self, graphs: Any) -> int:
        """Length of the row that the largest graph takes."""
        largest = max((graph.n_nodes for graph in graphs), default=0)
        if largest > _MOST_NODES:
            raise ValueError(f"a graph of X has {largest} nodes; at most {_MOST_NODES} can be read")
        counts = self.n_features, self.n_arc_features
        return max((packed_width(g.n_nodes, g.n_arcs, *counts) for g in graphs), default=1)


class _Packing(NamedTuple):
    """Packs graphs into rows of one length."""

    adapter: GraphAdapter
    shape: tuple[int, ...]

    def convert(self, batch: Any, place: Place) -> np.ndarray:
        """Convert graphs; `place` is how messages name a row."""
        rows = np.zeros((len(batch), *self.shape), np.float32)
        for position, graph in enumerate(batch):
            self.adapter.pack(graph, rows[position], place(position))
        return rows


class AdaptedGraphs(AdaptedTable):
    """Graphs, packed into rows when they are read.

    Parameters
    ----------
    data : RawData
        The graphs.
    packing : _Packing
        How to pack them.
    """

    def __init__(self, data: RawData, packing: _Packing) -> None:
        super().__init__(data, packing)
        self._packing = packing

    def filled_up(self, shape: tuple[int, ...]) -> AdaptedGraphs | None:
        """Return longer rows, which end with zeros."""
        if shape < self.schema.shape:
            return None
        return AdaptedGraphs(self._data, self._packing._replace(shape=shape))


def _checked_source(data: RawData) -> Graphs:
    if not isinstance(data.source, Graphs):
        raise ValueError(
            "data of modality 'graph' must be a list of networkx or PyTorch Geometric graphs, or a "
            f"folder in the TU format, but X has the shape {data.shape}"
        )
    return data.source


def _results(
    learners: Mapping[str, AttributeLearner], n_graphs: int, standardize: bool
) -> list[Attribute]:
    return [learners[name].result(n_graphs, standardize=standardize) for name in sorted(learners)]


def _log_degree(graph: Graph) -> np.ndarray:
    ends = np.r_[graph.source, graph.target] if graph.directed else graph.source
    return np.log1p(np.bincount(ends, minlength=graph.n_nodes))[:, None]


def _n_edges(graph: Graph) -> int:
    loops = int((graph.source == graph.target).sum())
    return len(graph.source) if graph.directed else (len(graph.source) + loops) // 2


def _spread(counts: list[int]) -> str:
    ranked = sorted(counts)
    return f"{ranked[0]} to {ranked[-1]}, median {ranked[len(ranked) // 2]}"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" + "s" * (number != 1)


def _describe(attribute: Attribute) -> str:
    if attribute.categories is None:
        return f"{attribute.name}: {_count(attribute.width, 'number')}"
    plural = "category" if attribute.width == 1 else "categories"
    return f"{attribute.name}: {attribute.width} {plural}"
