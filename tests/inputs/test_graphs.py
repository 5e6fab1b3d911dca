"""Graphs: what is taken for them, what their features are, and what goes wrong."""

import networkx as nx
import numpy as np
import pytest
import torch

from aleator import LFR, RandomEncoder, RandomFeatures, describe, load, open_graphs
from aleator.evaluation import label_curve
from aleator.exceptions import DamagedFileError
from aleator.inputs import GraphAdapter, fit_adapter, read
from aleator.inputs.graphs.graph import read_graph
from aleator.modalities import get_modality
from aleator.networks.packed_graphs import unpack
from tests.geometric import Data
from tests.small import ALL, NOT_FOR_GRAPHS, small


def molecules(n=30, seed=0):
    """Random graphs with a category and a number per node, and a category per edge."""
    random = np.random.default_rng(seed)
    graphs = []
    for k in range(n):
        graph = nx.gnp_random_graph(int(random.integers(2, 12)), 0.3, seed=seed * 1000 + k)
        for node in graph:
            graph.nodes[node]["atom"] = str(random.choice(["C", "N", "O"]))
            graph.nodes[node]["mass"] = float(random.normal())
        for pair in graph.edges:
            graph.edges[pair]["bond"] = str(random.choice(["single", "double"]))
        graphs.append(graph)
    return graphs


def adapter_of(X, preprocessing="auto"):
    data = read(X)
    return fit_adapter(get_modality("graph").layout, data, "LFR", preprocessing)


def unpacked(adapter, X):
    rows = torch.from_numpy(adapter.transform(X))
    return unpack(rows, adapter.n_features, adapter.n_arc_features)


def plain(graphs):
    made = []
    for graph in graphs:
        there = torch.tensor(list(graph.edges)).view(-1, 2).T
        both = torch.cat([there, there.flip(0)], 1)
        made.append(Data(edge_index=both, num_nodes=len(graph)))
    return made


def test_networkx_and_geometric_give_the_same_embedding():
    graphs = [nx.path_graph(k) for k in range(2, 20)]
    model = RandomFeatures(n_features=16, random_state=0).fit(graphs)
    np.testing.assert_array_equal(model.transform(plain(graphs)), model.transform(graphs))
    objects = np.empty(len(graphs), object)
    objects[:] = graphs
    np.testing.assert_array_equal(model.transform(objects), model.transform(graphs))
    assert model.n_features_in_ == 1


def test_datasets_of_graphs_are_read():
    graphs = plain([nx.path_graph(k) for k in range(2, 10)])

    class Listed(torch.utils.data.Dataset):
        def __len__(self):
            return len(graphs)

        def __getitem__(self, index):
            return graphs[index]

    model = RandomFeatures(n_features=8, random_state=0).fit(Listed())
    np.testing.assert_array_equal(model.transform(Listed()), model.transform(graphs))


