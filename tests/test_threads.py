"""Fitted models can be used from several threads at once."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

import aleator
from aleator.inputs.graphs.graph import Graph
from aleator.training.math_mode import math_mode
from tests.small import small, small_lfr

N_THREADS = 8
SIZES = (1, 2, 7, 33, 60, 211)


@pytest.fixture(autouse=True)
def frequent_switches():
    """Let threads take turns after every few instructions, so that races are likely."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(tasks):
    """Run functions in as many threads, which all begin at the same time; return the results."""
    barrier = threading.Barrier(len(tasks))

    def run(task):
        barrier.wait(30)
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result() for future in [pool.submit(run, task) for task in tasks]]


@pytest.fixture(scope="module")
def models():
    """Models of all kinds of data, each with samples to embed: random features, dropout, norms."""
    random = np.random.default_rng(0)
    data = {
        "table": random.normal(size=(max(SIZES), 5)).astype(np.float32),
        "series": random.normal(size=(max(SIZES), 2, 24)).astype(np.float32),
        "image": random.random((max(SIZES), 3, 12, 10), dtype=np.float32),
    }
    made = [
        (small("LFR"), "table"),
        (small("LFR"), "series"),
        (small("LFR"), "image"),
        (small_lfr(), "series"),  # a CNN with batch normalization and dropout
        (small_lfr(), "table"),
        (small("STab"), "table"),
        (small("TSTCC"), "series"),
        (small("RandomFeatures"), "series"),
    ]
    return [(model.fit(data[kind][:40]), data[kind]) for model, kind in made]


@pytest.mark.filterwarnings("ignore::aleator.exceptions.CollapseWarning")
def test_transform(models):
    """Every thread embeds with all models and all numbers of rows, in an order of its own."""
    calls = [(model, X[:size]) for model, X in models for size in SIZES]
    expected = [model.transform(X) for model, X in calls]

    def embed(thread):
        order = np.random.default_rng(thread).permutation(len(calls))
        return {int(i): calls[i][0].transform(calls[i][1]) for i in order}

    for found in at_once([lambda t=t: embed(t) for t in range(N_THREADS)]):
        for i, embedded in found.items():
            assert np.array_equal(embedded, expected[i]), calls[i][0]


@pytest.mark.filterwarnings("ignore::aleator.exceptions.CollapseWarning")
def test_load_save_and_transform_to(models, tmp_path):
    """While some threads embed, others save and load models and write files."""
    expected = [model.transform(X) for model, X in models]
    state = torch.get_rng_state()

    def load_and_embed(thread):
        order = np.random.default_rng(thread).permutation(len(models))
        for i in map(int, order):
            path = tmp_path / f"{thread}-{i}"
            models[i][0].save(path)
            assert np.array_equal(aleator.load(path).transform(models[i][1]), expected[i])

    def write(thread):
        for i in (0, 1, 2):
            out = tmp_path / f"out-{thread}-{i}"
            models[i][0].transform_to(models[i][1], out, rows_per_part=50)
            written = np.stack([c.to_numpy() for c in pq.read_table(out).columns], axis=1)
            assert np.abs(written - expected[i]).max() < 1e-5

    def embed(thread):
        for (model, X), whole in zip(models, expected, strict=True):
            assert np.array_equal(model.transform(X), whole)

    kinds = [load_and_embed, write, embed, load_and_embed]
    at_once([lambda t=t: kinds[t % len(kinds)](t) for t in range(N_THREADS)])
    assert torch.equal(torch.get_rng_state(), state), "loading leaves the global generator alone"


def test_one_source_of_files_in_several_threads(tmp_path, random):
    """A table that does not fit into the buffer, so that its pieces are read again and again."""
    import pyarrow as pa

    values = random.normal(size=(5, 5000)).astype(np.float32)
    pq.write_table(pa.table(list(values), names=list("abcde")), tmp_path / "t.parquet",
                   row_group_size=500)  # fmt: skip
    table = aleator.open_table(tmp_path / "t.parquet", buffer_size=30_000)
    model = small("RandomEncoder").fit(values.T[:50])
    expected = model.transform(values.T)
    for found in at_once([lambda: model.transform(table) for _ in range(N_THREADS)]):
        assert np.abs(found - expected).max() < 1e-6


def test_loading_does_not_disturb_training_in_another_thread(tmp_path):
    """Dropout and augmentation draw from torch's global generator while a model trains."""
    X = np.random.default_rng(0).normal(size=(64, 2, 24)).astype(np.float32)
    training = {"epochs": 6, "device": "cpu"}
    alone = small("SimCLR", **training).fit(X)
    small("STab", epochs=1).fit(X).save(tmp_path)
    fitted = threading.Event()

    def fit():
        try:
            return small("SimCLR", **training).fit(X)
        finally:
            fitted.set()

    def load():
        loads = 0
        while not fitted.is_set():
            aleator.load(tmp_path)
            loads += 1
        return loads

    beside, loads = at_once([fit, load])
    assert loads > 0
    for name, weight in alone.encoder_.state_dict().items():
        assert torch.equal(beside.encoder_.state_dict()[name], weight), name


def test_switches_of_torch_are_as_before():
    """Blocks that overlap in any order leave torch as it was, and are never less exact."""
    seen = []

    def check(thread):
        random = np.random.default_rng(thread)
        for _ in range(200):
            precision = str(random.choice(["32", "tf32", "bf16"]))
            with math_mode(precision):
                if random.random() < 0.1:
                    threading.Event().wait(1e-4)
                exact = torch.get_float32_matmul_precision() == "highest"
                deterministic = torch.backends.cudnn.deterministic
            seen.append((deterministic, exact or precision != "32"))

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        cudnn = (torch.backends.cudnn.deterministic, torch.backends.cudnn.allow_tf32)
        at_once([lambda t=t: check(t) for t in range(N_THREADS)])
        assert len(seen) == 200 * N_THREADS
        assert all(deterministic and exact for deterministic, exact in seen)
        assert torch.get_float32_matmul_precision() == "medium"
        assert (torch.backends.cudnn.deterministic, torch.backends.cudnn.allow_tf32) == cudnn
    finally:
        torch.set_float32_matmul_precision(before)


def other_kinds(folder):
    """Data of kinds that are converted while they are read, each with fitted random features."""
    n = 120
    frame = pd.DataFrame({"a": np.arange(n) % 7 - 0.5, "city": ["Rome", "Bonn", None] * (n // 3)})
    frame["gaps"] = np.where(np.arange(n) % 4, np.arange(n) ** 0.5, np.nan)
    frame["name"] = [f"{k * k} and {k}" for k in range(n)]
    frame.to_parquet(folder / "t.parquet", row_group_size=20)
    texts = [f"see you at {k * k}" for k in range(n)]
    ring = np.arange(5)
    graphs = [Graph(5, ring, (ring + k % 4) % 5, {"x": ring[:, None] * 0.5 + k}) for k in range(n)]
    return {
        "file": aleator.open_table(folder / "t.parquet", buffer_size=2_000),
        "texts": texts,
        "graphs": graphs,
        "parts": {"record": frame, "note": texts},
    }


@pytest.mark.parametrize("kind", ["file", "texts", "graphs", "parts"])
def test_transform_of_data_that_are_converted(kind, tmp_path):
    X = other_kinds(tmp_path)[kind]
    model = small("RandomFeatures").fit(X)
    expected = model.transform(X)
    for found in at_once([lambda: model.transform(X) for _ in range(N_THREADS)]):
        assert np.array_equal(found, expected)
