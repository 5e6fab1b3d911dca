"""Random networks and walks of graphs against literal computations, graph by graph."""

import networkx as nx
import numpy as np
import pytest
import torch

from aleator.inputs import fit_adapter, read
from aleator.modalities import get_modality
from aleator.networks.gin import GIN
from aleator.networks.packed_graphs import feature_counts, unpack
from aleator.projectors import graph_returns, graph_walks
from aleator.projectors.graph_networks import RandomGraphNetworks
from aleator.projectors.graph_returns import return_probabilities
from aleator.projectors.graph_walks import RandomWalks
from tests.projectors.families import generator

FAMILIES = [RandomGraphNetworks, RandomWalks]


def packed(directed=True, n=20):
    graphs = [nx.gnp_random_graph(3 + k % 5, 0.5, seed=k, directed=directed) for k in range(n)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "kind")
    data = read([*graphs, nx.empty_graph(0)])
    layout = get_modality("graph").layout
    return torch.from_numpy(fit_adapter(layout, data, "LFR", "auto").adapt(data).materialize())


def literal_walks(walks, x):
    """Sum over all walks from every node, by recursion."""
    counts = feature_counts(x)
    features = []
    for row in x:
        graph = unpack(row[None].double(), *counts)
        arcs = [
            [(int(t), a) for s, t, a in zip(graph.source, graph.target, graph.arcs, strict=True)
             if s == node] for node in range(len(graph.nodes))
        ]  # fmt: skip
        found = []
        for w in range(len(walks.steps)):

            def alike(values, drawn, w=w):
                return torch.exp(-walks.precision[w] * (values - drawn).square().sum())

            def likely(node, step, w=w, alike=alike, arcs=arcs, graph=graph):
                here = alike(graph.nodes[node], walks.node[step, w])
                if step == 0:
                    return here
                onward = [
                    alike(arc, walks.arc[step - 1, w]) * likely(target, step - 1)
                    for target, arc in arcs[node]
                ]
                return here * sum(onward) / max(1, len(onward))

            total = sum(likely(node, int(walks.steps[w])) for node in range(len(graph.nodes)))
            found += [total / max(1, len(graph.nodes)), np.log1p(float(total))]
        features.append([float(value) for value in found])
    return torch.tensor(features)


def literal_returns(graph, most_steps):
    """Diagonals of the powers of the matrix of transitions."""
    n_nodes = len(graph.nodes)
    transitions = torch.zeros(n_nodes, n_nodes, dtype=torch.float64)
    for s, t in zip(graph.source, graph.target, strict=True):
        transitions[s, t] += 1
    transitions /= transitions.sum(1, keepdim=True).clamp_min(1)
    powers = [torch.linalg.matrix_power(transitions, k) for k in range(2, most_steps + 1)]
    return torch.stack([power.diagonal() for power in powers], 1)


@pytest.mark.parametrize("directed", [False, True])
def test_walks_are_summed_exactly(directed):
    x = packed(directed, 3)
    walks = RandomWalks.draw(x, 10, generator())
    torch.testing.assert_close(walks(x), literal_walks(walks, x), rtol=1e-4, atol=1e-5)


def test_walks_are_walks_of_the_data():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "a", 1: "b"}, "kind")
    data = read([graph, graph])
    adapter = fit_adapter(get_modality("graph").layout, data, "LFR", "auto")
    x = torch.from_numpy(adapter.adapt(data).materialize())
    walks = RandomWalks.draw(x, 20, generator())
    # on one edge, a walk goes to and fro
    assert torch.equal(walks.node[0], walks.node[2])
    assert not torch.equal(walks.node[0], walks.node[1])