def test_features_are_degree_numbers_and_categories():
    graph = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(graph, {0: "C", 1: "N", 2: "C"}, "atom")
    nx.set_node_attributes(graph, {0: 1.5, 1: -2.0}, "mass")  # the third is missing
    nx.set_node_attributes(graph, {0: [1.0, 2.0], 1: [3.0, 4.0], 2: [5.0, 6.0]}, "place")
    adapter = adapter_of([graph, nx.path_graph(1)], preprocessing=None)
    found = unpacked(adapter, [graph])
    expected = [
        [np.log(2), 1, 0, 1.5, 1, 2],
        [np.log(3), 0, 1, -2.0, 3, 4],
        [np.log(2), 1, 0, 0.0, 5, 6],
    ]
    np.testing.assert_allclose(found.nodes, expected, rtol=1e-6)
    assert sorted(zip(found.source.tolist(), found.target.tolist(), strict=True)) == [
        (0, 1), (1, 0), (1, 2), (2, 1),
    ]  # fmt: skip
    standardized = unpacked(adapter_of([graph, graph]), [graph]).nodes
    np.testing.assert_allclose(standardized[:, 4:].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(standardized[:, 4:].std(0, unbiased=False), 1, rtol=1e-5)
    assert standardized[2, 3] == 0


def test_integers_of_tensors_are_categories_and_floats_are_numbers():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    codes = [Data(x=torch.tensor([[6, 0], [k % 3, 1]]), edge_index=edge_index) for k in range(6)]
    assert "x[0]: 4 categories; x[1]: 2 categories" in repr(adapter_of(codes))
    numbers = [Data(x=torch.randn(2, 5), edge_index=edge_index) for _ in range(6)]
    assert repr(adapter_of(numbers)) == "graphs: 6 features per node (the degree; x: 5 numbers)"
    many = [Data(x=torch.tensor([[k], [k + 100]]), edge_index=edge_index) for k in range(40)]
    assert "x: 1 number" in repr(adapter_of(many))


def test_unseen_categories_are_none_of_the_known():
    graphs = molecules()
    adapter = adapter_of(graphs, preprocessing=None)
    new = nx.Graph()
    new.add_node(0, atom="Xe", mass=0.0)
    assert unpacked(adapter, [new]).nodes[0, 1:4].tolist() == [0, 0, 0]


def test_directed_graphs_are_followed_both_ways_and_keep_their_direction():
    arrow = nx.DiGraph([(0, 1)])
    found = unpacked(adapter_of([arrow, nx.path_graph(2)], None), [arrow, nx.path_graph(2)])
    arcs = zip(found.source.tolist(), found.target.tolist(), found.arcs[:, 0].tolist(), strict=True)
    assert sorted(arcs) == [(0, 1, 1.0), (1, 0, -1.0), (2, 3, 0.0), (3, 2, 0.0)]
    one_way = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    assert read_graph(one_way, "row 0").directed
    assert not read_graph(plain([nx.path_graph(3)])[0], "row 0").directed
    reverse = nx.DiGraph([(0, 1), (2, 1)])
    model = RandomFeatures(n_features=32, random_state=0)
    model.fit([nx.gn_graph(k, seed=k) for k in range(2, 12)])
    embedded = model.transform([reverse, reverse.reverse()])
    assert np.abs(embedded[0] - embedded[1]).max() > 0.01


def test_loops_multiple_edges_isolated_nodes_and_empty_graphs():
    loop = nx.Graph([(0, 0), (0, 1)])
    double = nx.MultiGraph([(0, 1), (0, 1)])
    lonely = nx.empty_graph(3)
    nothing = nx.Graph()
    odd = [loop, double, lonely, nothing, Data(num_nodes=2), Data(x=None, num_nodes=0)]
    assert read_graph(loop, "").source.tolist() == [0, 0, 1]
    assert read_graph(double, "").n_arcs == 4
    for model in (RandomFeatures(n_features=16, random_state=0), small("LFR"), RandomEncoder()):
        model.fit([*odd, *(nx.path_graph(k) for k in range(2, 20))])
        embedded = model.transform(odd)
        assert np.isfinite(embedded).all()
        assert np.abs(embedded[2] - embedded[3]).max() > 1e-4
    assert np.isfinite(small("LFR").fit_transform([nothing] * 3 + [lonely] * 3)).all()


def test_larger_graphs_than_in_training_and_padding():
    graphs = molecules()
    for model in (
        small("LFR"),
        RandomFeatures(n_features=64, random_state=0),
        small("RandomEncoder"),
    ):
        model.fit(graphs)
        alone = np.concatenate([model.transform([graph]) for graph in graphs])
        large = molecules(1, seed=9)[0]
        large = nx.disjoint_union_all([large] * 40)
        beside = model.transform([*graphs, large])
        assert model.adapter_.shape[0] < model.adapter_.read([large]).schema.size
        assert np.isfinite(beside).all()
        np.testing.assert_allclose(beside[:-1], alone, rtol=1e-5, atol=1e-5)


def test_rows_are_as_long_as_the_graphs_need_whatever_the_training_data_needed():
    """A damaged model says that they are long; it must not take memory for that."""
    graphs = molecules()
    model = RandomFeatures(n_features=16, random_state=0).fit(graphs)
    whole = model.transform(graphs)
    model.adapter_.shape = (1 << 30,)
    assert model.adapter_.read(graphs[:1]).schema.size < 1000
    np.testing.assert_array_equal(model.transform(graphs), whole)


def test_networks_of_other_features_are_refused():
    rows = torch.from_numpy(adapter_of(molecules()).transform(molecules()))
    nodes, arcs = int(rows[0, 2]), int(rows[0, 3])
    assert len(unpack(rows, nodes, arcs).nodes) > 0
    for wrong in ((nodes + 1, arcs), (nodes, arcs - 1)):
        with pytest.raises(ValueError, match="but the graphs have others"):
            unpack(rows, *wrong)


def test_graphs_may_be_a_part_and_smaller_than_in_training():
    graphs = molecules()
    X = {"graph": graphs, "table": np.arange(60.0).reshape(30, 2)}
    model = small("LFR").fit(X)
    few = sorted(range(30), key=lambda k: len(graphs[k]))[:3]
    got = model.transform({"graph": [graphs[k] for k in few], "table": X["table"][few]})
    np.testing.assert_allclose(got, model.transform(X)[few], rtol=1e-5, atol=1e-5)
    large = nx.disjoint_union_all(graphs)
    with pytest.raises(ValueError, match="has room for no more"):
        model.transform({"graph": [large], "table": X["table"][:1]})


@pytest.mark.parametrize("name", [name for name in ALL if name not in NOT_FOR_GRAPHS])
def test_methods_embed_save_and_load_graphs(name, tmp_path):
    graphs, labels = molecules(40), np.arange(40) % 2
    model = small(name).fit(graphs, labels)
    expected = model.transform(graphs)
    assert expected.shape == (40, model.embedding_dim_)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(graphs), expected)


