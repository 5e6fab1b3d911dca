"""Loaders of graphs and audio to measure on, with small files of their formats."""

import gzip

import numpy as np
import pytest

from aleator.benchmark.real_data.audio import load_fsdd
from aleator.benchmark.real_data.graphs import load_mutag, load_proteins, read_graphs
from aleator.exceptions import DamagedFileError

TRIANGLE_AND_PAIR = "2\n3 1\n0 2 1 2\n5 2 0 2\n0 2 0 1\n2 0\n1 1 1\n1 1 0\n"


def write(folder, name, text):
    path = folder / "graphs" / f"{name}.txt.gz"
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.write(text)
    return path


def test_graphs_are_read(tmp_path):
    graphs = read_graphs(write(tmp_path, "MUTAG", TRIANGLE_AND_PAIR))
    triangle, pair = graphs.gather(np.arange(2))
    assert graphs.labels.tolist() == [1, 0]
    assert triangle.nodes["tag"].tolist() == [0, 5, 0]
    assert list(zip(pair.source.tolist(), pair.target.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert (triangle.n_nodes, triangle.n_arcs) == (3, 6)


@pytest.mark.parametrize(("name", "load"), [("MUTAG", load_mutag), ("PROTEINS", load_proteins)])
def test_ten_folds_are_the_test_part_in_turn(tmp_path, name, load):
    lines = "".join(f"2 {k % 2}\n{k % 3} 1 1\n0 1 0\n" for k in range(60))
    write(tmp_path, name, f"60\n{lines}")
    folds = load(tmp_path, 0)
    assert len(folds) == 10
    for X_train, y_train, X_test, y_test in folds:
        assert (len(X_train), len(y_train), len(X_test), y_test.sum()) == (54, 54, 6, 3)
        assert X_test.labels.tolist() == y_test.tolist()

    def order(seed):
        return [parts.y_train.tolist() for parts in load(tmp_path, seed)]

    assert order(0) == order(0)
    assert order(0) != order(1)


@pytest.mark.parametrize(
    "text", ["", "3\n1 0\n", "1\n2 0\n0 1 7\n0 1 0\n", "x\n", "1\n1 0\n0 2 0\n"]
)
def test_damaged_files_of_graphs_are_named(tmp_path, text):
    path = write(tmp_path, "MUTAG", text)
    with pytest.raises(DamagedFileError, match=r"MUTAG\.txt\.gz cannot be read"):
        read_graphs(path)
    path.write_bytes(b"no gzip")
    with pytest.raises(DamagedFileError, match="cannot be read"):
        read_graphs(path)


def test_takes_below_five_are_the_test_part_of_digits(tmp_path):
    length = np.array([30, 50, 40, 20])
    audio = np.arange(140, dtype=np.int16)
    digit, take = np.array([7, 8, 9, 7], np.uint8), np.array([5, 0, 49, 4], np.uint8)
    np.savez(
        tmp_path / "fsdd.npz", audio=audio, length=length, digit=digit, take=take,
        sample_rate=np.int32(8000),
    )  # fmt: skip
    X_train, y_train, X_test, y_test = load_fsdd(tmp_path)
    assert y_train.tolist() == [7, 9]
    assert y_test.tolist() == [8, 7]
    assert X_train.lengths.tolist() == [30, 40]
    assert X_test.rates.tolist() == [8000, 8000]
    np.testing.assert_array_equal(X_test.gather(np.array([1]))[0] * 32768, np.arange(120, 140))
    whole = (tmp_path / "fsdd.npz").read_bytes()
    for damaged in (b"PK", whole[:200], b""):
        (tmp_path / "fsdd.npz").write_bytes(damaged)
        with pytest.raises(DamagedFileError, match="cannot be read"):
            load_fsdd(tmp_path)