@pytest.mark.parametrize("directed", [False, True])
def test_random_networks_against_a_dense_computation(directed):
    x = packed(directed, 8)
    drawn = RandomGraphNetworks.draw(x, 24, generator()).double()
    counts = feature_counts(x)
    for row in x:
        graph = unpack(row[None].double(), *counts)
        n_nodes = len(graph.nodes)
        values, found = torch.cat([graph.nodes, literal_returns(graph, 10)], 1), []
        for k in range(4):
            if k == 0:
                values = values @ drawn.enter
            else:
                values = values.relu()
                summed = values.clone()
                for s, t, arc in zip(graph.source, graph.target, graph.arcs, strict=True):
                    summed[t] += (values[s] + arc @ drawn.arc_weight[k - 1]).relu()
                values = summed @ drawn.weight[k - 1]
            values = (values - drawn.mean[k]) / drawn.scale[k]
            above = torch.sigmoid(values @ drawn.direction[k] - drawn.threshold[k]).sum(0)
            found.append(torch.stack([above / max(1, n_nodes), above.log1p()], 1).flatten())
        torch.testing.assert_close(drawn(row[None].double())[0], torch.cat(found))


def graphs_of_all_sorts():
    """A star, isolated nodes, no nodes, a self-loop, an edge that is there twice, and others."""
    looped, twice = nx.path_graph(3), nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    looped.add_edge(0, 0)
    return [
        nx.star_graph(70), nx.empty_graph(3), nx.empty_graph(0), looped, twice, nx.cycle_graph(5),
        *(nx.gnp_random_graph(n, 3 / n, seed=n) for n in range(20, 160, 20)),
    ]  # fmt: skip


def packed_graphs(graphs):
    data = read(graphs)
    adapter = fit_adapter(get_modality("graph").layout, data, "LFR", "auto")
    return torch.from_numpy(adapter.adapt(data).materialize())


@pytest.mark.parametrize("most_steps", [2, 5, 10])
@pytest.mark.parametrize("starts", [64, 7])
def test_returns_are_diagonals_of_powers(most_steps, starts, monkeypatch):
    monkeypatch.setattr(graph_returns, "_STARTS", starts)
    x = packed_graphs(graphs_of_all_sorts()).double()
    counts = feature_counts(x)
    expected = [literal_returns(unpack(row[None], *counts), most_steps) for row in x]
    found = return_probabilities(unpack(x, *counts), most_steps)
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-12, atol=1e-12)


def test_returns_do_not_see_the_order_of_nodes():
    graph = nx.gnp_random_graph(90, 0.05, seed=0)
    order = np.random.default_rng(0).permutation(90)
    shuffled = nx.Graph()
    shuffled.add_nodes_from(order.tolist())
    shuffled.add_edges_from(graph.edges)
    x = packed_graphs([graph, shuffled]).double()
    first, second = return_probabilities(unpack(x, *feature_counts(x)), 10).split(90)
    torch.testing.assert_close(first[order], second)
    drawn = RandomGraphNetworks.draw(x.float(), 40, generator())(x)
    torch.testing.assert_close(drawn[0], drawn[1])


def test_random_networks_tell_rings_apart():
    # All nodes of both have two neighbors like themselves.
    rings = [nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))]
    x = packed_graphs(rings * 5 + [nx.path_graph(4)])
    features = RandomGraphNetworks.draw(x, 64, generator())(x)
    difference = (features[0] - features[1]).abs().reshape(4, 8, 2)
    assert (difference[:, ::2].amax((1, 2)) > 0.1).all()
    # Directions in turn belong to a network that sees returns, and to one that does not.
    assert difference[:, 1::2].max() < 1e-6


def test_only_one_of_two_networks_sees_returns(monkeypatch):
    x = packed()
    drawn = RandomGraphNetworks.draw(x, 80, generator())
    seen = drawn(x).reshape(21, 4, 10, 2)
    monkeypatch.setattr(graph_returns, "_MOST_NODES", 0)
    unseen = drawn(x).reshape(21, 4, 10, 2)
    torch.testing.assert_close(seen[:, :, 1::2], unseen[:, :, 1::2])
    assert (seen - unseen)[:, :, ::2].abs().amax((0, 1, 3)).min() > 1e-3