def test_the_gin_encoder_is_saved_and_trained(tmp_path):
    graphs = molecules(40)
    model = small("LFR", encoder="gin").fit(graphs)
    untrained = RandomEncoder(encoder="gin", embedding_dim=8, random_state=0).fit(graphs)
    assert np.abs(model.transform(graphs) - untrained.transform(graphs)).max() > 1e-3
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").transform(graphs), model.transform(graphs)
    )


@pytest.mark.parametrize("name", NOT_FOR_GRAPHS)
def test_other_methods_say_why_not(name):
    model = small(name)
    with pytest.raises(
        ValueError, match=r"needs samples of one|no built-in views|works on|X is graphs, but"
    ):
        model.fit(molecules(), np.arange(30) % 2)
    assert not hasattr(model, "encoder_")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (nx.path_graph(3), r"X is one graph \(Graph\): give a list"),
        ([nx.path_graph(3), [1, 2]], "row 1 of X is list, but the others are graphs"),
        ([nx.path_graph(3)], "1 sample"),
        (
            [Data(edge_index=torch.tensor([[0], [7]]), num_nodes=2)] * 2,
            "row 0 of X: edge_index has",
        ),
        (
            [Data(x=torch.full((2, 1), torch.inf), edge_index=None)] * 2,
            "'x' of row 0 of X has an inf",
        ),
        ([Data(x=torch.ones(2, k)) for k in (1, 2)], "'x' of row 1 of X has 2 features, but"),
    ],
)
def test_what_is_wrong_is_named(X, message):
    model = LFR()
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert not hasattr(model, "encoder_")


def test_new_data_must_have_what_the_training_data_had():
    model = RandomFeatures(n_features=8, random_state=0).fit(molecules())
    with pytest.raises(ValueError, match="row 0 of X lacks the attribute 'atom'"):
        model.transform([nx.path_graph(2)])
    wrong = molecules(1)[0]
    nx.set_node_attributes(wrong, "heavy", "mass")
    with pytest.raises(
        ValueError, match="'mass' of row 0 of X is 'heavy', but it must be a number"
    ):
        model.transform([wrong])
    with pytest.raises(ValueError, match="is expecting graphs"):
        model.transform(np.ones((3, 4)))
    with pytest.raises(ValueError, match="X is graphs, but the modality is 'table'"):
        RandomFeatures(modality="table").fit(molecules())
    with pytest.raises(ValueError, match="must be a list of networkx"):
        RandomFeatures(modality="graph").fit(np.ones((4, 3)))


def test_description_and_defaults():
    graphs = molecules()
    text = repr(describe(graphs, device="cpu"))
    sizes = sorted(len(graph) for graph in graphs)
    assert text.startswith("graph: 30 samples, which become ")
    assert f"nodes: {sizes[0]} to {sizes[-1]}, median {sizes[15]}" in text
    edges = sorted(graph.number_of_edges() for graph in graphs)
    assert f"edges: {edges[0]} to {edges[-1]}, median {edges[15]}" in text
    assert "(the degree; atom: 3 categories; mass: 1 number), 2 per edge (bond: 2 categ" in text
    model = LFR(random_state=0, epochs=1, progress=False).fit(graphs)
    kinds = {type(projector).__name__ for projector in model.projectors_}
    assert kinds == {"RandomGraphNetworks", "RandomWalks"}


def test_label_curves_of_graphs():
    graphs = open_graphs(molecules(40))
    labels = np.arange(40) % 2
    curve = label_curve(
        graphs[:20], labels[:20], graphs[20:], labels[20:],
        models={"features": RandomFeatures(n_features=8, random_state=0).fit(graphs[:20])},
        n_labels=10, draws=1,
    )  # fmt: skip
    assert 0 <= curve.to_frame()["accuracy"].iloc[0] <= 1


