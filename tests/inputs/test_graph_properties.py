"""Properties of graphs: order of rows and of nodes, chunks and saving."""

import tempfile

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aleator import RandomFeatures, load
from aleator.inputs.graphs.source import Graphs
from tests.inputs.test_graphs import adapter_of
from tests.inputs.test_table_properties import QUICK
from tests.small import small


@st.composite
def a_graph(draw):
    n_nodes = draw(st.integers(0, 7))
    graph = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph]))()
    for node in range(n_nodes):
        graph.add_node(node, kind=draw(st.sampled_from("abc")), size=draw(st.floats(-5, 5)))
    if n_nodes:
        nodes = st.integers(0, n_nodes - 1)
        graph.add_edges_from(draw(st.lists(st.tuples(nodes, nodes), max_size=12)))
    return graph


_GRAPHS = st.lists(a_graph(), min_size=2, max_size=12).map(
    lambda graphs: [*graphs, *(nx.path_graph(k) for k in (2, 5))]
)


def relabelled(graph, random):
    """Return the same graph with other names of nodes, in another order."""
    order = random.permutation(len(graph))
    names = {node: f"node {k}" for node, k in zip(graph, order, strict=True)}
    made = type(graph)()
    for node in sorted(graph, key=lambda node: names[node]):
        made.add_node(names[node], **graph.nodes[node])
    pairs = [(names[a], names[b]) for a, b, *_ in graph.edges]
    made.add_edges_from([pairs[k] for k in random.permutation(len(pairs))])
    return made


@QUICK
@given(_GRAPHS, st.integers(0, 2**32), st.integers(1, 16))
def test_permuted_rows_permute_features_and_chunks_are_the_whole(graphs, seed, rows):
    adapter = adapter_of(graphs)
    whole = adapter.transform(graphs)
    order = np.random.default_rng(seed).permutation(len(graphs))
    np.testing.assert_array_equal(adapter.transform([graphs[i] for i in order]), whole[order])
    source = adapter.read(Graphs(graphs))
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(rows))), whole)
    np.testing.assert_array_equal(source.gather(order[:rows]), whole[order[:rows]])


@settings(QUICK, max_examples=10)
@given(_GRAPHS, st.integers(0, 2**32))
@pytest.mark.parametrize("name", ["RandomFeatures", "RandomEncoder"])
def test_embeddings_do_not_depend_on_order_names_and_chunks(name, graphs, seed):
    model = small(name).fit(graphs)
    expected = model.transform(graphs)
    assert np.isfinite(expected).all()
    random = np.random.default_rng(seed)
    order = random.permutation(len(graphs))
    near = {"rtol": 1e-5, "atol": 1e-5}
    permuted = model.transform([graphs[i] for i in order])
    np.testing.assert_allclose(permuted, expected[order], **near)
    renamed = model.transform([relabelled(graph, random) for graph in graphs])
    np.testing.assert_allclose(renamed, expected, **near)
    pieces = [model.transform(part) for part in (graphs[:1], graphs[1:])]
    np.testing.assert_allclose(np.concatenate(pieces), expected, **near)


@settings(QUICK, max_examples=8)
@given(_GRAPHS)
def test_a_saved_model_gives_the_same_embedding(graphs):
    model = RandomFeatures(n_features=24, random_state=0).fit(graphs)
    expected = model.transform(graphs)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    assert again.adapter_.to_dict() == model.adapter_.to_dict()
    np.testing.assert_array_equal(again.transform(graphs), expected)