def test_large_graphs_have_typical_returns(monkeypatch):
    monkeypatch.setattr(graph_returns, "_MOST_NODES", 80)
    x = packed_graphs(graphs_of_all_sorts())
    drawn = RandomGraphNetworks.draw(x, 16, generator())
    counts = feature_counts(x)
    sizes = x[:, 0]
    for row, size in zip(x, sizes, strict=True):
        inputs = drawn.inputs(unpack(row[None].double(), *counts))[:, counts[0] :]
        if size > 80:
            assert torch.equal(inputs, drawn.returns.double().expand(len(inputs), -1))
        else:
            expected = literal_returns(unpack(row[None].double(), *counts), 10)
            torch.testing.assert_close(inputs, expected)
    assert drawn(x).isfinite().all()
    large = RandomGraphNetworks.draw(x[sizes > 80], 16, generator())
    assert large.returns.eq(0).all()
    assert large(x).isfinite().all()


def test_networks_whose_returns_are_missing_or_too_many_are_refused():
    x = packed()
    drawn = RandomGraphNetworks.draw(x, 16, generator())
    for wrong in (torch.empty(0), torch.zeros(len(drawn.enter) + 1)):
        loaded = RandomGraphNetworks.build(x.shape[1:], 16)
        with pytest.raises(ValueError, match="do not fit each other"):
            loaded.load_state_dict({**drawn.state_dict(), "returns": wrong})


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("width", [1, 7, 33])
def test_width_seeds_pieces_and_saving(family, width, monkeypatch):
    x = packed()
    drawn = family.draw(x, width, generator())
    features = drawn(x)
    assert features.shape == (21, width)
    assert features.dtype == torch.float32
    assert torch.equal(family.draw(x, width, generator())(x), features)
    assert not torch.equal(family.draw(x, width, generator(1))(x), features)
    alone = torch.cat([drawn(row) for row in x.split(1)])
    torch.testing.assert_close(alone, features, rtol=1e-6, atol=1e-6)
    wider = torch.nn.functional.pad(x, (0, 50), value=7.0)  # what follows a graph is not read
    assert torch.equal(drawn(wider), features)
    monkeypatch.setattr(graph_walks, "_VALUES_AT_ONCE", 1)
    torch.testing.assert_close(drawn(x), features, rtol=1e-6, atol=1e-6)
    empty = family.build(x.shape[1:], width)
    empty.load_state_dict(drawn.state_dict())
    monkeypatch.undo()
    assert torch.equal(empty(x), features)


@pytest.mark.parametrize("family", FAMILIES)
def test_states_that_do_not_fit_are_refused(family):
    x = packed()
    state = family.draw(x, 8, generator()).state_dict()
    name = "weight" if family is RandomGraphNetworks else "arc"
    state[name] = state[name][:1]
    with pytest.raises(ValueError, match=r"do not fit each other|other sizes"):
        family.build(x.shape[1:], 8).load_state_dict(state)


@pytest.mark.parametrize("directed", [False, True])
def test_gin_against_a_dense_computation(directed):
    x = packed(directed, 8)
    counts = feature_counts(x)
    network = GIN(*counts, 5).eval()
    with torch.no_grad():
        network.epsilon.normal_()
        found = network(x)
        for row, output in zip(x, found, strict=True):
            graph = unpack(row[None], *counts)
            values = network.enter(graph.nodes)
            pooled = []
            for k in range(5):
                mean = values.sum(0) / max(1, len(values))
                pooled += [mean, mean * np.log1p(len(values))]
                if k == 4:
                    break
                summed = (1 + network.epsilon[k]) * values
                for s, t, arc in zip(graph.source, graph.target, graph.arcs, strict=True):
                    if counts[1]:
                        summed[t] += (values[s] + network.of_arcs[k](arc)).relu()
                    else:
                        summed[t] += values[s]
                values = network.layers[k](summed)
            expected = network.leave(torch.cat(pooled))
            torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-5)