def write_tu(folder, graphs, labels):
    """Write graphs in the TU format, by hand."""
    lines = {name: [] for name in ("A", "graph_indicator", "graph_labels", "node_labels",
                                   "node_attributes", "edge_labels")}  # fmt: skip
    first = 1
    for k, graph in enumerate(graphs):
        lines["graph_labels"].append(str(labels[k]))
        for node, attributes in graph.nodes(data=True):
            lines["graph_indicator"].append(str(k + 1))
            lines["node_labels"].append(str("CNO".index(attributes["atom"])))
            lines["node_attributes"].append(f"{attributes['mass']}, {node}.5")
        for source, target, attributes in graph.edges(data=True):
            for pair in ((source, target), (target, source)):
                lines["A"].append(f"{first + pair[0]}, {first + pair[1]}")
                lines["edge_labels"].append(str(int(attributes["bond"] == "single")))
        first += len(graph)
    for name, content in lines.items():
        (folder / f"MOL_{name}.txt").write_text("\n".join(content) + "\n")


def test_a_folder_in_the_tu_format(tmp_path):
    graphs, labels = molecules(), np.arange(30) % 2 * 2 - 1
    write_tu(tmp_path, graphs, labels)
    opened = open_graphs(tmp_path)
    assert opened.labels.tolist() == labels.tolist()
    for graph, found in zip(graphs, opened.gather(np.arange(30)), strict=True):
        expected = read_graph(graph, "")
        assert found.n_nodes == len(graph)
        assert not found.directed
        pairs = [sorted(zip(g.source, g.target, strict=True)) for g in (found, expected)]
        assert pairs[0] == pairs[1]
        assert ["CNO"[code] for code in found.nodes["label"]] == list(expected.nodes["atom"])
        np.testing.assert_allclose(found.nodes["attribute"][:, :1], expected.nodes["mass"])
    model = RandomFeatures(n_features=16, random_state=0).fit(tmp_path)
    np.testing.assert_array_equal(model.transform(opened), model.transform(tmp_path))
    np.testing.assert_allclose(model.transform(opened[3:5]), model.transform(tmp_path)[3:5], 1e-5)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("A", "1, 2\n1, 999\n", "_A.txt cannot be read: it must name nodes from 1 to"),
        ("A", "1, 2, 3\n", r"_A.txt cannot be read: it must have 2 number"),
        ("A", "1, x\n", "_A.txt cannot be read"),
        ("A", "1.5, 2\n", "not integers"),
        ("graph_indicator", "0\n1\n", "must name graphs from 1 to 30"),
        ("graph_labels", "nan\n", "has NaN"),
        ("node_labels", "1\n", r"it has 1 lines, but there are \d+ nodes"),
    ],
)
def test_damaged_folders_name_the_file(tmp_path, name, content, message):
    write_tu(tmp_path, molecules(), np.zeros(30, int))
    (tmp_path / f"MOL_{name}.txt").write_text(content)
    with pytest.raises(DamagedFileError, match=message):
        open_graphs(tmp_path)


def test_folders_without_graphs(tmp_path):
    with pytest.raises(ValueError, match="has no graphs in the TU format"):
        open_graphs(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        open_graphs(tmp_path / "none")
    with pytest.raises(ValueError, match="no list of graphs"):
        open_graphs([1, 2])


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"width": 1 << 40},
        {"directed": 1},
        {"degree": {"name": "degree", "categories": ["1"], "mean": [0], "deviation": [1],
                    "always": True}},
        {"nodes": [{"name": "a", "categories": None, "mean": [0.0], "deviation": [0.0],
                    "always": True}]},
        {"nodes": [{"name": "a", "categories": ["b"], "mean": [0.0, 1.0], "deviation": [1.0, 1.0],
                    "always": True}]},
        {"arcs": [{"name": 3, "categories": None, "mean": [0.0], "deviation": [1.0],
                   "always": True}]},
    ],
    ids=str,
)  # fmt: skip
def test_descriptions_that_were_changed_are_refused(wrong):
    stored = adapter_of(molecules()).to_dict()
    layout = get_modality("graph").layout
    assert GraphAdapter.from_saved(layout, "LFR", stored, {}).to_dict() == stored
    with pytest.raises(ValueError, match=r"graphs (is|are|has|have) |degree of the graphs"):
        GraphAdapter.from_saved(layout, "LFR", {**stored, **wrong}, {})
